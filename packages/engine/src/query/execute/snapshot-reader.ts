/** Reads objects and links of one snapshot for expressions: at once where the store answers at once, else many in one trip. */
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

/** What is kept of objects and links read before, from one batch of rows to the next. */
const keptObjectsMax = 20_000
const keptEntriesMax = 200_000
/** About what an entry takes, and the reference or pair that is made of it. */
const entryBytes = 250
const linkBytes = 64
/** Entries that are read at once, and between two charges; longer lists come with turns for others in between. */
const entriesAtOnce = 1_000
/** To make an element of a link entry. */
const elementSteps = 20
/** Of what statements may hold, entries of earlier batches take so much at most. */
const keptShare = 1 / 8
/** Of the records of those objects. */
const keptBytesMax = 16 * 2 ** 20
/** Objects that are loaded in one trip. */
const loadedAtOnce = 1_000

/** Steps that an object takes to be read, and of which its bytes take one for so many (as a power of two): they are copied and checked. */
const objectSteps = 100
const byteStepsShift = 3
const entrySteps = 50
/** That an entry takes to be counted, and a list to be found. */
const keySteps = 20
const countSteps = 50
/** Entries that are counted before others have their turn: a few milliseconds. */
const countedAtOnceMax = 10_000

const noRecord = Buffer.alloc(0)

/** Link entries that were asked for in vain: all of a range, so many of one of its ends, or their number alone. */
interface MissingLinks {
  readonly range: RangeRead
  readonly isCounted?: boolean
  /** So many before the range are counted. */
  readonly counted?: number
}

/** An object with the halves of its OID; undefined where it was asked for, after so many trips. */
interface Near {
  readonly high: number
  readonly low: number
  readonly view: ObjectView | undefined
  readonly trips: number
}

/** A power of two. */
const nearPlaces = 256

/** The key of a record that a reference names. */
const targetKey = Buffer.allocUnsafe(objectKeyBytes)

function ownBytes(borrowed: Bytes): Buffer {
  const { length } = borrowed
  const own = Buffer.allocUnsafe(length)
  if (length > loopedBytes) own.set(borrowed)
  else for (let i = 0; i < length; i++) own[i] = borrowed[i] as number
  return own
}

/** Up to here a loop beats a call into the runtime. */
const loopedBytes = 48

export class SnapshotReader implements ObjectReader {
  readonly snapshot: Snapshot
  readonly formats: RecordFormats
  /** Objects that were read by their OIDs. */
  objectsRead = 0
  /** Link entries that were read. */
  linksRead = 0
  /** While bytes of the store are borrowed, nothing is read: whoever asks for what is not kept is told by `needsFetch`, and asks again later. */
  hasBorrowedBytes = false
  private readonly isSynchronous: boolean
  private readonly work: Work
  private readonly memory: RequestMemory
  private readonly keptEntriesMax: number
  /** Those that were asked for by the texts of their OIDs; where the store answers later, all. */
  private readonly views = new Map<Oid, ObjectView>()
  /** Those that references in records name, where the store answers at once; shared with others as long as it has room. */
  private targets: TargetObjects
  /** Where it answers later: some of them, at places that follow from the numbers of their OIDs. */
  private near: (Near | undefined)[] = []
  private trips = 0
  private readonly entries = new Map<string, readonly Entry[]>()
  private entriesKept = 0
  private bytesKept = 0
  private readonly sizes: PartSizes
  private readonly missingObjects = new Set<Oid>()
  private readonly missingLinks = new Map<string, MissingLinks>()
  /** How many entries lists have that were counted and not read. */
  private readonly counts = new Map<string, number>()
  private readonly check: () => void

