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
      /** May be consumed once. `operator` reports spilled rows. */
      readonly rows: (operator: ExplainNode) => AsyncIterable<readonly unknown[]>
      readonly isWrapped: boolean
      /** Undefined if unknown. */
      readonly count: number | undefined
    }

/** Finds the objects of a source by values of a row. */
export interface LookupPlan {
  readonly objects: SourcePlan
  /** Constants from `start` up to before `end` are constant for one row only. */
  readonly start: number
  readonly end: number
}

export interface JoinKey {
  /** `own` is of the source, `other` of the rows joined with it. */
  readonly own: Evaluate
  readonly other: Evaluate
  readonly text: string
}
