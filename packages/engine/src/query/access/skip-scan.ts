/**
 * Skip scan: uses an index for a condition on a key attribute although the attribute before it has no condition or only a
 * range. For each value of that attribute in the index, the entries that can qualify form one range; the entries between these
 * ranges are not read.
 */
import { isMemoryRefused } from '../../budget/request-memory.ts'
import { prefixEnd } from '../../bytes/key-space.ts'
import { indexKeyFormat, type KeyBeginning, type KeyConditionRange } from '../../indexes/index-key.ts'
import { beginningOf } from '../../indexes/key-parts.ts'
import { skippedValuesMax } from '../../limits.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { evaluateConstants } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import type { FullPredicate } from './entry-filter.ts'
import {
  conditionTexts,
  evaluatesOf,
  IndexScan,
  type KeyConditions,
  keyConditionOf,
  keyConditionsOf,
  soundRange,
} from './index-scan.ts'
import { directConditions, type IndexCondition } from './sargable-predicates.ts'

/** The cost of finding the next value and its range, in entries, for a local and a remote store. */
const seekCost = 8
const remoteSeekCost = 256
/** The approximate memory of a range besides the keys at its ends, until the statement ends. */
const rangeBytes = 200
/** The first values are sampled: if they have no more entries each than the cost of a seek, skipping does not pay off. */
const valuesTried = 8

/** One for every suitable index. */
export function planSkipScans(
  cls: SchemaClass,
  conditions: readonly IndexCondition[],
  planning: Planning,
  predicate?: FullPredicate,
): SkipScan[] {
  const own = directConditions(conditions)
  return cls.indexes.flatMap((index) => {
    if (index.state !== 'ready') return []
    const before = keyConditionsOf(index.keyAttributes, own, planning, true)
    const after = keyConditionsOf(index.keyAttributes.slice(before.equal.length + 1), own, planning, true)
    const hasConditions = after.equal.length > 0 || after.lower !== undefined || after.upper !== undefined
    return hasConditions ? [new SkipScan(cls, index, before, after, planning, predicate)] : []
  })
}

export class SkipScan extends IndexScan {
  override readonly rank = 0
  /** The conditions on the attributes after the skipped one. */
  private readonly after: KeyConditions
  private readonly evaluatesBehind: readonly Evaluate[]
  /** The index of the result among the values that are constant for all rows. */
  private readonly foundPlace: number
  private readonly planDetails: Readonly<Record<string, unknown>>

  constructor(
    cls: SchemaClass,
    index: IndexDefinition,
    before: KeyConditions,
    after: KeyConditions,
    planning: Planning,
    predicate: FullPredicate | undefined,
  ) {
    super(planning.formats.of(cls), index, before, planning, predicate)
    this.after = after
    this.evaluatesBehind = evaluatesOf(after)
    this.foundPlace = planning.compiler.constants++
    const { parts } = indexKeyFormat(index, planning.formats.of(cls))
    const skipped = before.equal.length
    this.planDetails = {
      ...this.details,
      conditions: [...conditionTexts(parts, before), ...conditionTexts(parts.slice(skipped + 1), after)],
      skipped: parts[skipped]?.name,
    }
  }

  override describe(className: string): ExplainNode {
    return explainNode('skipScan', { class: className, ...this.planDetails })
  }

  /** The cost in entries read. */
  override async estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    return (await this.found(evaluation, context, max))?.cost ?? max
  }

  override async ranges(
    evaluation: EvaluationContext,
    context: StatementContext,
  ): Promise<readonly KeyConditionRange[]> {
    const found = await this.found(evaluation, context, Number.POSITIVE_INFINITY)
    return found?.ranges ?? super.ranges(evaluation, context)
  }

  /** Undefined if it would cost at least `max` entries, or there are too many values. */
  private async found(
    evaluation: EvaluationContext,
    context: StatementContext,
    max: number,
  ): Promise<Found | undefined> {
    const cached = evaluation.constants[this.foundPlace] as Found | undefined
    if (cached !== undefined) return cached.cost < max ? cached : undefined
    const keyCondition = keyConditionOf(this.after, await evaluateConstants(this.evaluatesBehind, evaluation, context))
    const cost = context.isRemote ? remoteSeekCost : seekCost
    const found: Found = { cost: 0, ranges: [] }
    let values = 0
    let alike = 0
    let [neededBytes, charged] = [0, 0]
    const beginnings =
      keyCondition === undefined ? [] : this.beginnings(await super.ranges(evaluation, context), context)
    for await (const { beginning, end } of beginnings) {
      if (++values <= valuesTried) {
        alike += await context.countEntries({ from: beginning.key, to: end }, 2 * cost)
        if (values === valuesTried && alike <= valuesTried * cost) return undefined
      }
      const range = keyCondition && soundRange(this.format, keyCondition, beginning)
      found.cost += cost
      if (range !== undefined) {
        if (found.cost < max) found.cost += await context.countEntries(range, max - found.cost)
        found.ranges.push(range)
        neededBytes += rangeBytes + range.from.length + range.to.length
      }
      const isTooMuch = found.cost >= max || values > skippedValuesMax
      if (isTooMuch || !isCharged(context, neededBytes - charged)) {
        context.hold(0, -charged)
        return undefined
      }
      charged = neededBytes
    }
    evaluation.constants[this.foundPlace] = found
    return found
  }

  /** The key prefixes up to each value of the skipped attribute, and the ends of their ranges. */
  private async *beginnings(
    ranges: readonly KeyConditionRange[],
    context: StatementContext,
  ): AsyncGenerator<{ readonly beginning: KeyBeginning; readonly end: Buffer }> {
    const parts = this.conditions.equal.length + 1
    for (const { from, to } of ranges) {
      let at = from
      for (;;) {
        const key = await firstKeyOf(context, { from: at, to })
        if (key === undefined) break
        const beginning = beginningOf(this.format, key, parts)
        at = prefixEnd(beginning.key)
        yield { beginning, end: at }
        const pause = context.yieldIfDue()
        if (pause !== undefined) await pause
      }
    }
  }
}

/** Returns false without charging if memory is exhausted; an access that needs none is used instead. */
function isCharged(context: StatementContext, bytes: number): boolean {
  try {
    context.hold(0, bytes)
    return true
  } catch (error) {
    context.hold(0, -bytes)
    if (!isMemoryRefused(error)) throw error
    return false
  }
}

interface Found {
  cost: number
  readonly ranges: KeyConditionRange[]
}

async function firstKeyOf(context: StatementContext, range: KeyRange): Promise<Buffer | undefined> {
  context.entriesCounted++
  const copy = (key: Bytes): Buffer => Buffer.from(key)
  for await (const [key] of context.snapshot.scan(range, copy, { keysOnly: true, limit: 1 })) return key
  return undefined
}
