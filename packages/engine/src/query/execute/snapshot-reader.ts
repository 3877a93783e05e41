/** Reads objects and links of one snapshot for expressions: synchronously where the store allows it, else many in one round trip. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import { keySpace } from '../../bytes/key-space.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import { assert } from '../../errors.ts'
import type { EngineLimits } from '../../limits.ts'
import { inKeyOrder, mapKeyCodec, readMapEntry } from '../../links/map-entries.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { linkHeaderBytes, linkKind, linkRange } from '../../records/link-keys.ts'
import { objectKey, objectKeyBytes, objectKeyHeaderBytes, oidOfObjectKey } from '../../records/object-key.ts'
import { PartSizes } from '../../records/part-sizes.ts'
import { shapeNumberOf } from '../../records/record-format.ts'
import { type RecordFormats, recordFormats } from '../../records/record-formats.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { countRange } from '../../store/count-range.ts'
import type {
  Awaitable,
  Bytes,
  CountedEntries,
  Entry,
  KeyRange,
  RangeRead,
  ReadAnswer,
  Snapshot,
} from '../../store/store.ts'
import type { MapPair } from '../../types/map.ts'
import { type Oid, oidFromBytes, oidLength, writeOidBytes } from '../../types/oid.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { needsFetch } from '../evaluate/evaluation-context.ts'
import { type LinkEnd, type ObjectReader, ObjectView } from '../evaluate/object-view.ts'
import type { Work } from '../functions/work.ts'
import { isNothing } from '../values/compare.ts'
import { sharedTargets } from './shared-targets.ts'
import { TargetObjects } from './target-objects.ts'

/** Limits of the caches of objects and links, which persist from one batch of rows to the next. */
const cachedObjectsMax = 20_000
const cachedEntriesMax = 200_000
/** Approximate memory of an entry, and of the reference or pair decoded from it. */
const entryBytes = 250
const linkBytes = 64
/** Entries per read and per charge; longer lists are read asynchronously in batches. */
const entriesPerRead = 1_000
/** Work steps to decode an element of a link entry. */
const elementSteps = 20
/** Cached entries take at most this share of a statement's memory limit. */
const cachedShare = 1 / 8
/** Limit on the bytes of cached records. */
const cachedBytesMax = 16 * 2 ** 20
/** Objects that are loaded in one round trip. */
const objectsPerLoad = 1_000

/** Work steps to read an object, plus one per 8 bytes: they are copied and verified. */
const objectSteps = 100
const byteStepsShift = 3
const entrySteps = 50
/** Work steps to count an entry, and to find a list. */
const keySteps = 20
const countSteps = 50
/** Entries that are counted synchronously: a few milliseconds. */
const syncCountMax = 10_000

const noRecord = Buffer.alloc(0)

/** Requested links: all of a range, some at one of its ends, or only their number. */
interface MissingLinks {
  readonly range: RangeRead
  readonly isCounted?: boolean
  /** Number of entries before the range that are already counted. */
  readonly counted?: number
}

/** Direct-mapped cache entry, by the halves of the OID; `view` is undefined where it was requested, during trip number `trips`. */
interface Near {
  readonly high: number
  readonly low: number
  readonly view: ObjectView | undefined
  readonly trips: number
}

/** A power of two. */
const nearSlots = 256

/** Scratch buffer for the key of a referenced record. */
const targetKey = Buffer.allocUnsafe(objectKeyBytes)

function copyBytes(borrowed: Bytes): Buffer {
  const { length } = borrowed
  const copy = Buffer.allocUnsafe(length)
  if (length > loopCopyMax) copy.set(borrowed)
  else for (let i = 0; i < length; i++) copy[i] = borrowed[i] as number
  return copy
}

/** Up to this length a loop beats a call into the runtime. */
const loopCopyMax = 48

