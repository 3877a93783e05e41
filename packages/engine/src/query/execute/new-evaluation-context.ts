/** What the expressions of one statement are evaluated with. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import { assert } from '../../errors.ts'
import type { EvaluationContext, InnerReader } from '../evaluate/evaluation-context.ts'
import type { ObjectReader } from '../evaluate/object-view.ts'
import type { Work } from '../functions/work.ts'
import type { UserValue } from '../values/user.ts'
import { InnerValues, type RunInner } from './inner-values.ts'
import type { StatementContext } from './statement-context.ts'

export interface Inputs {
  readonly variables: EvaluationContext['variables']
  /** Values of the nested statements, in order. */
  readonly nested: readonly unknown[]
  /** Runs those that are run for rows; undefined where there are none. */
  readonly inner?: InnerRuns | undefined
}

/** Runs the statement of a number for what it asks of a row. `context`: of the statement around it. */
export type InnerRuns = (context: StatementContext) => RunInner

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
  windows = noAggregates
  readonly now: number
  readonly user: UserValue
  readonly text: string
  readonly memory: RequestMemory
  readonly work: Work
  readonly textCharactersMax: number
  private readonly context: StatementContext
  private readonly innerValues: InnerValues | undefined

  constructor(slots: number, constants: number, { variables, nested, inner }: Inputs, context: StatementContext) {
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
    if (inner === undefined) return
    this.innerValues = new InnerValues(inner(context), context)
    context.addInnerValues(this.innerValues)
  }

  get inner(): InnerReader {
    assert(this.innerValues !== undefined, 'a plan with statements that are run for its rows says how')
    return this.innerValues
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
