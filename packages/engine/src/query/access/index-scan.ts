/** Scans the index entries with given values of the first key attributes and a range of the next one. */
import { afterKeyValues } from '../../bytes/key-writer.ts'
import {
  exactKey,
  type IndexKeyFormat,
  indexKeyFormat,
  indexKeyHeaderBytes,
  type KeyBeginning,
  type KeyBound,
  type KeyCondition,
  type KeyConditionRange,
  keyConditionRange,
} from '../../indexes/index-key.ts'
import { readIndexOidsOf } from '../../indexes/lookup.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition, KeyAttribute } from '../../schema/class-definition.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable, Bytes, KeyRange } from '../../store/store.ts'
import { inSlices } from '../../store/time-slice.ts'
import type { Oid } from '../../types/oid.ts'
import { isTruncatedInKeys } from '../../types/truncated-key.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { evaluateConstant, evaluateConstants } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import type { AccessRequest, EntryRange, KeyValue, OidAccess } from './access-path.ts'
import {
  type AnsweredByRange,
  type EntryFilter,
  type FullPredicate,
  type MayQualify,
  planEntryFilter,
} from './entry-filter.ts'
import { keyValueOf } from './key-value.ts'
import { noKeyValue } from './no-key-value.ts'
import { IndexEntrySource, type OidSource } from './oid-source.ts'
import { directConditions, isSamePath, type PathCondition } from './sargable-predicates.ts'

export interface KeyRangeEnd extends KeyValue {
  readonly isInclusive: boolean
  /** See `PathCondition`. */
  readonly prefixOf?: string | undefined
}

/** The condition on one key attribute: a value, any of several values (IN), or null. */
export type KeyEquality =
  | { readonly kind: 'value'; readonly value: KeyValue }
  | { readonly kind: 'anyOf'; readonly values: KeyValue }
  | { readonly kind: 'null' }

/** The conditions on the key attributes of an index, in key order. */
export interface KeyConditions {
  readonly equal: readonly KeyEquality[]
  readonly lower: KeyRangeEnd | undefined
  readonly upper: KeyRangeEnd | undefined
}

export function planIndexScans({ cls, conditions, planning, predicate }: AccessRequest): IndexScan[] {
  const own = directConditions(conditions)
  const scans = cls.indexes.flatMap((index) => planIndexScan(index, cls, own, planning, predicate) ?? [])
  // For equal numbers of entries, conditions checked on keys leave fewer objects.
  const checks = ({ filter }: IndexScan): number => filter?.texts.length ?? 0
  return scans.sort((one, other) => checks(other) - checks(one))
}

/** Equality on the first key attributes, optionally followed by a range on the next; undefined if the first attribute has no condition. */
export function planIndexScan(
  index: IndexDefinition,
  cls: SchemaClass,
  conditions: readonly PathCondition[],
  planning: Planning,
  predicate?: FullPredicate,
): IndexScan | undefined {
  if (index.state !== 'ready') return undefined
  const keyConditions = keyConditionsOf(index.keyAttributes, conditions, planning)
  if (keyConditions.equal.length === 0 && keyConditions.lower === undefined && keyConditions.upper === undefined)
    return undefined
  return new IndexScan(planning.formats.of(cls), index, keyConditions, planning, predicate)
}

/** `isOneRange`: excludes IN, which needs one range per value. */
export function keyConditionsOf(
  keyAttributes: readonly KeyAttribute[],
  conditions: readonly PathCondition[],
  planning: Planning,
  isOneRange = false,
): KeyConditions {
  const equal: KeyEquality[] = []
  let range: Omit<KeyConditions, 'equal'> = { lower: undefined, upper: undefined }
  let hasInList = isOneRange
  for (const { path } of keyAttributes) {
    const pathConditions = conditions.filter((condition) => isSamePath(condition.path.key, path))
    const equality = equalityOf(pathConditions, hasInList, planning)
    if (equality === undefined) {
      range = rangeOf(pathConditions, planning)
      break
    }
    hasInList ||= equality.kind === 'anyOf'
    equal.push(equality)
  }
  return { equal, ...range }
}

