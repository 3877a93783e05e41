/** What the files that compile expressions ask of each other. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Bound } from '../bind/bound.ts'
import type { Evaluate } from './evaluation-context.ts'

export interface ExpressionCompiler {
  readonly formats: RecordFormats
  compile(bound: Bound): Evaluate
  /** Under which something is known of a part of the statement that is the same for all rows; always the same of one part. */
  placeOf(bound: Bound): number
  compileAll(bounds: readonly Bound[]): Evaluate[]
}
