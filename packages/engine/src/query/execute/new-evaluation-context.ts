/** What the expressions of one statement are evaluated with. */
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from './statement-context.ts'

export interface Inputs {
  readonly variables: ReadonlyMap<string, unknown>
  /** Values of the nested statements, in order. */
  readonly nested: readonly unknown[]
}

export function newEvaluationContext(
  slots: number,
  constants: number,
  inputs: Inputs,
  context: StatementContext,
): EvaluationContext {
  const { now, text, memory, limits } = context.script
  return {
    slots: new Array(slots).fill(undefined),
    reader: context.reader,
    constants: new Array(constants).fill(undefined),
    variables: inputs.variables,
    nested: inputs.nested,
    aggregates: [],
    now,
    text,
    memory,
    work: context.work,
    textCharactersMax: limits.textCharactersMax,
  }
}