/** `hasInList`: an IN precedes; a second one would multiply the ranges. */
function equalityOf(
  conditions: readonly PathCondition[],
  hasInList: boolean,
  planning: Planning,
): KeyEquality | undefined {
  for (const condition of conditions) {
    if (condition.kind === 'equal') {
      return { kind: 'value', value: keyValueOf(condition.value, condition.path.key, 'equal', planning) }
    }
  }
  for (const condition of conditions) {
    if (condition.kind === 'anyOf' && !hasInList) {
      return { kind: 'anyOf', values: keyValueOf(condition.values, condition.path.key, 'equal', planning) }
    }
    if (condition.kind === 'null') return { kind: 'null' }
  }
  return undefined
}

export function rangeOf(conditions: readonly PathCondition[], planning: Planning): Omit<KeyConditions, 'equal'> {
  return { lower: rangeEnd(conditions, 'lower', planning), upper: rangeEnd(conditions, 'upper', planning) }
}

function rangeEnd(
  conditions: readonly PathCondition[],
  kind: 'lower' | 'upper',
  planning: Planning,
): KeyRangeEnd | undefined {
  const found = conditions.find((condition) => condition.kind === kind)
  if (found === undefined || found.kind !== kind) return undefined
  const { isInclusive, prefixOf } = found
  const { evaluate, text } = keyValueOf(found.value, found.path.key, kind, planning)
  return { evaluate, text, isInclusive, prefixOf }
}

export class IndexScan implements OidAccess {
  readonly format: IndexKeyFormat
  readonly conditions: KeyConditions
  readonly rank: number
  /** A unique index with a value for each key attribute. */
  readonly isAtMostOne: boolean
  readonly conjunctsAnswered: number
  readonly narrowedBy: readonly AttributeNumber[]
  /** The key attributes whose conditions it answers. */
  readonly keyPaths: readonly (readonly AttributeNumber[])[]
  readonly mayRepeat = false
  readonly entries: string
  private readonly hasOneRange: boolean
  /** Some key attributes are strings, which entries may cut, so results are checked on the object. */
  readonly isTruncated: boolean
  /** The index of its cached ranges among the values that are constant for all rows. */
  private readonly place: number
  /** Without IN: the values of the key attributes, followed by the ends of the range. */
  private readonly evaluates: readonly Evaluate[]
  /** Checks on keys beyond the range. */
  readonly filter: EntryFilter | undefined

  /** `predicate`: the predicate that all objects are checked against, as far as known here. */
  constructor(
    format: ClassFormat,
    index: IndexDefinition,
    conditions: KeyConditions,
    planning: Planning,
    predicate?: FullPredicate,
  ) {
    const { equal, lower, upper } = conditions
    const { compiler } = planning
    this.format = indexKeyFormat(index, format)
    this.conditions = conditions
    this.entries = `index '${index.name}'`
    this.place = compiler.constants++
    this.evaluates = evaluatesOf(conditions)
    const { parts } = this.format
    this.isTruncated = parts.some(mayBeTruncated)
    this.hasOneRange = equal.every(({ kind }) => kind !== 'anyOf')
    const hasAllParts = equal.length === parts.length
    this.isAtMostOne = hasAllParts && index.isUnique && equal.every(({ kind }) => kind === 'value')
    const range = (lower === undefined ? 0 : 1) + (upper === undefined ? 0 : 1)
    this.rank = (hasAllParts && index.isUnique ? 50 : 0) + equal.length * 4 + range
    this.conjunctsAnswered = answeredBy(conditions)
    const narrowing = index.keyAttributes.slice(0, equal.length + Math.min(range, 1))
    this.keyPaths = narrowing.map(({ path }) => path)
    this.narrowedBy = this.keyPaths.flatMap((path) => path[0] ?? [])
    const isFiltered = predicate !== undefined && !this.isAtMostOne
    this.filter = isFiltered ? planEntryFilter(this.format, byRange(conditions, parts), predicate, planning) : undefined
  }