  /** `work`: spends what is read for expressions. `check`: throws where the statement is to end. */
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
      /** What it reads is counted, so that it reads all by itself. */
      readonly isMeasured: boolean
    },
  ) {
    this.check = check
    this.snapshot = snapshot
    this.work = work
    this.memory = memory
    this.keptEntriesMax = Math.min(keptEntriesMax, (limits.statementBytesMax * keptShare) / entryBytes)
    this.formats = recordFormats(catalog)
    this.targets = (isMeasured ? undefined : sharedTargets(snapshot, this.formats)) ?? new TargetObjects()
    this.isSynchronous = isSynchronous
    // Where each part is a trip, of small objects all come in one.
    this.sizes = isSynchronous ? new PartSizes(loadedAtOnce) : new PartSizes(loadedAtOnce, loadedAtOnce)
  }

  object(oid: Oid): ObjectView {
    const known = this.views.get(oid)
    if (known !== undefined) return known
    if (this.hasBorrowedBytes) throw needsFetch
    if (this.isSynchronous) {
      return this.keepObject(oid, this.recordOf(oid))
    }
    this.missingObjects.add(oid)
    throw needsFetch
  }

  /** The same for an object that is not asked for again: where the store answers at once, it is not kept. */
  objectOnce(oid: Oid): ObjectView {
    const known = this.views.get(oid)
    if (known !== undefined || !this.isSynchronous || this.hasBorrowedBytes) return known ?? this.object(oid)
    const record = this.recordOf(oid)
    this.objectsRead++
    this.work.spend(objectSteps + ((record?.length ?? 0) >> byteStepsShift))
    return this.viewOf(oid, record)
  }

  private recordOf(oid: Oid): Bytes | undefined {
    targetKey[0] = keySpace.object
    writeOidBytes(oid, targetKey, objectKeyHeaderBytes)
    return atOnce(this.snapshot.view(targetKey, ownBytes))
  }

  objectAt(bytes: Bytes, at: number): ObjectView | undefined {
    const high = readInt32(bytes, at)
    const low = readInt32(bytes, at + 4)
    if (high === 0 && low === 0) return undefined
    if (this.isSynchronous) return this.targetAt(bytes, at, high, low)
    const place = nearPlace(high, low)
    const near = this.near[place]
    if (near?.view !== undefined && near.high === high && near.low === low) return near.view
    const view = this.object(oidFromBytes(bytes, at))
    this.near[place] = { high, low, view, trips: this.trips }
    return view
  }

  ask(bytes: Bytes, at: number): ObjectView | undefined | 'asked' | 'askedBefore' {
    const high = readInt32(bytes, at)
    const low = readInt32(bytes, at + 4)
    if (high === 0 && low === 0) return undefined
    const place = nearPlace(high, low)
    const near = this.near[place]
    if (near?.high === high && near.low === low) {
      if (near.view !== undefined) return near.view
      if (near.trips === this.trips) return 'askedBefore'
    }
    const oid = oidFromBytes(bytes, at)
    const view = this.views.get(oid)
    if (view === undefined) this.missingObjects.add(oid)
    this.near[place] = { high, low, view, trips: this.trips }
    return view ?? 'asked'
  }

  /** The object of an OID in a record, where the store answers at once. */
  private targetAt(bytes: Bytes, at: number, high: number, low: number): ObjectView {
    const known = this.targets.get(high, low)
    if (known !== undefined) return known
    if (this.hasBorrowedBytes) throw needsFetch
    const view = this.readAt(bytes, at)
    if (!this.targets.hasRoomFor(view)) this.targets = new TargetObjects()
    this.targets.add(high, low, view)
    return view
  }

  /** The same for an object that is not asked for again, where the store answers at once: it is not kept. */
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
    const record = atOnce(this.snapshot.view(targetKey, ownBytes))
    return record === undefined
      ? new ObjectView(oidOfObjectKey(targetKey), undefined, undefined, noRecord)
      : this.view(undefined, ownBytes(targetKey), record)
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

  /** Between batches: lets go of what was read before, where it has become much. */
  trim(): void {
    const objects = this.views.size + this.targets.count
    if (objects > keptObjectsMax || this.bytesKept > keptBytesMax) this.forgetObjects()
    if (this.entriesKept <= this.keptEntriesMax) return
    this.memory.chargeStatement(-this.entriesKept * entryBytes)
    this.entries.clear()
    this.counts.clear()
    this.entriesKept = 0
  }

  /** Charged until the statement ends or lets go of them. Throws `needsFetch` for a long list on every store. */
  linkEntries(view: ObjectView, index: number): readonly Entry[] {
    const attribute = view.format?.attributes[index] as AttributeFormat
    const name = nameOfLinks(view, attribute)
    const known = this.entries.get(name)
    if (known !== undefined) return known
    if (this.hasBorrowedBytes) throw needsFetch
    const range = shownRange(view, attribute)
    const entries = this.fewEntries(name, range)
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
    const whole = this.entries.get(nameOfLinks(view, attribute))
    if (whole !== undefined) return this.elements(attribute, isLast ? whole.slice(-max) : whole.slice(0, max))
    if (this.hasBorrowedBytes) throw needsFetch
    const name = `${nameOfLinks(view, attribute)} ${isLast ? 'last' : 'first'} ${max}`
    const range = { ...shownRange(view, attribute), reverse: isLast, limit: max }
    const entries = this.entries.get(name) ?? this.fewEntries(name, range)
    if (entries !== undefined) return this.elements(attribute, isLast ? entries.toReversed() : entries)
    this.missingLinks.set(name, { range })
    throw needsFetch
  }

  linkCount(view: ObjectView, bound: BoundAttribute, max = Number.POSITIVE_INFINITY): number {
    const { index } = bound
    const attribute = view.format?.attributes[index] as AttributeFormat
    const name = nameOfLinks(view, attribute)
    const known = this.entries.get(name)?.length ?? this.counts.get(name)
    if (known !== undefined) return known
    // A row that is begun again before the rest is counted.
    if (this.hasBorrowedBytes || this.missingLinks.get(name)?.counted !== undefined) throw needsFetch
    const range = shownRange(view, attribute)
    if (this.snapshot.visit === undefined) {
      if (max < entriesAtOnce) return this.endLinks(view, bound, { isLast: false, max }).length
      this.missingLinks.set(name, { range, isCounted: true })
    } else {
      const { count: counted, last } = this.countAtOnce(range, Math.min(max, countedAtOnceMax))
      this.linksRead += counted
      this.work.spend(countSteps + counted * keySteps)
      if (counted === max) return counted
      if (last === undefined) return this.keepCount(name, counted)
      this.missingLinks.set(name, {
        range: { ...range, from: Buffer.concat([last, Buffer.from([0])]) },
        isCounted: true,
        counted,
      })
    }
    throw needsFetch
  }

  private countAtOnce(range: KeyRange, max: number): CountedEntries {
    const { snapshot } = this
    if (snapshot.count !== undefined) return snapshot.count(range, max)
    let count = 0
    const last = snapshot.visit?.(range, false, () => ++count < max)
    return { count, last }
  }

  private keepCount(name: string, count: number): number {
    this.charge(1)
    this.counts.set(name, count)
    return count
  }

  /** Where the store answers at once and there are not many. */
  private fewEntries(name: string, range: RangeRead): readonly Entry[] | undefined {
    if (!this.isSynchronous) return undefined
    const { limit = entriesAtOnce } = range
    const entries =
      atOnce(this.snapshot.read([], [{ ...range, limit: Math.min(limit, entriesAtOnce) }])).ranges[0] ?? []
    if (entries.length === entriesAtOnce) return undefined
    this.charge(entries.length + 1)
    return this.keepEntries(name, entries)
  }

  private elements(attribute: AttributeFormat, entries: readonly Entry[]): readonly unknown[] {
    this.memory.chargeRow(entries.length * linkBytes)
    const isMap = attribute.linkStorage === 'map'
    const inOrder = isMap ? inKeyOrder(mapKeyCodec(attribute), entries) : entries
    const elements: unknown[] = []
    for (let at = 0; at < inOrder.length; at += entriesAtOnce) {
      for (const entry of inOrder.slice(at, at + entriesAtOnce)) elements.push(elementOf(attribute, entry))
      this.work.spend(entriesAtOnce * elementSteps)
    }
    return elements
  }

  /** Fetches all that was asked for in vain since the last time. */
  async fetchMissing(): Promise<void> {
    const oids = [...this.missingObjects]
    const missing = [...this.missingLinks]
    this.missingObjects.clear()
    this.missingLinks.clear()
    for (const [name, { range, counted }] of missing) {
      if (counted !== undefined) this.keepCount(name, counted + (await this.countWhole(range)))
    }
    const links = missing.filter(([, { counted }]) => counted === undefined)
    if (oids.length + links.length === 0) return
    this.trips++
    const answer = await this.snapshot.read(
      oids.map(objectKey),
      links.map(([, { range }]) => ({ ...range, limit: Math.min(range.limit ?? entriesAtOnce, entriesAtOnce) })),
    )
    for (const [i, oid] of oids.entries()) this.keepObject(oid, answer.values[i])
    for (const [i, [name, { range, isCounted }]] of links.entries()) {
      const first = answer.ranges[i] ?? []
      if (isCounted === true && first.length === entriesAtOnce) {
        const count = first.length + (await this.countWhole(restAfter(range, first)))
        this.linksRead += first.length
        this.keepCount(name, count)
        continue
      }
      this.charge(first.length + 1)
      this.keepEntries(name, first.length < entriesAtOnce ? first : await this.wholeList(range, first))
    }
  }

  /** Charges each part before the next is read. Throws LimitExceeded and ServerBusy. */
  private async wholeList(range: RangeRead, first: readonly Entry[]): Promise<readonly Entry[]> {
    const entries = [...first]
    const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
    const options = { batch: entriesAtOnce, reverse: range.reverse === true }
    if (range.limit === first.length) return entries
    const limit = range.limit === undefined ? {} : { limit: range.limit - first.length }
    for await (const batch of this.snapshot.scan(restAfter(range, first), copy, { ...options, ...limit })) {
      this.charge(batch.length)
      for (const entry of batch) entries.push(entry)
    }
    return entries
  }

  /** Nothing of it is kept, so no memory is charged: as many as there are can be counted, while the statement may go on. */
  private async countWhole(range: KeyRange): Promise<number> {
    const count = await countRange(this.snapshot, range, { passed: this.check })
    this.linksRead += count
    return count
  }

  private charge(entries: number): void {
    const bytes = entries * entryBytes
    try {
      this.memory.chargeStatement(bytes)
    } catch (error) {
      // Whoever does without them goes on with the memory that there was.
      this.memory.chargeStatement(-bytes)
      throw error
    }
    this.entriesKept += entries
  }

  /** The objects in order, undefined where there is none; read in one trip, and not kept. */
  load(oids: readonly Oid[]): Awaitable<(ObjectView | undefined)[]> {
    const answer = this.snapshot.read(oids.map(objectKey))
    return answer instanceof Promise ? answer.then((read) => this.viewsOf(oids, read)) : this.viewsOf(oids, answer)
  }

  /** So many that they can be loaded at a time. */
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
    return new ObjectView(oid, key, this.formats.ofShape(shapeNumberOf(record)), record)
  }

  private keepObject(oid: Oid, record: Bytes | undefined): ObjectView {
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
    // What is wanted again is read again; where that takes a trip, whatever a batch has asked for is kept until its end.
    if (this.isSynchronous && this.bytesKept + length > keptBytesMax) this.forgetObjects()
    this.bytesKept += length
  }

  private forgetObjects(): void {
    this.views.clear()
    this.targets = new TargetObjects()
    this.near = []
    this.bytesKept = 0
  }

  private keepEntries(name: string, entries: readonly Entry[]): readonly Entry[] {
    this.linksRead += entries.length
    this.work.spend(entries.length * entrySteps)
    this.entries.set(name, entries)
    return entries
  }
}

