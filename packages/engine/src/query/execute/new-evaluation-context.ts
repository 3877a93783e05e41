/** Evaluation context for the expressions of one statement. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import { assert } from '../../errors.ts'
import type { EvaluationContext, InnerReader, NumberReader } from '../evaluate/evaluation-context.ts'
import type { ObjectReader } from '../evaluate/object-view.ts'
import type { Work } from '../functions/work.ts'
import type { UserValue } from '../values/user.ts'
import { InnerValues, type RunInner } from './inner-values.ts'
import type { ScriptContext, StatementContext } from './statement-context.ts'

export interface Inputs {
  readonly variables: EvaluationContext['variables']
  /** Values of the nested statements, in order. */
  readonly nested: readonly unknown[]
  /** Runs the correlated subqueries; undefined where there are none. */
  readonly inner?: InnerRuns | undefined
}

/** Runs subquery `index` for the values that it captures from a row. `context`: that of the enclosing statement. */
export type InnerRuns = (context: StatementContext) => RunInner

export function newEvaluationContext(
  slots: number,
  constants: number,
  { variables, nested, inner }: Inputs,
  context: StatementContext,
): EvaluationContext {
  const innerValues = inner === undefined ? undefined : new InnerValues(inner(context), context)
  if (innerValues !== undefined) context.addInnerValues(innerValues)
  return new StatementEvaluation(slots, constants, variables, nested, context, innerValues)
}

/** The parts of a statement context that expressions rarely need. */
export interface EvaluationSource {
  readonly script: Pick<ScriptContext, 'now' | 'user' | 'text' | 'memory' | 'limits'>
  readonly work: Work
  readonly reader: ObjectReader
  /** Absent where no statement is carried out that could draw some. */
  readonly numbers?: NumberReader | undefined
}

/** Evaluation context for a statement without subqueries. */
export function plainEvaluationContext(
  slots: number,
  constants: number,
  variables: EvaluationContext['variables'],
  source: EvaluationSource,
): EvaluationContext {
  return new StatementEvaluation(slots, constants, variables, none, source, undefined)
}

const none: readonly unknown[] = []

/** Values that few expressions need are read from the source on access, which keeps short statements cheap. */
class StatementEvaluation implements EvaluationContext {
  readonly slots: unknown[]
  readonly constants: unknown[]
  readonly variables: EvaluationContext['variables']
  readonly nested: readonly unknown[]
  aggregates = none
  windows = none
  private readonly source: EvaluationSource
  private readonly innerValues: InnerValues | undefined

  constructor(
    slots: number,
    constants: number,
    variables: EvaluationContext['variables'],
    nested: readonly unknown[],
    source: EvaluationSource,
    innerValues: InnerValues | undefined,
  ) {
    this.slots = undefinedValues(slots)
    this.constants = undefinedValues(constants)
    this.variables = variables
    this.nested = nested
    this.source = source
    this.innerValues = innerValues
  }

  get now(): number {
    return this.source.script.now
  }

  get user(): UserValue {
    return this.source.script.user
  }

  get text(): string {
    return this.source.script.text
  }

  get memory(): RequestMemory {
    return this.source.script.memory
  }

  get textCharactersMax(): number {
    return this.source.script.limits.textCharactersMax
  }

  get work(): Work {
    return this.source.work
  }

  get inner(): InnerReader {
    assert(this.innerValues !== undefined, 'a plan with statements that are run for its rows says how')
    return this.innerValues
  }

  get numbers(): NumberReader {
    const { numbers } = this.source
    assert(numbers !== undefined, 'numbers are drawn by statements that may change something')
    return numbers
  }

  get reader(): ObjectReader {
    return this.source.reader
  }
}

function undefinedValues(count: number): undefined[] {
  const values: undefined[] = []
  for (let i = 0; i < count; i++) values.push(undefined)
  return values
}
