/** Scans objects in index order if that is the requested order. */
import { partsPrefixLength, truncatedPrefixLength } from '../../indexes/key-parts.ts'
import { type IndexEntry, readIndexEntries } from '../../indexes/lookup.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundAttribute, BoundOrderItem } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { type OrderPlan, planOrder } from '../evaluate/sort-key.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import type { AccessPath, EntryRange, ObjectAccess } from './access-path.ts'
import type { FullPredicate } from './entry-filter.ts'
import { IndexScan, type KeyEquality, rangeOf } from './index-scan.ts'
import { keyValueOf } from './key-value.ts'
import { entryBatchSize, loadInParts, type ObjectScan } from './object-scan.ts'
import type { OidSource } from './oid-source.ts'
import {
  attributePathOf,
  directConditions,
  type IndexCondition,
  isSamePath,
  type PathCondition,
} from './sargable-predicates.ts'
import { sortedObjects } from './sorted-objects.ts'

/** Chooses an index in the requested order after attributes fixed by equality, or else the one with the longest prefix of it. */
export function planOrderedIndexScan(
  cls: SchemaClass,
  predicate: FullPredicate,
  orderBy: readonly BoundOrderItem[],
  conditions: readonly IndexCondition[],
  planning: Planning,
): OrderedIndexScan | undefined {
  const isReverse = orderBy[0]?.isDescending === true
  const indexes = cls.indexes.filter(({ state }) => state === 'ready')
  // No index has more key attributes, however long the order is.
  const keysMax = Math.max(0, ...indexes.map(({ keyAttributes }) => keyAttributes.length))
  const keys: (readonly BoundAttribute[])[] = []
  for (const { expression, isDescending } of orderBy) {
    if (keys.length === keysMax) break
    const path = attributePathOf(expression, predicate.slot)
    if (isDescending !== isReverse || path === undefined || path.steps.length > 0 || path.key.length === 0) break
    keys.push(path.key)
  }
  const own = directConditions(conditions)
  for (let count = keys.length; count > 0; count--) {
    for (const index of indexes) {
      const scan = scanInOrder(index, cls, keys.slice(0, count), own, planning, predicate)
      if (scan === undefined) continue
      const presorted = count === orderBy.length ? undefined : scan.conditions.equal.length + count
      return new OrderedIndexScan(scan, planOrder(orderBy, planning.compiler), isReverse, presorted)
    }
  }
  return undefined
}

function scanInOrder(
  index: IndexDefinition,
  cls: SchemaClass,
  order: readonly (readonly BoundAttribute[])[],
  conditions: readonly PathCondition[],
  planning: Planning,
  predicate: FullPredicate,
): IndexScan | undefined {
  const equal: KeyEquality[] = []
  const { keyAttributes } = index
  let at = 0
  while (at < keyAttributes.length && !isSamePath(order[0] ?? [], keyAttributes[at]?.path ?? [])) {
    const path = keyAttributes[at]?.path ?? []
    const found = conditions.find((condition) => condition.kind === 'equal' && isSamePath(condition.path.key, path))
    if (found === undefined || found.kind !== 'equal') return undefined
    equal.push({ kind: 'value', value: keyValueOf(found.value, found.path.key, 'equal', planning) })
    at++
  }
  // The null reference is the first one in an index, but is sorted with nulls in ORDER BY.
  if (order.some((path) => path.at(-1)?.spec.logicalType === 'reference')) return undefined
  const isSameOrder = order.every((attributes, i) => isSamePath(attributes, keyAttributes[at + i]?.path ?? []))
  if (!isSameOrder) return undefined
  const first = conditions.filter((condition) => isSamePath(condition.path.key, keyAttributes[at]?.path ?? []))
  return new IndexScan(planning.formats.of(cls), index, { equal, ...rangeOf(first, planning) }, planning, predicate)
}

export class OrderedIndexScan implements ObjectAccess {
  private readonly index: IndexScan
  readonly order: readonly OrderPlan[]
  private readonly isReverse: boolean
  /** The number of key parts that provide the order, if it is only a prefix. */
  private readonly presorted: number | undefined

  constructor(index: IndexScan, order: readonly OrderPlan[], isReverse: boolean, presorted: number | undefined) {
    this.index = index
    this.order = order
    this.isReverse = isReverse
    this.presorted = presorted
  }

  /** Objects with equal prefixes are sorted. These may be nearly all objects, so only a trial shows whether it pays off. */
  get isPresorted(): boolean {
    return this.presorted !== undefined
  }

