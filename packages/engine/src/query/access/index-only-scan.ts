/** Computes groups and aggregates from index entries; reads an object only if its entry is not sufficient. */
import { afterKeyValues } from '../../bytes/key-writer.ts'
import { indexKeyFormat, type KeyConditionRange } from '../../indexes/index-key.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { type Oid, oidFromBytes } from '../../types/oid.ts'
import type { BoundAggregate, BoundClauses } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, explainNode } from '../explain/explain-node.ts'
import { filterObjects } from '../operators/filter.ts'
import type { Planning } from '../operators/planning.ts'
import type { AccessPath, ObjectAccess } from './access-path.ts'
import { attributesReadBy, EntryReader, entryView, type PartRead, partsRead } from './entry-view.ts'
import { IndexScan, planIndexScan } from './index-scan.ts'
import { entryBatchSize, filterRest, type ObjectScan } from './object-scan.ts'
import { pushObjects } from './push-objects.ts'
import { directConditions, type IndexCondition } from './sargable-predicates.ts'
import { SkipScan } from './skip-scan.ts'

/** For every index whose entries contain all values that the clauses need. Exact only for callers who see all objects. */
export function planIndexOnlyScans(
  cls: SchemaClass,
  classes: ClassSet,
  slot: number,
  clauses: BoundClauses,
  conditions: readonly IndexCondition[],
  skipping: readonly SkipScan[],
  planning: Planning,
): IndexOnlyScan[] {
  // An index contains objects of the class and all its subclasses.
  const isEntryOnly = clauses.groupBy !== undefined || clauses.projections?.length === 0
  if (!isEntryOnly || classes.classes.length !== cls.subclasses.length + 1) return []
  const read = attributesRead(clauses, slot)
  if (read === undefined || read.size === 0) return []
  const own = directConditions(conditions)
  const scans: IndexOnlyScan[] = []
  for (const index of cls.indexes) {
    if (index.state !== 'ready' || index.indexedClass !== cls.number) continue
    const parts = partsRead(indexKeyFormat(index, planning.formats.of(cls)), read)
    if (parts === undefined) continue
    const all = { equal: [], lower: undefined, upper: undefined }
    const narrowed = planIndexScan(index, cls, own, planning)
    const scan = narrowed ?? new IndexScan(planning.formats.of(cls), index, all, planning)
    scans.push(new IndexOnlyScan(scan, parts, narrowed !== undefined, extremeOf(clauses, scan, parts)))
    for (const skip of skipping) {
      if (skip.format.index === index) scans.push(new IndexOnlyScan(skip, parts, true, undefined))
    }
  }
  // Indexes of which a part is read come first, then those with short entries.
  return scans.sort((one, other) => {
    return Number(other.isNarrowed) - Number(one.isNarrowed) || one.partCount - other.partCount
  })
}

function attributesRead(clauses: BoundClauses, slot: number): ReadonlySet<number> | undefined {
  const { where, groupBy = [], aggregates, having, orderBy, projections = [], windows } = clauses
  if (windows.length > 0) return undefined
  const operands = aggregates.flatMap(({ operand, fraction }) => [operand, fraction])
  const ordered = orderBy.map(({ expression }) => expression)
  const returned = projections.map(({ expression }) => expression)
  return attributesReadBy([where, ...groupBy, ...operands, having, ...ordered, ...returned], slot)
}

/** The minimum or maximum of a key part, if nothing else is needed. */
interface Extreme {
  readonly isLeast: boolean
  readonly isGreatest: boolean
}

/** Requires the first part that varies within the range, whose entries are in the order of its values. */
function extremeOf(clauses: BoundClauses, { conditions }: IndexScan, parts: readonly PartRead[]): Extreme | undefined {
  const { groupBy, aggregates } = clauses
  if (groupBy?.length !== 0 || aggregates.length === 0) return undefined
  if (!conditions.equal.every(({ kind }) => kind === 'value' || kind === 'null')) return undefined
  const part = parts[conditions.equal.length]
  if (part?.attribute === undefined || part.codec.form === 'text') return undefined
  const usesPart = ({ function: name, operand }: BoundAggregate): boolean => {
    const isExtreme = name === 'MIN' || name === 'MAX'
    return isExtreme && operand?.kind === 'attribute' && operand.attribute.index === part.attribute
  }
  if (!aggregates.every(usesPart) || aggregates.some(({ operand }) => operand?.type.kind === 'reference'))
    return undefined
  const names = new Set(aggregates.map(({ function: name }) => name))
  return { isLeast: names.has('MIN'), isGreatest: names.has('MAX') }
}

export class IndexOnlyScan implements ObjectAccess {
  readonly isNarrowed: boolean
  readonly partCount: number
  private readonly scan: IndexScan
  private readonly parts: readonly PartRead[]
  private readonly extreme: Extreme | undefined

  constructor(scan: IndexScan, parts: readonly PartRead[], isNarrowed: boolean, extreme: Extreme | undefined) {
    this.scan = scan
    this.parts = parts
    this.isNarrowed = isNarrowed
    this.extreme = extreme
    this.partCount = scan.format.parts.length
  }

