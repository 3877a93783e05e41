/** What the expressions of one statement are evaluated with. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectReader } from '../evaluate/object-view.ts'
import type { Work } from '../functions/work.ts'
import type { UserValue } from '../values/user.ts'
import type { StatementContext } from './statement-context.ts'

export interface Inputs {
  readonly variables: EvaluationContext['variables']
  /** Values of the nested statements, in order. */
  readonly nested: readonly unknown[]
}

export function newEvaluationContext(
  slots: number,
  constants: number,
  inputs: Inputs,
  context: StatementContext,
): EvaluationContext {
  return new StatementEvaluation(slots, constants, inputs, context)
}

const noAggregates: readonly unknown[] = []

class StatementEvaluation implements EvaluationContext {
  readonly slots: unknown[]
  readonly constants: unknown[]
  readonly variables: EvaluationContext['variables']
  readonly nested: readonly unknown[]
  aggregates = noAggregates
  readonly now: number
  readonly user: UserValue
  readonly text: string
  readonly memory: RequestMemory
  readonly work: Work
  readonly textCharactersMax: number
  private readonly context: StatementContext

  constructor(slots: number, constants: number, { variables, nested }: Inputs, context: StatementContext) {
    const { now, user, text, memory, limits } = context.script
    this.slots = undefinedValues(slots)
    this.constants = undefinedValues(constants)
    this.variables = variables
    this.nested = nested
    this.now = now
    this.user = user
    this.text = text
    this.memory = memory
    this.work = context.work
    this.textCharactersMax = limits.textCharactersMax
    this.context = context
  }

  get reader(): ObjectReader {
    return this.context.reader
  }
}

function undefinedValues(count: number): undefined[] {
  const values: undefined[] = []
  for (let i = 0; i < count; i++) values.push(undefined)
  return values
}