  describe(className: string): ExplainNode {
    const direction = this.isReverse ? 'descending' : 'ascending'
    const { format, conditions } = this.index
    const names = format.parts.slice(conditions.equal.length, this.presorted).map(({ name }) => name)
    const presorted = this.presorted === undefined ? {} : { presortedBy: names }
    return explainNode('orderedIndexScan', { class: className, ...this.index.details, direction, ...presorted })
  }

  /** The other access reads the same range of the same index, of which fewer entries may be enough in order. */
  isNarrowedBy(other: AccessPath): boolean {
    const { format, conditions } = this.index
    return (
      other instanceof IndexScan &&
      other.format.index === format.index &&
      other.conditions.equal.length === conditions.equal.length
    )
  }

  get conjunctsAnswered(): number {
    return this.index.conjunctsAnswered
  }

  /** Each entry belongs to an object of one of the classes, which are all classes in the index. */
  hasAllOf({ classes }: ClassSet): boolean {
    const [cls] = classes
    return (
      cls !== undefined &&
      cls.number === this.index.format.index.indexedClass &&
      classes.length === cls.subclasses.length + 1
    )
  }

  private get needsObjects(): boolean {
    return this.index.isTruncated || this.isPresorted
  }

  get entries(): string {
    return this.index.entries
  }

  /** Undefined if strings are cut or only a prefix is in order: the order then depends on the objects' values. */
  source(
    evaluation: EvaluationContext,
    context: StatementContext,
    plan: ExplainNode | undefined,
  ): Awaitable<OidSource> | undefined {
    return this.needsObjects ? undefined : this.index.source(evaluation, context, plan, this.isReverse)
  }

  /** Undefined if `source` is undefined. */
  entryRange(evaluation: EvaluationContext, context: StatementContext): Awaitable<EntryRange | 'several'> | undefined {
    return this.needsObjects ? undefined : this.index.entryRange(evaluation, context, this.isReverse)
  }

  /** Entries with equal keys, as of cut strings, are sorted by the objects' values. Ends after a limit of entries, including the previous scan's. */
  async *objects(
    baseScan: ObjectScan,
    rowLimit: number | undefined,
    examinedMax = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ObjectView[]> {
    const scan = { ...baseScan, entries: this.index.entries }
    const { evaluation, context, source } = scan
    const { presorted } = this
    const first = presorted === undefined ? undefined : rowLimit
    const batch = entryBatchSize(scan.filter, this.conjunctsAnswered, rowLimit)
    const ranges = await this.index.ranges(evaluation, context)
    const mayQualify = this.index.filter?.forRun(evaluation)
    let unseen = this.needsObjects ? 0 : (baseScan.unseen ?? 0)
    let left = unseen > 0 ? rowLimit : undefined
    for (const range of this.isReverse ? ranges.toReversed() : ranges) {
      let alike: { prefix: Buffer; oids: Oid[] } | undefined
      for await (const found of readIndexEntries(context.snapshot, range, this.isReverse, batch)) {
        context.check()
        const entries = left === undefined ? found : found.slice(0, left)
        if (left !== undefined) left -= entries.length
        source.examined += entries.length
        let plain: Oid[] = []
        const passed = entries.slice(0, unseen)
        unseen -= passed.length
        if (passed.length > 0) yield passed.map(({ oid }) => new ObjectView(oid, undefined, undefined, noRecord))
        for (const entry of passed.length === 0 ? entries : entries.slice(passed.length)) {
          if (mayQualify?.(entry.key) === false) continue
          const prefix = this.prefixOf(entry)
          if (alike !== undefined && (prefix === undefined || !alike.prefix.equals(prefix))) {
            yield* sortedObjects(scan, loadInParts(scan, alike.oids), this.order, first)
            alike = undefined
          }
          if (prefix === undefined) {
            plain.push(entry.oid)
            continue
          }
          yield* loadInParts(scan, plain)
          plain = []
          alike ??= { prefix, oids: [] }
          alike.oids.push(entry.oid)
        }
        if (presorted !== undefined) context.hold(0, entries.length * oidBytes)
        yield* loadInParts(scan, plain)
        if (source.examined >= examinedMax) return
      }
      if (alike !== undefined) yield* sortedObjects(scan, loadInParts(scan, alike.oids), this.order, first)
    }
  }

  /** The key prefix shared with the entries that the index does not order; undefined if there are none. */
  private prefixOf({ key }: IndexEntry): Buffer | undefined {
    const { format, isTruncated } = this.index
    if (this.presorted !== undefined) return key.subarray(0, partsPrefixLength(format, key, this.presorted))
    const length = isTruncated ? truncatedPrefixLength(format, key) : undefined
    return length === undefined ? undefined : key.subarray(0, length)
  }
}

const oidBytes = 64
const noRecord = Buffer.alloc(0)