export class SnapshotReader implements ObjectReader {
  readonly snapshot: Snapshot
  readonly formats: RecordFormats
  objectsRead = 0
  linksRead = 0
  /** While bytes of the store are borrowed, nothing is read: data that is not cached makes calls throw `needsFetch`. */
  hasBorrowedBytes = false
  private readonly isSynchronous: boolean
  private readonly work: Work
  private readonly memory: RequestMemory
  private readonly cachedEntriesMax: number
  /** Objects that were read by the texts of their OIDs; for an asynchronous store, all objects. */
  private readonly views = new Map<Oid, ObjectView>()
  /** Objects that references in records name, for a synchronous store; shared between snapshots until it is full. */
  private targets: TargetObjects
  /** Direct-mapped cache for an asynchronous store, indexed by a hash of the OID. */
  private near: (Near | undefined)[] = []
  private trips = 0
  private readonly entries = new Map<string, readonly Entry[]>()
  private cachedEntries = 0
  private cachedBytes = 0
  private readonly sizes: PartSizes
  private readonly missingObjects = new Set<Oid>()
  private readonly missingLinks = new Map<string, MissingLinks>()
  /** Lengths of lists that were counted without being read. */
  private readonly counts = new Map<string, number>()
  private readonly check: () => void

  /** `work` is charged for reads. `check` throws where the statement must end. */
  constructor(
    snapshot: Snapshot,
    catalog: Catalog,
    isSynchronous: boolean,
    work: Work,
    {
      memory,
      limits,
      check,
      isMeasured,
    }: {
      readonly memory: RequestMemory
      readonly limits: Pick<EngineLimits, 'statementBytesMax'>
      readonly check: () => void
      /** Reads are counted, so nothing is shared with other statements. */
      readonly isMeasured: boolean
    },
  ) {
    this.check = check
    this.snapshot = snapshot
    this.work = work
    this.memory = memory
    this.cachedEntriesMax = Math.min(cachedEntriesMax, (limits.statementBytesMax * cachedShare) / entryBytes)
    this.formats = recordFormats(catalog)
    this.targets = (isMeasured ? undefined : sharedTargets(snapshot, this.formats)) ?? new TargetObjects()
    this.isSynchronous = isSynchronous
    // Where each part is a round trip, all small objects are read in one.
    this.sizes = isSynchronous ? new PartSizes(objectsPerLoad) : new PartSizes(objectsPerLoad, objectsPerLoad)
  }

  object(oid: Oid): ObjectView {
    const cached = this.views.get(oid)
    if (cached !== undefined) return cached
    if (this.hasBorrowedBytes) throw needsFetch
    if (this.isSynchronous) {
      return this.cacheObject(oid, this.recordOf(oid))
    }
    this.missingObjects.add(oid)
    throw needsFetch
  }

  /** An object that is not needed again: a synchronous store does not cache it. */
  objectOnce(oid: Oid): ObjectView {
    const cached = this.views.get(oid)
    if (cached !== undefined || !this.isSynchronous || this.hasBorrowedBytes) return cached ?? this.object(oid)
    const record = this.recordOf(oid)
    this.objectsRead++
    this.work.spend(objectSteps + ((record?.length ?? 0) >> byteStepsShift))
    return this.viewOf(oid, record)
  }

  private recordOf(oid: Oid): Bytes | undefined {
    targetKey[0] = keySpace.object
    writeOidBytes(oid, targetKey, objectKeyHeaderBytes)
    return syncResult(this.snapshot.view(targetKey, copyBytes))
  }

  objectAt(bytes: Bytes, at: number): ObjectView | undefined {
    const high = readInt32(bytes, at)
    const low = readInt32(bytes, at + 4)
    if (high === 0 && low === 0) return undefined
    if (this.isSynchronous) return this.targetAt(bytes, at, high, low)
    const slot = nearSlot(high, low)
    const near = this.near[slot]
    if (near?.view !== undefined && near.high === high && near.low === low) return near.view
    const view = this.object(oidFromBytes(bytes, at))
    this.near[slot] = { high, low, view, trips: this.trips }
    return view
  }

  request(bytes: Bytes, at: number): ObjectView | undefined | 'requested' | 'requestedBefore' {
    const high = readInt32(bytes, at)
    const low = readInt32(bytes, at + 4)
    if (high === 0 && low === 0) return undefined
    const slot = nearSlot(high, low)
    const near = this.near[slot]
    if (near?.high === high && near.low === low) {
      if (near.view !== undefined) return near.view
      if (near.trips === this.trips) return 'requestedBefore'
    }
    const oid = oidFromBytes(bytes, at)
    const view = this.views.get(oid)
    if (view === undefined) this.missingObjects.add(oid)
    this.near[slot] = { high, low, view, trips: this.trips }
    return view ?? 'requested'
  }

