/** What one process asks of all others that serve with it. */
import type { ReadMetric } from '../metrics/metric.ts'
import type { ReadersRecord } from '../statements/readers.ts'
import type { StatementRecord, Whose } from '../statements/statement.ts'
import type { RunRecord } from '../tools/tool-runs.ts'

/** A question, and what one worker answers: any number of these. */
export interface Answers {
  /** The runs of tools that it knows of. */
  readonly runs: RunRecord
  /** The statements under way. */
  readonly statements: StatementRecord
  readonly readers: ReadersRecord
  /** The metrics of one process are one answer. */
  readonly metrics: readonly ReadMetric[]
  /** The statement that is to be stopped, where it has it. */
  readonly stop: true
}

export type Question =
  | { readonly about: 'runs' }
  /** `whose`: of that caller alone. */
  | { readonly about: 'statements'; readonly whose: Whose | undefined }
  | { readonly about: 'readers' }
  | { readonly about: 'metrics' }
  | { readonly about: 'stop'; readonly statement: string; readonly whose: Whose | undefined }

export type Answer = Answers[keyof Answers]