/** Of a list or set; or a pair of a map. */
function elementOf(attribute: AttributeFormat, entry: Entry): Oid | MapPair {
  if (attribute.linkStorage === 'set') return oidFromBytes(entry.key, linkHeaderBytes)
  if (attribute.linkStorage === 'list') return oidFromBytes(entry.value, 0)
  const { key, target } = readMapEntry(mapKeyCodec(attribute), entry)
  return { key, value: target }
}

function nearPlace(high: number, low: number): number {
  return (low ^ (low >>> 16) ^ high) & (nearPlaces - 1)
}

function atOnce<T>(answer: Awaitable<T>): T {
  assert(!(answer instanceof Promise), 'a store whose reads are immediate answers at once')
  return answer
}

/** Of the two kinds of entries that a paired list has, the one that its order follows. */
function shownKind(attribute: AttributeFormat): number {
  if (attribute.linkStorage === 'list') return linkKind.position
  return attribute.linkStorage === 'set' ? linkKind.target : linkKind.name
}

function nameOfLinks({ oid }: ObjectView, { attribute }: AttributeFormat): string {
  return `${oid} ${attribute.number}`
}

function shownRange({ oid }: ObjectView, attribute: AttributeFormat): KeyRange {
  return linkRange(oid, attribute.attribute.number, shownKind(attribute))
}

/** What follows the last of the entries in the order in which the range is read. */
function restAfter({ from, to, reverse }: RangeRead, read: readonly Entry[]): KeyRange {
  const { key } = read.at(-1) as Entry
  if (reverse === true) return { ...(from === undefined ? {} : { from }), to: key }
  return { from: Buffer.concat([key, Buffer.from([0])]), ...(to === undefined ? {} : { to }) }
}
