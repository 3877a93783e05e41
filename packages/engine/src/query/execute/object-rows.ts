/** The objects of a source that qualify, by the access path that is cheapest for the data that there is. */

import { SteadySet } from '../../budget/steady-map.ts'
import { truncatedPrefixLength } from '../../indexes/key-parts.ts'
import type { IndexEntry } from '../../indexes/lookup.ts'
import { readIndexEntries } from '../../indexes/lookup.ts'
import { containerExtent } from '../../records/object-key.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { type Oid, oidFromBytes } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { type Evaluate, type Run, unknownValue } from '../evaluate/run.ts'
import { type Candidate, type OperatorPlan, operatorPlan } from '../explain/operator-plan.ts'
import { turnDue, Work } from '../functions/work.ts'
import type { Access, OrderedAccess } from '../plan/access.ts'
import { describeAccess } from '../plan/describe-access.ts'
import { bestOf } from '../plan/plan-access.ts'
import type { ObjectsPlan, OrderPlan } from '../plan/plan-select.ts'
import { estimate, indexRanges, oidsOf } from './access-oids.ts'
import { evaluateRows } from './evaluate-rows.ts'
import { sortKey } from './sort-key.ts'
import type { StatementContext } from './statement-context.ts'

/** Below so many candidates an access is taken without looking at the others any closer. */
const fewCandidates = 64
/** Where each look is a trip of its own, a few more spare the next looks. */
const fewCandidatesAfar = 256
/** An access by OIDs reads here and there; one after the other is faster when it is more than a part of all. */
const extentShare = 8
const candidatesMin = 1_000

export interface ChosenAccess {
  readonly access: Access | OrderedAccess
  readonly estimated: number
  /** Where the statement is explained: what was considered. */
  readonly considered?: Considered | undefined
}

/** Access paths with what they were estimated to give, and up to where that was counted. */
class Considered {
  /** The choice depends on values that are not known before the statement runs. */
  isDeferred = false
  private readonly estimates = new Map<Access | OrderedAccess, { estimated: number; isAtLeast: boolean }>()

  note(access: Access | OrderedAccess, estimated: number, max: number): void {
    this.estimates.set(access, { estimated, isAtLeast: estimated >= max })
  }

  candidates(plan: ObjectsPlan, chosen: Access | OrderedAccess): Candidate[] {
    const ordered = plan.ordered === undefined ? [] : [plan.ordered]
    const known = [...plan.accesses, ...ordered, ...this.estimates.keys(), chosen]
    return [...new Set(known)].map((access) => {
      const { estimated, isAtLeast = false } = this.estimates.get(access) ?? {}
      const isChosen = access === chosen && !this.isDeferred
      return { plan: describeAccess(access, plan), estimated, isAtLeast, isChosen }
    })
  }
}

/** `wanted`: how many rows are taken in the order asked for; undefined = all of them. */
export async function chooseAccess(
  plan: ObjectsPlan,
  run: Run,
  context: StatementContext,
  wanted: number | undefined,
): Promise<ChosenAccess> {
  if (context.probe === undefined) return choose(plan, run, context, wanted, undefined)
  const considered = new Considered()
  try {
    return { ...(await choose(plan, run, context, wanted, considered)), considered }
  } catch (error) {
    if (error !== unknownValue) throw error
    considered.isDeferred = true
    return { access: likelyAccess(plan), estimated: await estimateExtent(plan, context), considered }
  }
}

/** Where values are not known yet. */
function likelyAccess({ references, accesses, ordered, classes }: ObjectsPlan): Access | OrderedAccess {
  if (references !== undefined) return { kind: 'objects', references }
  return bestOf(accesses) ?? ordered ?? { kind: 'extent', classes }
}

