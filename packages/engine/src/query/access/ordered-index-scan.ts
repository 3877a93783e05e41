/** The objects of the rows in the order of an index, which is the one asked for. */
import type { IndexKeyFormat } from '../../indexes/index-key.ts'
import { truncatedPrefixLength } from '../../indexes/key-parts.ts'
import { type IndexEntry, readIndexEntries } from '../../indexes/lookup.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { BoundAttribute, BoundOrderItem } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { type OrderPlan, planOrder, sortKey } from '../evaluate/sort-key.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import type { AccessPath, EntryRange, ObjectAccess } from './access-path.ts'
import type { WholePredicate } from './entry-filter.ts'
import { IndexScan, type KeyEquality, rangeOf } from './index-scan.ts'
import { keyValueOf } from './key-value.ts'
import { entriesAtOnce, loadInParts, type ObjectScan } from './object-scan.ts'
import type { OidSource } from './oid-source.ts'
import { type Condition, isSamePath, ownConditions, type PathCondition, pathOf } from './sargable-predicates.ts'

/** Of an index that has, after what is fixed by equality, the same attributes one by one. */
export function planOrderedIndexScan(
  cls: SchemaClass,
  whole: WholePredicate,
  orderBy: readonly BoundOrderItem[],
  conditions: readonly Condition[],
  planning: Planning,
): OrderedIndexScan | undefined {
  const paths = orderBy.map(({ expression }) => pathOf(expression, whole.slot))
  const isReverse = orderBy[0]?.isDescending === true
  const isUniform = orderBy.length > 0 && orderBy.every(({ isDescending }) => isDescending === isReverse)
  if (!isUniform || paths.some((path) => path === undefined || path.steps.length > 0 || path.key.length === 0))
    return undefined
  const keys = paths.map((path) => path?.key ?? [])
  const own = ownConditions(conditions)
  for (const index of cls.indexes) {
    if (index.state !== 'ready') continue
    const scan = scanInOrder(index, cls, keys, own, planning, whole)
    if (scan !== undefined) return new OrderedIndexScan(scan, planOrder(orderBy, planning.compiler), isReverse)
  }
  return undefined
}

function scanInOrder(
  index: IndexDefinition,
  cls: SchemaClass,
  order: readonly (readonly BoundAttribute[])[],
  conditions: readonly PathCondition[],
  planning: Planning,
  whole: WholePredicate,
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
  // In an index the reference to nothing comes before all others, in ORDER BY it stands with the nulls.
  if (order.some((path) => path.at(-1)?.spec.logicalType === 'reference')) return undefined
  const isSameOrder = order.every((attributes, i) => isSamePath(attributes, keyAttributes[at + i]?.path ?? []))
  if (!isSameOrder) return undefined
  const first = conditions.filter((condition) => isSamePath(condition.path.key, keyAttributes[at]?.path ?? []))
  return new IndexScan(planning.formats.of(cls), index, { equal, ...rangeOf(first, planning) }, planning, whole)
}

export class OrderedIndexScan implements ObjectAccess {
  private readonly index: IndexScan
  readonly order: readonly OrderPlan[]
  private readonly isReverse: boolean

  constructor(index: IndexScan, order: readonly OrderPlan[], isReverse: boolean) {
    this.index = index
    this.order = order
    this.isReverse = isReverse
  }

  describe(className: string): ExplainNode {
    const direction = this.isReverse ? 'descending' : 'ascending'
    return explainNode('orderedIndexScan', { class: className, ...this.index.details, direction })
  }

  /** The other access reads the same range of the same index: in its order, fewer entries can be enough. */
  isNarrowedBy(other: AccessPath): boolean {
    const { format, conditions } = this.index
    return (
      other instanceof IndexScan &&
      other.format.index === format.index &&
      other.conditions.equal.length === conditions.equal.length
    )
  }

  /** Of the predicate. */
  get conjunctsAnswered(): number {
    return this.index.conjunctsAnswered
  }

  /** Each entry names an object of one of the classes, which are all whose objects the index has. */
  hasAllOf({ classes }: ClassSet): boolean {
    const [cls] = classes
    return (
      cls !== undefined &&
      cls.number === this.index.format.index.indexedClass &&
      classes.length === cls.subclasses.length + 1
    )
  }

  get entries(): string {
    return this.index.entries
  }

  /** Undefined where texts are cut: the order is then that of the objects' own values. */
  source(evaluation: EvaluationContext, context: StatementContext): Awaitable<OidSource> | undefined {
    return this.index.isTruncated ? undefined : this.index.source(evaluation, context, this.isReverse)
  }

  /** Undefined where `source` is. */
  entryRange(evaluation: EvaluationContext, context: StatementContext): Awaitable<EntryRange | 'several'> | undefined {
    return this.index.isTruncated ? undefined : this.index.entryRange(evaluation, context, this.isReverse)
  }

  /**
   * Where texts are cut, entries that look alike are put in order by the objects' own values. It ends where so many entries are examined, those
   * of the scan before it included.
   */
  async *objects(
    given: ObjectScan,
    wanted: number | undefined,
    examinedMax = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ObjectView[]> {
    const scan = { ...given, entries: this.index.entries }
    const { evaluation, context, source } = scan
    const { format, isTruncated } = this.index
    const batch = entriesAtOnce(scan.filter, this.conjunctsAnswered, wanted)
    const ranges = await this.index.ranges(evaluation, context)
    const mayQualify = this.index.filter?.forRun(evaluation)
    for (const range of this.isReverse ? ranges.toReversed() : ranges) {
      let alike: { prefix: Buffer; oids: Oid[] } | undefined
      for await (const entries of readIndexEntries(context.snapshot, range, this.isReverse, batch)) {
        context.check()
        source.examined += entries.length
        let plain: Oid[] = []
        for (const entry of entries) {
          if (mayQualify?.(entry.key) === false) continue
          const prefix = isTruncated ? cutPrefix(format, entry) : undefined
          if (alike !== undefined && (prefix === undefined || !alike.prefix.equals(prefix))) {
            yield* sorted(scan, alike.oids, this.order)
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
        yield* loadInParts(scan, plain)
        if (source.examined >= examinedMax) return
      }
      if (alike !== undefined) yield* sorted(scan, alike.oids, this.order)
    }
  }
}

function cutPrefix(format: IndexKeyFormat, { key }: IndexEntry): Buffer | undefined {
  const length = truncatedPrefixLength(format, key)
  return length === undefined ? undefined : key.subarray(0, length)
}

async function* sorted(
  scan: ObjectScan,
  oids: readonly Oid[],
  orderBy: readonly OrderPlan[],
): AsyncGenerator<ObjectView[]> {
  const { filter, evaluation, context } = scan
  const views: ObjectView[] = []
  for await (const part of loadInParts(scan, oids)) {
    let bytes = 0
    for (const view of part) {
      views.push(view)
      bytes += 256 + view.record.length
    }
    context.hold(part.length, bytes)
  }
  const keys = await evaluateRows(context, views, (view) => {
    evaluation.slots[filter.slot] = view
    return sortKey(orderBy, evaluation)
  })
  const order = views
    .map((_view, i) => i)
    .sort((one, other) => Buffer.compare(keys[one] as Buffer, keys[other] as Buffer))
  if (order.length > 0) yield order.map((i) => views[i] as ObjectView)
}