  /** The object of an OID within a record; for a synchronous store. */
  private targetAt(bytes: Bytes, at: number, high: number, low: number): ObjectView {
    const cached = this.targets.get(high, low)
    if (cached !== undefined) return cached
    if (this.hasBorrowedBytes) throw needsFetch
    const view = this.readAt(bytes, at)
    if (!this.targets.hasRoomFor(view)) this.targets = new TargetObjects()
    this.targets.add(high, low, view)
    return view
  }

  /** `objectOnce` for an OID within a record; for a synchronous store. */
  objectOnceAt(bytes: Bytes, at: number): ObjectView {
    const view = this.viewAt(bytes, at)
    this.objectsRead++
    this.work.spend(objectSteps + (view.record.length >> byteStepsShift))
    return view
  }

  private readAt(bytes: Bytes, at: number): ObjectView {
    const view = this.viewAt(bytes, at)
    this.noteRead(view.record.length)
    return view
  }

  private viewAt(bytes: Bytes, at: number): ObjectView {
    targetKey[0] = keySpace.object
    for (let i = 0; i < oidLength; i++) targetKey[objectKeyHeaderBytes + i] = bytes[at + i] as number
    const record = syncResult(this.snapshot.view(targetKey, copyBytes))
    return record === undefined
      ? new ObjectView(oidOfObjectKey(targetKey), undefined, undefined, noRecord)
      : this.view(undefined, copyBytes(targetKey), record)
  }

  prefetch(oids: readonly unknown[]): void {
    if (this.isSynchronous) return
    let isMissing = false
    for (const oid of oids) {
      if (isNothing(oid) || this.views.has(oid as Oid)) continue
      this.missingObjects.add(oid as Oid)
      isMissing = true
    }
    if (isMissing) throw needsFetch
  }

  /** Called between batches: clears caches that exceed their limits. */
  trim(): void {
    const objects = this.views.size + this.targets.count
    if (objects > cachedObjectsMax || this.cachedBytes > cachedBytesMax) this.clearObjects()
    if (this.cachedEntries <= this.cachedEntriesMax) return
    this.memory.chargeStatement(-this.cachedEntries * entryBytes)
    this.entries.clear()
    this.counts.clear()
    this.cachedEntries = 0
  }

  /** The result is charged until the statement ends or trims its caches. Throws `needsFetch` for a long list on every store. */
  linkEntries(view: ObjectView, index: number): readonly Entry[] {
    const attribute = view.format?.attributes[index] as AttributeFormat
    const name = linksKey(view, attribute)
    const cached = this.entries.get(name)
    if (cached !== undefined) return cached
    if (this.hasBorrowedBytes) throw needsFetch
    const range = visibleRange(view, attribute)
    const entries = this.shortList(name, range)
    if (entries !== undefined) return entries
    this.missingLinks.set(name, { range })
    throw needsFetch
  }

  links(view: ObjectView, { index }: BoundAttribute): readonly unknown[] {
    return this.elements(view.format?.attributes[index] as AttributeFormat, this.linkEntries(view, index))
  }

  endLinks(view: ObjectView, { index }: BoundAttribute, { isLast, max }: LinkEnd): readonly unknown[] {
    const attribute = view.format?.attributes[index] as AttributeFormat
    if (max === 0) return []
    const all = this.entries.get(linksKey(view, attribute))
    if (all !== undefined) return this.elements(attribute, isLast ? all.slice(-max) : all.slice(0, max))
    if (this.hasBorrowedBytes) throw needsFetch
    const name = `${linksKey(view, attribute)} ${isLast ? 'last' : 'first'} ${max}`
    const range = { ...visibleRange(view, attribute), reverse: isLast, limit: max }
    const entries = this.entries.get(name) ?? this.shortList(name, range)
    if (entries !== undefined) return this.elements(attribute, isLast ? entries.toReversed() : entries)
    this.missingLinks.set(name, { range })
    throw needsFetch
  }