  describe(className: string): ExplainNode {
    return explainNode('indexOnlyScan', { ...this.scan.describe(className).details })
  }

  /** Skips entries that do not qualify, if the estimate is favourable. */
  get isSkipping(): boolean {
    return this.scan instanceof SkipScan
  }

  /** Whether the other access reads the same entries, followed by the objects. */
  isSameAs(other: AccessPath): boolean {
    if (this.isSkipping || other instanceof SkipScan) return other === this.scan
    return other instanceof IndexScan && this.isNarrowed && other.format.index === this.scan.format.index
  }

  /** The number of entries read, counted up to `max`, which is returned if there are more. */
  estimate(evaluation: EvaluationContext, context: StatementContext, max: number): Promise<number> {
    return this.scan.estimate(evaluation, context, max)
  }

  get readsOnlyEnd(): boolean {
    return this.extreme !== undefined
  }

  /** Reads one end of the range; with further conditions, the first qualifying object may be far from it. `conjuncts`: of the predicate. */
  isAnsweredAtEnd(conjuncts: number): boolean {
    return this.readsOnlyEnd && this.scan.conjunctsAnswered >= conjuncts
  }

  async *objects(scan: ObjectScan, rowLimit: number | undefined): AsyncGenerator<ObjectView[]> {
    const { evaluation, context } = scan
    const ranges = await this.scan.ranges(evaluation, context)
    const { extreme } = this
    if (extreme === undefined) {
      const batch = entryBatchSize(scan.filter, this.scan.conjunctsAnswered, rowLimit)
      const readsAll = rowLimit === undefined || context.isRemote
      yield* this.views(scan, context.scanAll(ranges, this.read, readsAll ? {} : { batch, isOrdered: true }))
      return
    }
    for (const range of ranges) {
      if (extreme.isLeast) yield* this.firstOf(scan, range, false)
      if (extreme.isGreatest) yield* this.firstOf(scan, range, true)
    }
  }

  push(scan: ObjectScan): PushRows<ObjectView> | undefined {
    if (this.extreme !== undefined) return undefined
    const { evaluation, context } = scan
    return pushObjects(
      scan,
      () => this.scan.ranges(evaluation, context),
      false,
      () => {
        const reader = new EntryReader(this.parts)
        return {
          read: (key) => reader.read(key),
          readAsync: async (value) => (await this.objectsOf(scan, [oidFromBytes(value, 0)]))[0] as ObjectView,
        }
      },
    )
  }

  private async *firstOf(scan: ObjectScan, range: KeyConditionRange, reverse: boolean): AsyncGenerator<ObjectView[]> {
    const isFiltered = scan.filter.conjuncts > this.scan.conjunctsAnswered
    const batch = isFiltered ? endEntries : 1
    const entries = scan.context.snapshot.scan(this.withoutNulls(range), this.read, { reverse, batch })
    for await (const [first] of this.views(scan, entries)) {
      if (first === undefined) continue
      yield [first]
      return
    }
  }

  private withoutNulls({ from, to }: KeyConditionRange): KeyRange {
    const { lower, upper } = this.scan.conditions
    const isBounded = lower !== undefined || upper !== undefined
    return { from, to: isBounded ? to : Buffer.concat([from, afterKeyValues]) }
  }

  private async *views(
    scan: ObjectScan,
    batches: AsyncIterable<readonly (ObjectView | Oid)[]>,
  ): AsyncGenerator<ObjectView[]> {
    const { filter, evaluation, context, source } = scan
    const { recordPredicate, slot } = filter
    for await (const entries of batches) {
      context.check()
      source.examined += entries.length
      source.returned += entries.length
      const views = await this.objectsOf(scan, entries)
      const decided =
        recordPredicate === undefined ? views : await filterObjects(views, recordPredicate, slot, evaluation, context)
      const rows = await filterRest(scan, decided, views.length)
      if (rows.length > 0) yield rows
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  /** Reads the object if a string is cut. Throws ReadSkew if the object is missing. */
  private async objectsOf({ context }: ObjectScan, entries: readonly (ObjectView | Oid)[]): Promise<ObjectView[]> {
    const cut = entries.filter((entry) => typeof entry === 'string')
    if (cut.length === 0) return entries as ObjectView[]
    const views = new Map<Oid, ObjectView>()
    for (const oids of context.reader.parts(cut)) {
      context.touched(oids.length)
      for (const [i, view] of (await context.reader.load(oids)).entries()) {
        const oid = oids[i] as Oid
        if (view?.format === undefined)
          throw new ReadSkew(`${this.scan.entries} names object ${oid}, which is not there`)
        views.set(oid, view)
      }
    }
    return entries.map((entry) => (typeof entry === 'string' ? (views.get(entry) as ObjectView) : entry))
  }

  private readonly read = (key: Bytes, value: Bytes): ObjectView | Oid => {
    return entryView(this.parts, key) ?? oidFromBytes(value, 0)
  }
}

/** Read at the end of a range if some entries may not qualify. */
const endEntries = 16