  /** For EXPLAIN. */
  get details(): Readonly<Record<string, unknown>> {
    const { index, parts } = this.format
    return {
      index: index.name,
      isUnique: index.isUnique,
      conditions: conditionTexts(parts, this.conditions),
      ...(this.filter === undefined ? {} : { entryFilter: this.filter.texts }),
      // Matches of a cut string are compared in full by the filter above.
      ...(this.isTruncated ? { recheck: parts.filter(mayBeTruncated).map(({ name }) => name) } : {}),
    }
  }

  describe(className: string): ExplainNode {
    return explainNode('indexScan', { class: className, ...this.details })
  }

  async estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    if (await this.matchesAllStrings(evaluation, context)) return max
    let count = 0
    const mayQualify = context.isRemote ? this.filter?.forRun(evaluation) : undefined
    for (const [i, range] of (await this.ranges(evaluation, context)).entries()) {
      if (i % rangesPerClockCheck === rangesPerClockCheck - 1 && context.isYieldDue) await context.yieldToEventLoop()
      // Reading the entry is as fast as counting it.
      if (range.isOneKey) count++
      else count += await context.countEntries(range, max - count, mayQualify)
      if (count >= max) return max
    }
    return count
  }

  /** Detects a pattern without a fixed prefix: counting all strings would be wasted. */
  private async matchesAllStrings(evaluation: EvaluationContext, context: StatementContext): Promise<boolean> {
    const { equal, lower, upper } = this.conditions
    if (equal.length > 0 || lower?.prefixOf === undefined || upper?.prefixOf === undefined) return false
    const [range] = await this.ranges(evaluation, context)
    return range?.to.length === indexKeyHeaderBytes + afterKeyValues.length
  }

  async *oids(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode,
    batch?: number,
  ): AsyncGenerator<Oid[]> {
    const ranges = await this.ranges(evaluation, context)
    if (!ranges.every(({ isOneKey }) => isOneKey)) {
      const mayQualify = this.filter?.forRun(evaluation)
      for (const [i, range] of ranges.entries()) {
        if (i % rangesPerClockCheck === rangesPerClockCheck - 1 && context.isYieldDue) await context.yieldToEventLoop()
        yield* entriesOf(range, context, plan, batch, mayQualify)
      }
      return
    }
    for (let at = 0; at < ranges.length; at += keysPerBatch) {
      const keys = ranges.slice(at, at + keysPerBatch).map(({ from }) => from)
      const found = readIndexOidsOf(context.snapshot, keys)
      const oids = found instanceof Promise ? await found : found
      plan.examined += oids.length
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
      if (oids.length > 0) yield oids
    }
  }

  /** The only possible key of an entry; undefined if it cannot be determined or does not exist. Throws the errors of expressions. */
  exactKey(evaluation: EvaluationContext): Buffer | undefined {
    if (!this.isAtMostOne) return undefined
    const values: unknown[] = []
    for (let i = 0; i < this.evaluates.length; i++) {
      const value = (this.evaluates[i] as Evaluate)(evaluation)
      if (!isKeyValue(value)) return undefined
      values.push(value)
    }
    return exactKey(this.format, values)
  }

  source(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode | undefined,
    isReverse = false,
  ): Awaitable<OidSource> {
    const mayQualify = this.filter?.forRun(evaluation)
    return mapAwaitable(this.ranges(evaluation, context), (ranges) => {
      return new IndexEntrySource(context.snapshot, ranges, isReverse, mayQualify, plan)
    })
  }

  entryRange(
    evaluation: EvaluationContext,
    context: StatementContext,
    isReverse = false,
  ): Awaitable<EntryRange | 'several'> {
    // The objects of a single range would include objects of entries that the filter rejects.
    if (this.filter !== undefined) return 'several'
    return mapAwaitable(this.ranges(evaluation, context), ([range, ...others]) => {
      return range === undefined || others.length > 0 ? 'several' : { ...range, isReverse }
    })
  }

  /** Empty if nothing can match. Computed once per statement, so that the scan starts with the data of the estimate. */
  ranges(evaluation: EvaluationContext, context: StatementContext): Awaitable<readonly KeyConditionRange[]> {
    const cached = evaluation.constants[this.place]
    if (cached !== undefined) return cached as readonly KeyConditionRange[]
    const ranges = this.hasOneRange ? this.oneRange(evaluation, context) : this.severalRanges(evaluation, context)
    return mapAwaitable(ranges, (found) => {
      evaluation.constants[this.place] = found
      return found
    })
  }

  /** An IN has one range per value, in order. */
  private async severalRanges(evaluation: EvaluationContext, context: StatementContext): Promise<KeyConditionRange[]> {
    const { format, conditions } = this
    let prefixes: unknown[][] = [[]]
    for (const equality of conditions.equal) {
      if (equality.kind === 'null') {
        prefixes = prefixes.map((prefix) => [...prefix, null])
        continue
      }
      const { evaluate } = equality.kind === 'value' ? equality.value : equality.values
      const value = await evaluateConstant(evaluate, evaluation, context)
      const usable = await keyValues(equality.kind === 'value' ? [value] : ((value ?? []) as unknown[]), context)
      const longer: unknown[][] = []
      for (const prefix of prefixes) await forEachYielding(usable, context, (one) => longer.push([...prefix, one]))
      prefixes = longer
    }
    const lower = boundOf(conditions.lower, await endValue(conditions.lower, evaluation, context))
    const upper = boundOf(conditions.upper, await endValue(conditions.upper, evaluation, context))
    if (lower === null || upper === null) return []
    const sound: KeyConditionRange[] = []
    await forEachYielding(prefixes, context, (equal) => {
      const range = keyConditionRange(format, { equal, lower, upper })
      if (Buffer.compare(range.from, range.to) < 0) sound.push(range)
    })
    const sorted = context.sorted(sound, (one, other) => Buffer.compare(one.from, other.from))
    const ranges: KeyConditionRange[] = []
    await forEachYielding(sorted, context, (range) => {
      // Long strings that are cut to the same key have the same range.
      if (ranges.at(-1)?.from.equals(range.from) !== true) ranges.push(range)
    })
    return ranges
  }

  /** Without IN, as in most statements, there is no list of ranges to sort. */
  private oneRange(evaluation: EvaluationContext, context: StatementContext): Awaitable<KeyConditionRange[]> {
    return mapAwaitable(evaluateConstants(this.evaluates, evaluation, context), (values) => {
      const condition = keyConditionOf(this.conditions, values)
      const range = condition && soundRange(this.format, condition)
      return range === undefined ? [] : [range]
    })
  }
}

