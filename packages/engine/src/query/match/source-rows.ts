/** The rows of one source of a join, and the values by which it is joined. */
import type { ChosenAccessPath } from '../access/choose-access.ts'
import type { SourcePlan } from '../access/source-plan.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'

export type SourceRows =
  | { readonly kind: 'objects'; readonly objects: SourcePlan; readonly chosen: ChosenAccessPath }
  | { readonly kind: 'values'; readonly values: readonly unknown[] }
  | {
      readonly kind: 'statements'
      /** Taken once. `operator` is told what goes to disk. */
      readonly rows: (operator: ExplainNode) => AsyncIterable<readonly unknown[]>
      readonly isWrapped: boolean
      /** Undefined where it is not known. */
      readonly count: number | undefined
    }

/** The objects of a source by what is known of a row. */
export interface LookupPlan {
  readonly objects: SourcePlan
  /** From this place on, and up to before `end`, what is kept as constant is so for one row. */
  readonly start: number
  readonly end: number
}

/** Two expressions that are to be equal. */
export interface JoinKey {
  /** Of the source, and of the rows that it is joined with. */
  readonly own: Evaluate
  readonly other: Evaluate
  readonly text: string
}