  linkCount(view: ObjectView, bound: BoundAttribute, max = Number.POSITIVE_INFINITY): number {
    const { index } = bound
    const attribute = view.format?.attributes[index] as AttributeFormat
    const name = linksKey(view, attribute)
    const cached = this.entries.get(name)?.length ?? this.counts.get(name)
    if (cached !== undefined) return cached
    // The row is evaluated again before the rest of its list is counted.
    if (this.hasBorrowedBytes || this.missingLinks.get(name)?.counted !== undefined) throw needsFetch
    const range = visibleRange(view, attribute)
    if (this.snapshot.visit === undefined) {
      if (max < entriesPerRead) return this.endLinks(view, bound, { isLast: false, max }).length
      this.missingLinks.set(name, { range, isCounted: true })
    } else {
      const { count: counted, last } = this.countSync(range, Math.min(max, syncCountMax))
      this.linksRead += counted
      this.work.spend(countSteps + counted * keySteps)
      if (counted === max) return counted
      if (last === undefined) return this.cacheCount(name, counted)
      this.missingLinks.set(name, {
        range: { ...range, from: Buffer.concat([last, Buffer.from([0])]) },
        isCounted: true,
        counted,
      })
    }
    throw needsFetch
  }

  private countSync(range: KeyRange, max: number): CountedEntries {
    const { snapshot } = this
    if (snapshot.count !== undefined) return snapshot.count(range, max)
    let count = 0
    const last = snapshot.visit?.(range, false, () => ++count < max)
    return { count, last }
  }

  private cacheCount(name: string, count: number): number {
    this.charge(1)
    this.counts.set(name, count)
    return count
  }

  /** For a synchronous store; undefined where the list is long. */
  private shortList(name: string, range: RangeRead): readonly Entry[] | undefined {
    if (!this.isSynchronous) return undefined
    const { limit = entriesPerRead } = range
    const entries =
      syncResult(this.snapshot.read([], [{ ...range, limit: Math.min(limit, entriesPerRead) }])).ranges[0] ?? []
    if (entries.length === entriesPerRead) return undefined
    this.charge(entries.length + 1)
    return this.cacheEntries(name, entries)
  }

  private elements(attribute: AttributeFormat, entries: readonly Entry[]): readonly unknown[] {
    this.memory.chargeRow(entries.length * linkBytes)
    const isMap = attribute.linkStorage === 'map'
    const inOrder = isMap ? inKeyOrder(mapKeyCodec(attribute), entries) : entries
    const elements: unknown[] = []
    for (let at = 0; at < inOrder.length; at += entriesPerRead) {
      for (const entry of inOrder.slice(at, at + entriesPerRead)) elements.push(elementOf(attribute, entry))
      this.work.spend(entriesPerRead * elementSteps)
    }
    return elements
  }

  /** Fetches all that was found missing since the last call. */
  async fetchMissing(): Promise<void> {
    const oids = [...this.missingObjects]
    const missing = [...this.missingLinks]
    this.missingObjects.clear()
    this.missingLinks.clear()
    for (const [name, { range, counted }] of missing) {
      if (counted !== undefined) this.cacheCount(name, counted + (await this.countAll(range)))
    }
    const links = missing.filter(([, { counted }]) => counted === undefined)
    if (oids.length + links.length === 0) return
    this.trips++
    const answer = await this.snapshot.read(
      oids.map(objectKey),
      links.map(([, { range }]) => ({ ...range, limit: Math.min(range.limit ?? entriesPerRead, entriesPerRead) })),
    )
    for (const [i, oid] of oids.entries()) this.cacheObject(oid, answer.values[i])
    for (const [i, [name, { range, isCounted }]] of links.entries()) {
      const first = answer.ranges[i] ?? []
      if (isCounted === true && first.length === entriesPerRead) {
        const count = first.length + (await this.countAll(restAfter(range, first)))
        this.linksRead += first.length
        this.cacheCount(name, count)
        continue
      }
      this.charge(first.length + 1)
      this.cacheEntries(name, first.length < entriesPerRead ? first : await this.readAll(range, first))
    }
  }

  /** Charges each part before the next is read. Throws LimitExceeded and ServerBusy. */
  private async readAll(range: RangeRead, first: readonly Entry[]): Promise<readonly Entry[]> {
    const entries = [...first]
    const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
    const options = { batch: entriesPerRead, reverse: range.reverse === true }
    if (range.limit === first.length) return entries
    const limit = range.limit === undefined ? {} : { limit: range.limit - first.length }
    for await (const batch of this.snapshot.scan(restAfter(range, first), copy, { ...options, ...limit })) {
      this.charge(batch.length)
      for (const entry of batch) entries.push(entry)
    }
    return entries
  }

  /** Nothing is retained, so no memory is charged; the number of entries is unlimited. */
  private async countAll(range: KeyRange): Promise<number> {
    const count = await countRange(this.snapshot, range, { passed: this.check })
    this.linksRead += count
    return count
  }