function mayBeTruncated({ format }: IndexKeyFormat['parts'][number]): boolean {
  return isTruncatedInKeys(format.attribute.spec)
}

/** Without IN: the values of the key attributes, followed by the ends of the range. */
export function evaluatesOf({ equal, lower, upper }: KeyConditions): Evaluate[] {
  const values = equal.map((equality) => (equality.kind === 'value' ? equality.value.evaluate : nullValue))
  return [...values, ...[lower, upper].flatMap((end) => end?.evaluate ?? [])]
}

/** Takes the values of `evaluatesOf`; undefined if no entry can match. */
export function keyConditionOf(
  { equal, lower, upper }: KeyConditions,
  values: readonly unknown[],
): KeyCondition | undefined {
  for (let i = 0; i < equal.length; i++) if (equal[i]?.kind !== 'null' && !isKeyValue(values[i])) return undefined
  const above = boundOf(lower, values[equal.length])
  const below = boundOf(upper, values[equal.length + (lower === undefined ? 0 : 1)])
  if (above === null || below === null) return undefined
  return { equal: values.slice(0, equal.length), lower: above, upper: below }
}

/** Undefined if the range is empty. `beginning`: the prefix of the keys before the parts with conditions. */
export function soundRange(
  format: IndexKeyFormat,
  condition: KeyCondition,
  beginning?: KeyBeginning,
): KeyConditionRange | undefined {
  const range = keyConditionRange(format, condition, beginning)
  return range.isOneKey || Buffer.compare(range.from, range.to) < 0 ? range : undefined
}

function answeredBy({ equal, lower, upper }: KeyConditions): number {
  return equal.length + rangesAnswered(lower, upper)
}