async function choose(
  plan: ObjectsPlan,
  run: Run,
  context: StatementContext,
  wanted: number | undefined,
  considered: Considered | undefined,
): Promise<ChosenAccess> {
  const { accesses, ordered, references } = plan
  if (references !== undefined) {
    const access: Access = { kind: 'objects', references }
    const estimated = await estimate(access, run, context, candidatesMin)
    considered?.note(access, estimated, Number.POSITIVE_INFINITY)
    return { access, estimated }
  }
  const exact = accesses.find(isAtMostOne)
  if (exact !== undefined) {
    considered?.note(exact, 1, Number.POSITIVE_INFINITY)
    return { access: exact, estimated: 1 }
  }
  const fewMax = context.isFar && ordered === undefined ? fewCandidatesAfar : fewCandidates
  const few = await cheapest(accesses, run, context, fewMax, considered)
  if (few !== undefined && few.estimated < fewMax) return few
  const all: Access = { kind: 'extent', classes: plan.classes }
  const extent = await estimateExtent(plan, context)
  considered?.note(all, extent, Number.POSITIVE_INFINITY)
  const max = Math.max(candidatesMin, Math.ceil(extent / extentShare))
  const best = few === undefined ? undefined : await cheapest(accesses, run, context, max, considered)
  const isOrderUseful = ordered !== undefined && (wanted !== undefined || best === undefined)
  if (isOrderUseful && (best === undefined || best.estimated >= candidatesMin || isNarrowedBy(ordered, best.access))) {
    considered?.note(ordered, wanted ?? extent, Number.POSITIVE_INFINITY)
    return { access: ordered, estimated: wanted ?? extent }
  }
  if (best !== undefined && best.estimated < max) return best
  return { access: all, estimated: extent }
}

/** The other access reads the same range of the same index: in its order, fewer entries can be enough. */
function isNarrowedBy({ index }: OrderedAccess, other: Access | OrderedAccess): boolean {
  return (
    other.kind === 'index' && other.format.index === index.format.index && other.equal.length === index.equal.length
  )
}

/** One value for each key attribute of a unique index: nothing can be better. */
function isAtMostOne(access: Access): boolean {
  if (access.kind !== 'index') return false
  const { format, equal } = access
  const isWhole = equal.length === format.parts.length && equal.every(({ kind }) => kind === 'value')
  return isWhole && format.index.isUnique
}

/** The access with the fewest candidates, counted up to `max`; the first of equal ones. */
async function cheapest(
  accesses: readonly Access[],
  run: Run,
  context: StatementContext,
  max: number,
  considered: Considered | undefined,
): Promise<ChosenAccess | undefined> {
  let best: ChosenAccess | undefined
  for (const access of accesses) {
    const limit = best === undefined ? max : best.estimated
    const estimated = limit === 0 ? 0 : await estimate(access, run, context, limit)
    considered?.note(access, estimated, limit)
    if (best === undefined || estimated < best.estimated) best = { access, estimated }
    if (best.estimated === 0) break
  }
  return best
}

/** From where the last objects of the containers stand: deleted ones count, none is read. */
export async function estimateExtent(
  { classNumbers }: Pick<ObjectsPlan, 'classNumbers'>,
  context: StatementContext,
): Promise<number> {
  const containers = await context.containersOf(classNumbers)
  const { ranges } = await context.snapshot.read(
    [],
    containers.map(({ database, container }) => ({ ...containerExtent(database, container), reverse: true, limit: 1 })),
  )
  let count = 0
  for (const entries of ranges) {
    const last = entries[0]
    if (last === undefined) continue
    const [, , page, slot] = oidFromBytes(last.key, 1).split('-').map(Number) as [number, number, number, number]
    count += (page - 1) * 65_535 + slot
  }
  return count
}

/** Batches of qualifying objects. `inputs` of the operator it returns through `explain` count what was looked at. */
export function objectRows(
  plan: ObjectsPlan,
  chosen: ChosenAccess,
  run: Run,
  context: StatementContext,
  wanted: number | undefined,
  orderBy: readonly OrderPlan[],
): { readonly rows: AsyncGenerator<ObjectView[]>; readonly operator: OperatorPlan } {
  const { access, considered } = chosen
  const source = describeAccess(access, plan)
  if (considered?.isDeferred !== true) source.estimated = chosen.estimated
  if (considered !== undefined) source.candidates = considered.candidates(plan, access)
  const isFiltered = plan.recordFilter !== undefined || plan.restFilter !== undefined
  const filter = isFiltered ? operatorPlan('filter', { predicate: plan.whereText }, [source]) : undefined
  const work = { plan, run, context, source, filter }
  const rows =
    access.kind === 'extent'
      ? scanExtent(work, wanted)
      : access.kind === 'ordered'
        ? scanOrdered(work, access, wanted, orderBy)
        : fetchObjects(work, access, wanted)
  const operator = filter ?? source
  return { rows: context.measured(rows, operator), operator }
}

