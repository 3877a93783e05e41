/** Scans the class at the end of a path that no index covers. This pays off if many more objects refer to it. */

import type { SchemaClass } from '../../schema/catalog.ts'
import { withSubclasses } from '../../schema/class-set.ts'
import type { Bytes } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { evaluateConstants } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import { compareFor, equalsFor } from '../values/compare.ts'
import { constantKey, type KeyValue, type OidAccess } from './access-path.ts'
import { ExtentScan } from './extent-scan.ts'
import { directConditions, type IndexCondition, type PathCondition } from './sargable-predicates.ts'

/** Returns true if an object may fulfil a condition. `value`: of its attribute, not null. `operand`: the value of the condition. */
type Test = (value: unknown, operand: unknown) => boolean

interface ScannedCondition {
  /** The position of the attribute in the class. */
  readonly index: number
  readonly operand: KeyValue
  readonly test: Test
  readonly text: string
}

/** Undefined if no condition is on an attribute stored in the objects' records. */
export function planScannedOids(
  cls: SchemaClass,
  conditions: readonly IndexCondition[],
  planning: Planning,
): ScannedOids | undefined {
  const scanned = directConditions(conditions).flatMap((condition) => scannedCondition(condition, planning) ?? [])
  return scanned.length === 0 ? undefined : new ScannedOids(cls, scanned, planning)
}

function scannedCondition(condition: PathCondition, planning: Planning): ScannedCondition | undefined {
  const [attribute, ...within] = condition.path.key
  if (attribute === undefined || within.length > 0 || attribute.linkStorage !== undefined) return undefined
  if (condition.kind === 'null') return undefined
  const { index, name } = attribute
  const operand = constantKey(condition.kind === 'anyOf' ? condition.values : condition.value, planning)
  const test = testOf(condition, attribute)
  return test && { index, operand, test, text: `${name} ${signs[condition.kind]} ${operand.text}` }
}

const signs = { equal: '=', anyOf: 'IN', lower: '>=', upper: '<=' } as const

/** Includes values equal to the end of a range: results are checked against the whole predicate. */
function testOf(condition: Exclude<PathCondition, { kind: 'null' }>, { type }: BoundAttribute): Test | undefined {
  if (condition.kind === 'anyOf') {
    const { values } = condition
    const element = values.type.kind === 'collection' ? values.type.element : undefined
    const equals = element && equalsFor(type, element)
    return equals && ((value, list) => (list as readonly unknown[]).some((one) => one !== null && equals(value, one)))
  }
  if (condition.kind === 'equal') return equalsFor(type, condition.value.type)
  const compare = compareFor(type, condition.value.type)
  if (compare === undefined) return undefined
  const isLower = condition.kind === 'lower'
  return (value, operand) => {
    if (typeof operand === 'symbol') return true
    const order = compare(value as never, operand as never)
    return isLower ? order >= 0 : order <= 0
  }
}

/** Longer lists would be too slow to search for each object. */
const listMax = 64
const oidBytes = 64

export class ScannedOids implements OidAccess {
  readonly rank = 0
  readonly isAtMostOne = false
  readonly conjunctsAnswered = 0
  readonly mayRepeat = false
  readonly entries = undefined
  private readonly extent: ExtentScan
  private readonly conditions: readonly ScannedCondition[]
  /** The index of the result among the values that are constant for all rows. */
  private readonly place: number

  constructor(cls: SchemaClass, conditions: readonly ScannedCondition[], { compiler }: Planning) {
    this.extent = new ExtentScan(withSubclasses(cls))
    this.conditions = conditions
    this.place = compiler.constants++
  }

  describe(className: string): ExplainNode {
    const { operator, details } = this.extent.describe(className)
    return explainNode(operator, { ...details, conditions: this.conditions.map(({ text }) => text) })
  }

  /** The number of objects scanned. */
  async estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    const operand = await this.operand(evaluation, context)
    if (operand.some((value) => Array.isArray(value) && value.length > listMax)) return max
    return Math.min(max, await this.extent.estimate(context))
  }

  async *oids(evaluation: EvaluationContext, context: StatementContext, plan: ExplainNode): AsyncGenerator<Oid[]> {
    const cached = evaluation.constants[this.place] as Found | undefined
    const { oids, examined } = cached ?? (await this.find(evaluation, context))
    evaluation.constants[this.place] = { oids, examined }
    plan.examined += examined
    if (oids.length > 0) yield [...oids]
  }

  private operand(evaluation: EvaluationContext, context: StatementContext): Promise<unknown[]> | unknown[] {
    const evaluates = this.conditions.map(({ operand }) => operand.evaluate)
    return evaluateConstants(evaluates, evaluation, context)
  }

  /** Computed once per statement and shared with the estimate. */
  private async find(evaluation: EvaluationContext, context: StatementContext): Promise<Found> {
    const operand = await this.operand(evaluation, context)
    if (operand.includes(null)) return { oids: [], examined: 0 }
    const { conditions } = this
    const oids: Oid[] = []
    let examined = 0
    const use = (key: Bytes, record: Bytes): Oid | undefined => {
      examined++
      const view = context.reader.view(undefined, key, record)
      const isFound = conditions.every(({ index, test }, i) => {
        const value = view.value(index)
        return value !== null && test(value, operand[i])
      })
      return isFound ? view.oid : undefined
    }
    for await (const batch of context.scanAll(await this.extent.extents(context), use)) {
      context.check()
      context.touched(batch.length)
      const found = batch.filter((oid) => oid !== undefined)
      context.hold(0, found.length * oidBytes)
      for (const oid of found) oids.push(oid)
    }
    return { oids, examined }
  }
}

interface Found {
  readonly oids: readonly Oid[]
  readonly examined: number
}