/** `parts`: of the key, starting with that of the first condition. */
export function byRange(conditions: KeyConditions, parts: IndexKeyFormat['parts']): AnsweredByRange {
  const equal = new Set<number>()
  for (const [i, { kind }] of conditions.equal.entries()) {
    const [attribute, ...within] = parts[i]?.path ?? []
    if (kind === 'value' && attribute !== undefined && within.length === 0) equal.add(attribute)
  }
  return { equal, others: answeredBy(conditions) - equal.size }
}

const nullValue = (): null => null

/** False for values that no key can have. */
function isKeyValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== noKeyValue
}

export function conditionTexts(parts: IndexKeyFormat['parts'], { equal, lower, upper }: KeyConditions): string[] {
  const conditions = equal.map((equality, i) => {
    const name = parts[i]?.name
    if (equality.kind === 'null') return `${name} is null`
    return equality.kind === 'value' ? `${name} = ${equality.value.text}` : `${name} IN ${equality.values.text}`
  })
  const next = parts[equal.length]?.name
  if (lower?.prefixOf !== undefined && lower.prefixOf === upper?.prefixOf && lower.text === upper.text) {
    return [...conditions, lower.prefixOf === 'calculated' ? lower.text : `${next} ${lower.prefixOf} ${lower.text}`]
  }
  if (lower !== undefined) conditions.push(endText(lower, next, '>'))
  if (upper !== undefined) conditions.push(endText(upper, next, '<'))
  return conditions
}

function endText({ isInclusive, prefixOf, text }: KeyRangeEnd, name: string | undefined, sign: '<' | '>'): string {
  return prefixOf === 'calculated' ? text : `${name} ${sign}${isInclusive ? '=' : ''} ${text}`
}

/** Removes duplicates and values that no key can have. */
async function keyValues(values: readonly unknown[], context: StatementContext): Promise<unknown[]> {
  const usable = new Set<unknown>()
  await forEachYielding(values, context, (one) => {
    if (isKeyValue(one)) usable.add(one)
  })
  return [...usable]
}

/** Yields to other requests, since lists of values may be long. */
async function forEachYielding<T>(
  all: readonly T[],
  { script }: StatementContext,
  use: (one: T) => unknown,
): Promise<void> {
  if (all.length <= syncMax) for (const one of all) use(one)
  else
    await inSlices(
      all,
      (one) => {
        use(one)
      },
      script.slice,
    )
}

const syncMax = 256

/** Undefined: no bound. Null: a comparison with null, which is never true. */
function boundOf(end: KeyRangeEnd | undefined, value: unknown): KeyBound | undefined | null {
  if (end === undefined) return undefined
  if (value === null) return null
  return value === noKeyValue ? undefined : { value, isInclusive: end.isInclusive }
}

function endValue(
  end: KeyRangeEnd | undefined,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<unknown> {
  return end && evaluateConstant(end.evaluate, evaluation, context)
}

const keysPerBatch = 256

/** Ranges that are read or counted between clock checks. */
const rangesPerClockCheck = 64

export async function* entriesOf(
  range: KeyRange,
  context: StatementContext,
  plan: ExplainNode,
  batch?: number,
  mayQualify?: MayQualify,
): AsyncGenerator<Oid[]> {
  const counted =
    mayQualify &&
    ((key: Bytes): boolean => {
      const isPossible = mayQualify(key)
      if (!isPossible) plan.examined++
      return isPossible
    })
  for await (const oids of context.entries(range, false, batch, counted)) {
    plan.examined += oids.length
    context.check()
    if (oids.length > 0) yield oids
    else await context.yieldIfDue()
  }
}

/** The number of conjuncts expressed by the ends of the range; 0 for conjuncts that the range answers only partly. */
function rangesAnswered(lower: KeyRangeEnd | undefined, upper: KeyRangeEnd | undefined): number {
  // The range does not cover the part of a LIKE pattern after its prefix.
  const isPrefix = lower?.prefixOf === 'STARTS_WITH' && upper?.prefixOf === 'STARTS_WITH' && lower.text === upper.text
  if (isPrefix) return 1
  return [lower, upper].filter((end) => end !== undefined && end.prefixOf === undefined).length
}