interface ObjectScan {
  readonly plan: ObjectsPlan
  readonly run: Run
  readonly context: StatementContext
  readonly source: OperatorPlan
  readonly filter: OperatorPlan | undefined
}

/**
 * What the record alone decides is decided on the lent bytes: only what qualifies is copied. Who wants a few rows gets the first
 * ones, the same each time.
 */
async function* scanExtent(work: ObjectScan, wanted: number | undefined): AsyncGenerator<ObjectView[]> {
  const { plan, run, context, source } = work
  const { recordFilter, slot } = plan
  // Several scans may be under way while a row further on is interrupted: what that one keeps is none of theirs.
  const ofRecords: Run = { ...run, slots: [...run.slots], work: new Work() }
  let undecided = new Set<ObjectView>()
  const use = (key: Uint8Array, record: Uint8Array): ObjectView | undefined => {
    source.examined++
    const lent = context.reader.view(undefined, key, record)
    if (recordFilter === undefined) return lent.copy()
    ofRecords.slots[slot] = lent
    const isKept = decideAtOnce(recordFilter, ofRecords)
    ofRecords.work.endRow()
    run.memory.endRow()
    if (isKept === false) return undefined
    const view = lent.copy()
    if (isKept === undefined) undecided.add(view)
    return view
  }
  const containers = await context.containersOf(plan.classNumbers)
  const extents = containers.map(({ database, container }) => containerExtent(database, container))
  for await (const batch of context.scanAll(extents, use, { isOrdered: wanted !== undefined })) {
    context.check()
    ofRecords.work.goOn()
    let views = batch.filter((view) => view !== undefined)
    if (recordFilter !== undefined && undecided.size > 0) {
      const qualified = new Set(await filtered(work, [...undecided], recordFilter))
      const all = undecided
      views = views.filter((view) => !all.has(view) || qualified.has(view))
      undecided = new Set()
    }
    source.returned += batch.length
    const rows = await filterRest(work, views, batch.length)
    if (rows.length > 0) yield rows
  }
}

/** Undefined where that takes so long that others are to have their turn, which they cannot while bytes are lent. */
function decideAtOnce(filter: Evaluate, run: Run): boolean | undefined {
  try {
    return filter(run) === true
  } catch (error) {
    if (error !== turnDue) throw error
    return undefined
  }
}

function filtered(
  { plan, run, context }: ObjectScan,
  views: readonly ObjectView[],
  filter: Evaluate,
): Awaitable<ObjectView[]> {
  const results = evaluateRows(context, views, (view) => {
    run.slots[plan.slot] = view
    return filter(run) === true
  })
  return mapAwaitable(results, (isKept) => views.filter((_view, i) => isKept[i]))
}