  private charge(entries: number): void {
    const bytes = entries * entryBytes
    try {
      this.memory.chargeStatement(bytes)
    } catch (error) {
      // A caller that handles the error continues with the memory it had before.
      this.memory.chargeStatement(-bytes)
      throw error
    }
    this.cachedEntries += entries
  }

  /** The objects in order, undefined where there is none; read in one round trip, not cached. */
  load(oids: readonly Oid[]): Awaitable<(ObjectView | undefined)[]> {
    const answer = this.snapshot.read(oids.map(objectKey))
    return answer instanceof Promise ? answer.then((read) => this.viewsOf(oids, read)) : this.viewsOf(oids, answer)
  }

  /** Splits the OIDs into parts that can each be loaded at once. */
  parts(oids: readonly Oid[]): Iterable<readonly Oid[]> {
    return this.sizes.parts(oids)
  }

  private viewsOf(oids: readonly Oid[], { values }: ReadAnswer): (ObjectView | undefined)[] {
    this.objectsRead += oids.length
    this.sizes.note(values, oids.length)
    return oids.map((oid, i) => {
      const record = values[i]
      return record === undefined ? undefined : this.view(oid, undefined, record)
    })
  }

  view(oid: Oid | undefined, key: Bytes | undefined, record: Bytes): ObjectView {
    return new ObjectView(oid, key, this.formats.forShape(shapeNumberOf(record)), record)
  }

  private cacheObject(oid: Oid, record: Bytes | undefined): ObjectView {
    this.noteRead(record?.length ?? 0)
    const view = this.viewOf(oid, record)
    this.views.set(oid, view)
    return view
  }

  private viewOf(oid: Oid, record: Bytes | undefined): ObjectView {
    return record === undefined
      ? new ObjectView(oid, undefined, undefined, noRecord)
      : this.view(oid, undefined, record)
  }

  private noteRead(length: number): void {
    this.objectsRead++
    this.work.spend(objectSteps + (length >> byteStepsShift))
    // A synchronous store reads evicted objects again; otherwise a batch keeps all that it requested until its end.
    if (this.isSynchronous && this.cachedBytes + length > cachedBytesMax) this.clearObjects()
    this.cachedBytes += length
  }

  private clearObjects(): void {
    this.views.clear()
    this.targets = new TargetObjects()
    this.near = []
    this.cachedBytes = 0
  }

  private cacheEntries(name: string, entries: readonly Entry[]): readonly Entry[] {
    this.linksRead += entries.length
    this.work.spend(entries.length * entrySteps)
    this.entries.set(name, entries)
    return entries
  }
}

/** The element of a list or set, or the pair of a map. */
function elementOf(attribute: AttributeFormat, entry: Entry): Oid | MapPair {
  if (attribute.linkStorage === 'set') return oidFromBytes(entry.key, linkHeaderBytes)
  if (attribute.linkStorage === 'list') return oidFromBytes(entry.value, 0)
  const { key, target } = readMapEntry(mapKeyCodec(attribute), entry)
  return { key, value: target }
}

function nearSlot(high: number, low: number): number {
  return (low ^ (low >>> 16) ^ high) & (nearSlots - 1)
}

function syncResult<T>(answer: Awaitable<T>): T {
  assert(!(answer instanceof Promise), 'a store whose reads are immediate answers at once')
  return answer
}

/** The kind of entries that a read returns: a paired list has two, one of which defines its order. */
function visibleKind(attribute: AttributeFormat): number {
  if (attribute.linkStorage === 'list') return linkKind.position
  return attribute.linkStorage === 'set' ? linkKind.target : linkKind.name
}

function linksKey({ oid }: ObjectView, { attribute }: AttributeFormat): string {
  return `${oid} ${attribute.number}`
}

function visibleRange({ oid }: ObjectView, attribute: AttributeFormat): KeyRange {
  return linkRange(oid, attribute.attribute.number, visibleKind(attribute))
}

/** The rest of the range after these entries, in the order of the read. */
export function restAfter({ from, to, reverse }: RangeRead, read: readonly Entry[]): KeyRange {
  const { key } = read.at(-1) as Entry
  if (reverse === true) return { ...(from === undefined ? {} : { from }), to: key }
  return { from: Buffer.concat([key, Buffer.from([0])]), ...(to === undefined ? {} : { to }) }
}