async function* fetchObjects(
  work: ObjectScan,
  access: Exclude<Access, { kind: 'extent' }>,
  wanted: number | undefined,
): AsyncGenerator<ObjectView[]> {
  const { run, context, source } = work
  // Where each batch is a trip, a few entries too many cost less than one too few.
  const entries = context.isFar ? undefined : entriesAtOnce(work, wanted)
  const mayRepeat = access.kind === 'union' || access.kind === 'reverse'
  const seen = new SteadySet<Oid>()
  for await (const batch of oidsOf(access, run, context, source, entries)) {
    const oids = mayRepeat ? batch.filter((oid) => !seen.has(oid)) : batch
    if (mayRepeat) {
      context.hold(0, oids.length * 64)
      for (const oid of oids) seen.add(oid)
    }
    yield* loadInParts(work, [...new Set(oids)])
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** Large objects few at a time. */
async function* loadInParts(work: ObjectScan, oids: readonly Oid[]): AsyncGenerator<ObjectView[]> {
  let isFirst = true
  for (const part of work.context.reader.parts(oids)) {
    const pause = isFirst ? undefined : work.context.yieldIfDue()
    if (pause !== undefined) await pause
    isFirst = false
    const rows = await loadAndFilter(work, part)
    if (rows.length > 0) yield rows
  }
}

async function loadAndFilter(work: ObjectScan, oids: readonly Oid[]): Promise<ObjectView[]> {
  const { plan, context, source } = work
  const loaded = await context.reader.load(oids)
  source.returned += oids.length
  const views = loaded.filter((view): view is ObjectView => {
    return view?.format !== undefined && plan.classNumbers.has(view.format.cls.number)
  })
  const { recordFilter } = plan
  const decided = recordFilter === undefined ? views : filtered(work, views, recordFilter)
  const qualified = decided instanceof Promise ? await decided : decided
  return filterRest(work, qualified, views.length)
}

async function filterRest(work: ObjectScan, views: readonly ObjectView[], examined: number): Promise<ObjectView[]> {
  const { plan, filter } = work
  const { restFilter } = plan
  let rows = views as ObjectView[]
  if (restFilter !== undefined && views.length > 0) {
    const left = filtered(work, views, restFilter)
    rows = left instanceof Promise ? await left : left
  }
  if (filter !== undefined) {
    filter.examined += examined
    filter.returned += rows.length
  }
  return rows
}

const batchDefault = 256
/** Where some entries will not qualify, it is not known how many it takes. */
const filteredBatchMin = 32

/** Of an index, for so many rows. */
function entriesAtOnce({ filter }: ObjectScan, wanted: number | undefined): number {
  return Math.min(batchDefault, Math.max(filter === undefined ? 1 : filteredBatchMin, wanted ?? batchDefault))
}

/** In the order of an index. Where texts are cut, entries that look alike are put in order by the objects' own values. */
async function* scanOrdered(
  work: ObjectScan,
  access: OrderedAccess,
  wanted: number | undefined,
  orderBy: readonly OrderPlan[],
): AsyncGenerator<ObjectView[]> {
  const { run, context, source } = work
  const format = access.index.format
  const batch = entriesAtOnce(work, wanted)
  const ranges = await indexRanges(access.index, run, context)
  if (access.isReverse) ranges.reverse()
  for (const range of ranges) {
    let alike: { prefix: Buffer; oids: Oid[] } | undefined
    for await (const entries of readIndexEntries(context.snapshot, range, access.isReverse, batch)) {
      context.check()
      source.examined += entries.length
      let plain: Oid[] = []
      for (const entry of entries) {
        const prefix = access.index.isTruncated ? cutPrefix(format, entry) : undefined
        if (alike !== undefined && (prefix === undefined || !alike.prefix.equals(prefix))) {
          yield* sorted(work, alike.oids, orderBy)
          alike = undefined
        }
        if (prefix === undefined) {
          plain.push(entry.oid)
          continue
        }
        yield* loadInParts(work, plain)
        plain = []
        alike ??= { prefix, oids: [] }
        alike.oids.push(entry.oid)
      }
      yield* loadInParts(work, plain)
    }
    if (alike !== undefined) yield* sorted(work, alike.oids, orderBy)
  }
}

function cutPrefix(format: OrderedAccess['index']['format'], { key }: IndexEntry): Buffer | undefined {
  const length = truncatedPrefixLength(format, key)
  return length === undefined ? undefined : key.subarray(0, length)
}

async function* sorted(
  work: ObjectScan,
  oids: readonly Oid[],
  orderBy: readonly OrderPlan[],
): AsyncGenerator<ObjectView[]> {
  const { plan, run, context } = work
  const views: ObjectView[] = []
  for await (const part of loadInParts(work, oids)) {
    let bytes = 0
    for (const view of part) {
      views.push(view)
      bytes += 256 + view.record.length
    }
    context.hold(part.length, bytes)
  }
  const keys = await evaluateRows(context, views, (view) => {
    run.slots[plan.slot] = view
    return sortKey(orderBy, run)
  })
  const order = views
    .map((_view, i) => i)
    .sort((one, other) => Buffer.compare(keys[one] as Buffer, keys[other] as Buffer))
  if (order.length > 0) yield order.map((i) => views[i] as ObjectView)
}
