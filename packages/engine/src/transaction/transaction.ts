/** One transaction: reads of one snapshot with its uncommitted writes, and the commit of these. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { keySpace } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { type ChangeFrom, logValues, logValuesOfFew } from '../change-log/log-entry.ts'
import { epochPrefix } from '../change-log/log-keys.ts'
import { assert } from '../errors.ts'
import { defaultEngineLimits } from '../limits.ts'
import { keyText } from '../store/key-text.ts'
import { PackedChanges, PackedPreconditions, type PackedRows, packedLengthBytes } from '../store/packed-rows.ts'
import { readFullRange } from '../store/read-range.ts'
import type { Sequence } from '../store/sequence.ts'
import type {
  Append,
  Awaitable,
  Bytes,
  Change,
  Commit,
  CommitLock,
  Entry,
  KeyRange,
  Precondition,
  RangeRead,
  ReadAnswer,
  Snapshot,
} from '../store/store.ts'
import { inParts, openTimeSlice, runYieldingIfLong } from '../store/time-slice.ts'
import type { AllocationLog } from './allocation-log.ts'
import { type CommitSize, checkSize } from './commit-size.ts'
import { OverlaySnapshot } from './overlay-snapshot.ts'
import type { ReadSet } from './read-set.ts'
import { SortedWrites } from './sorted-writes.ts'

/** Thrown if a transaction's writes contradict its preconditions; a retry finds the cause. */
export class OwnWriteConflict extends Error {
  readonly key: Bytes

  constructor(key: Bytes) {
    super('a transaction contradicts its own writes')
    this.key = key
  }
}

const writesPerClockCheck = 64

/** Writes sorted without a yield, which takes a few milliseconds. */
const syncSortedMax = 512

const keysPerRead = 1_000

/** Approximate memory for a precondition, and for a change in addition to its key and value. */
const preconditionBytes = 80
const changeBytes = 150

/** Whether packed rows are logged: index entries follow from the objects. */
function areObjects({ keys }: PackedRows): boolean {
  return keys[packedLengthBytes] === keySpace.object
}

/** Maximum number of changes that are not in the map of keys; adding them takes a millisecond. */
const unmappedMax = 4_096

/** Up to this number of changes or preconditions, keys are searched linearly, since maps and key texts would cost more than all else. */
const fewKeys = 8

export class Transaction {
  readonly snapshot: Snapshot
  /**
   * False at the first attempt, which states requirements instead of reading. True after a failed commit: the retry then reads data that it would
   * only have required, so that it finds the reason and can report it.
   */
  readonly isRetry: boolean
  /** Memory of the request, charged for writes, preconditions and loaded objects. */
  readonly memory: RequestMemory | undefined
  readonly signal: CancelSignal | undefined
  /** The epoch of the change log that the commit is written to; 0 for none. */
  logEpoch = 0
  /** See `Commit.summary`. */
  summarize: (() => object | undefined) | undefined = undefined
  private readonly allocations: AllocationLog
  private readonly size: CommitSize
  private writtenBytes = 0
  /** The last change per key, in the order of the first one. */
  private readonly changes: ChangeFrom[] = []
  /** Indexes in `changes` by key. The last changes are added before a search. */
  private readonly written = new Map<string, number>()
  /** Number of `changes` in the map. */
  private mapped = 0
  /** Created by the first read after a write: most transactions read before they write. */
  private sorted: SortedWrites | undefined
  private readonly preconditions: OwnPrecondition[] = []
  private readonly reads: ReadSet | undefined
  private recording: Snapshot | undefined
  /** Of the snapshot, while it was open. */
  private lastCommit: string | undefined
  /** The keys, and for ranges the bounds, of `preconditions`; undefined while there are few. */
  private required: Record<OwnPrecondition['kind'], Set<string>> | undefined
  /** All writes, until anything else is written or read. */
  private packed: readonly PackedRows[] | undefined

  constructor(
    snapshot: Snapshot,
    isRetry: boolean,
    allocations: AllocationLog,
    size: CommitSize = defaultEngineLimits,
    memory?: RequestMemory,
    signal?: CancelSignal,
    reads?: ReadSet,
  ) {
    this.reads = reads
    this.size = size
    this.snapshot = snapshot
    this.memory = memory
    this.signal = signal
    this.isRetry = isRetry
    this.allocations = allocations
    allocations.restart()
  }

  /** `number`: of a step of a batch, which has separate allocations. */
  beginStep(number: number): void {
    this.allocations.beginStep(number)
  }

  /** An allocation (such as an OID) that retries reuse. `scope` identifies interchangeable allocations, such as a class. */
  allocate<S extends number, T>(scope: S, make: (scope: S) => Awaitable<T>): Awaitable<T> {
    return this.allocations.replayOrRecord(scope, make)
  }

  /** A transaction on this one's view that is never committed, so it reads instead of requiring. This one reuses its allocations by step. */
  rehearsal(): Transaction {
    const { allocations, size, memory, signal, reads } = this
    const snapshot = this.hasChanges ? this.overlay() : this.snapshot
    return new Transaction(snapshot, true, allocations, size, memory, signal, reads)
  }

  /** Makes the next allocations reuse the useless ones of the current step. */
  restartStep(): void {
    this.allocations.restartStep()
  }

  /** Must be called after a rehearsal, before any allocation here. */
  restartAllocations(): void {
    this.allocations.restart()
  }

  get hasChanges(): boolean {
    return this.packed !== undefined || this.changes.length > 0
  }

  /** Reads with the transaction's own writes. The bytes belong to the caller. */
  async read(keys: readonly Bytes[], ranges?: readonly RangeRead[]): Promise<ReadAnswer> {
    this.unpack()
    if (this.changes.length === 0) return this.snapshot.read(keys, ranges)
    await this.sortMany()
    return this.overlay().read(keys, ranges)
  }

  /** Like `read` for one key. */
  readOne(key: Bytes): Awaitable<Bytes | undefined> {
    this.unpack()
    if (this.changes.length === 0) return this.snapshot.view(key, copied)
    return this.read([key]).then(({ values: [value] }) => value)
  }

  /** The transaction's current view: later writes are not visible in it. */
  overlay(): OverlaySnapshot {
    this.unpack()
    return new OverlaySnapshot(this.snapshot, this.sortedWrites().all())
  }

  /**
   * Like `overlay`, for statements and steps that read for the client: in a serializable transaction, the commit requires the data read through it to
   * be unchanged (contract 7.1).
   */
  observed(): OverlaySnapshot {
    if (this.reads === undefined) return this.overlay()
    if (this.recording === undefined) {
      this.recording = this.reads.through(this.snapshot)
      this.lastCommit = this.snapshot.lastCommit
    }
    this.unpack()
    return new OverlaySnapshot(this.recording, this.sortedWrites().all())
  }

  /** Sorts the writes with yields before the next read, which would otherwise block: there may be hundreds of thousands. */
  async sortWrites(): Promise<void> {
    this.unpack()
    const slice = openTimeSlice()
    const sorted = this.sortedWrites()
    while (!sorted.sortSome(writesPerClockCheck)) await slice.yieldIfDue()
  }

  /** Undefined if there are so few unsorted writes that no yield is needed. */
  private sortMany(): Promise<void> | undefined {
    return this.sortedWrites().left > syncSortedMax ? this.sortWrites() : undefined
  }

  private sortedWrites(): SortedWrites {
    this.sorted ??= new SortedWrites(this.changes)
    return this.sorted
  }

  /**
   * Throws LimitExceeded if the transaction writes too much, as does `delete`. `before`: the previous value of a record, a class or an entry of a
   * map, for the change log; see `LoggedChange`.
   */
  put(key: Bytes, value: Bytes, before?: Bytes): void {
    this.write({ kind: 'put', key, value, before })
  }

  delete(key: Bytes, before?: Bytes): void {
    this.write({ kind: 'delete', key, before })
  }

  /** Like `requireAbsent` followed by `put`. */
  putNew(key: Bytes, value: Bytes): void {
    const text = this.textOfMany(key)
    const change: Change = { kind: 'put', key, value }
    const own = this.findChange(key, text)
    if (own?.kind === 'put') throw new OwnWriteConflict(key)
    if (own !== undefined) {
      this.write(change)
      return
    }
    // Not in the map of required keys, since it is in the map of written ones.
    if (!this.isRequired('absent', key, text)) this.pushPrecondition({ kind: 'absent', key })
    if (text !== undefined) this.written.set(text, this.mapped++)
    this.push(change)
  }

  /** Like `put`, for a key that only this transaction can name, and has not named before: one with the OID of a new object. */
  putOwn(key: Bytes, value: Bytes): void {
    this.unpack()
    this.push({ kind: 'put', key, value })
    if (this.changes.length - this.mapped > unmappedMax) this.mapChanges()
  }

  /** Whether the object of the key is one that this transaction has created. */
  hasCreated(key: Bytes): boolean {
    const own = this.findChange(key, this.textOfMany(key)) as ChangeFrom | undefined
    return own?.kind === 'put' && own.before === undefined
  }

  /**
   * Writes all rows of this transaction, unless it writes anything else: keys that only it can name, and keys that it requires to be absent. The rows
   * are charged already. Throws LimitExceeded.
   */
  putPacked(all: readonly PackedRows[]): void {
    assert(!this.hasChanges, 'packed rows are the first that a transaction writes')
    const rows = all.reduce((sum, { count }) => sum + count, 0)
    const bytes = all.reduce(
      (sum, { keys, values }) => sum + keys.length + values.length,
      -2 * packedLengthBytes * rows,
    )
    checkSize(rows, bytes, this.size)
    this.writtenBytes += bytes
    this.packed = all
  }

  /** Converts packed rows to single writes, without yields: so work that writes more in addition to many rows must not pack them. */
  private unpack(): void {
    const { packed } = this
    if (packed === undefined) return
    this.packed = undefined
    // Preconditions of the rows are not in the map, as with `putNew`.
    this.allRequired()
    for (const change of new PackedChanges(packed)) {
      this.changes.push(change)
    }
    for (const absent of new PackedPreconditions([], packed)) this.preconditions.push(absent as OwnPrecondition)
  }

  /** Requires that no other transaction has written the key. Throws OwnWriteConflict if this one has. */
  requireAbsent(key: Bytes): void {
    const text = this.textOfMany(key)
    const own = this.findChange(key, text)
    if (own?.kind === 'put') throw new OwnWriteConflict(key)
    // A key that this transaction deletes existed, under a separate precondition.
    if (own === undefined) this.requireKey({ kind: 'absent', key }, text)
  }

  /** Requires the key to exist at any revision. Throws OwnWriteConflict if this transaction deletes it. */
  requirePresent(key: Bytes): void {
    const text = this.textOfMany(key)
    const own = this.findChange(key, text)
    if (own?.kind === 'delete') throw new OwnWriteConflict(key)
    if (own === undefined) this.requireKey({ kind: 'present', key }, text)
  }

  /** Requires the stored value to begin with `prefix`, as first read; writes of this transaction do not count. */
  requireRevision(key: Bytes, prefix: Bytes): void {
    const text = this.textOfMany(key)
    if (this.findChange(key, text) === undefined) this.requireKey({ kind: 'revision', key, prefix }, text)
  }

  /** Requires the stored value at the commit to be the one read; undefined if absent. Writes of this transaction do not count. */
  requireAsRead(key: Bytes, value: Bytes | undefined): void {
    if (value === undefined) this.requireAbsent(key)
    else if (value.length === 0) this.requirePresent(key)
    else this.requireRevision(key, value)
  }

  /** Reads keys with the transaction's own writes, and requires each to be unchanged at the commit. Yields if there are many. */
  async readAndRequire(keys: readonly Bytes[]): Promise<readonly (Bytes | undefined)[]> {
    const all: (Bytes | undefined)[] = []
    await inParts(keys, keysPerRead, async (part) => {
      const { values } = await this.read(part)
      for (const [i, key] of part.entries()) {
        this.requireAsRead(key, values[i])
        all.push(values[i])
      }
    })
    return all
  }

  private requireRange(range: KeyRange, keys: readonly Bytes[], rangeLockKey: Bytes): void {
    const precondition = { kind: 'range', range, keys, rangeLockKey } as const
    this.addPrecondition(textOf(precondition), precondition)
  }

  /** Reads a range with own writes, and requires the same keys at the commit; see `Precondition` for `rangeLockKey`. Yields if there are many. */
  async readAndRequireRange(range: KeyRange, rangeLockKey: Bytes): Promise<readonly Entry[]> {
    this.unpack()
    const stored = await readFullRange(this.snapshot, range)
    this.requireRange(
      range,
      stored.map(({ key }) => key),
      rangeLockKey,
    )
    if (this.changes.length === 0) return stored
    await this.sortMany()
    return this.overlay().mergeRange(stored, range)
  }

  /** Like `readAndRequireRange` for values of any size: passes borrowed entries to `use`, stored ones first. Yields the results in batches. */
  async *scanAndRequireRange<T>(
    range: KeyRange,
    rangeLockKey: Bytes,
    use: (key: Bytes, value: Bytes) => T,
  ): AsyncGenerator<readonly T[]> {
    const keys: Buffer[] = []
    this.unpack()
    await this.sortMany()
    const writes = this.sortedWrites().all()
    const unwritten = (key: Bytes, value: Bytes): readonly T[] => {
      keys.push(Buffer.from(key))
      return writes.find(key) === undefined ? [use(key, value)] : []
    }
    for await (const batch of this.snapshot.scan(range, unwritten)) yield batch.flat(1) as T[]
    this.requireRange(range, keys, rangeLockKey)
    yield Array.from(writes.putsIn(range), ({ key, value }) => use(key, value))
  }

  get requirements(): Sequence<Precondition> {
    const { packed, preconditions } = this
    return packed === undefined ? preconditions : new PackedPreconditions(preconditions, packed)
  }

  commit(append?: Append, lock?: CommitLock): Commit {
    const { packed, reads, lastCommit } = this
    const summary = this.summarize?.()
    const isRequired = (text: string): boolean => this.allRequired().revision.has(text)
    const preconditions =
      reads === undefined ? this.preconditions : [...this.preconditions, ...reads.preconditions(isRequired)]
    if (packed !== undefined) {
      const all = new PackedPreconditions(preconditions, packed)
      return { changes: new PackedChanges(packed), preconditions: all, lastCommit, lock, append, summary }
    }
    return { changes: this.changes, preconditions, lastCommit, lock, append, summary }
  }

  private requireKey(precondition: KeyPrecondition, text: string | undefined): void {
    const { kind, key } = precondition
    if (!this.areFewRequired()) this.addPrecondition(text ?? keyText(key), precondition)
    else if (!this.isRequired(kind, key, text)) this.pushPrecondition(precondition)
  }

  /** `text`: of its key or its bounds. */
  private addPrecondition(text: string, precondition: OwnPrecondition): void {
    const required = this.allRequired()[precondition.kind]
    if (required.has(text)) return
    required.add(text)
    this.pushPrecondition(precondition)
  }

  private isRequired(kind: KeyPrecondition['kind'], key: Bytes, text: string | undefined): boolean {
    if (!this.areFewRequired()) return this.allRequired()[kind].has(text ?? keyText(key))
    for (const one of this.preconditions)
      if (one.kind === kind && isSame((one as KeyPrecondition).key, key)) return true
    return false
  }

  private areFewRequired(): boolean {
    return this.required === undefined && this.preconditions.length < fewKeys
  }

  /** From now on, added preconditions are in the map, except by `putNew`. */
  private allRequired(): Record<OwnPrecondition['kind'], Set<string>> {
    if (this.required !== undefined) return this.required
    const all = {
      revision: new Set<string>(),
      absent: new Set<string>(),
      present: new Set<string>(),
      range: new Set<string>(),
    }
    for (const precondition of this.preconditions) all[precondition.kind].add(textOf(precondition))
    this.required = all
    return all
  }

  private pushPrecondition(precondition: OwnPrecondition): void {
    this.memory?.chargeChange(preconditionBytes)
    this.preconditions.push(precondition)
  }

  /** `text`: result of `textOfMany`. */
  private findChange(key: Bytes, text: string | undefined): Change | undefined {
    const at = this.positionOfKey(key, text)
    return at === undefined ? undefined : this.changes.at(at)
  }

  private positionOfKey(key: Bytes, text: string | undefined): number | undefined {
    if (text !== undefined) return this.positionOf(text)
    const { changes } = this
    for (let at = 0; at < changes.length; at++) if (isSame((changes[at] as ChangeFrom).key, key)) return at
    return undefined
  }

  /** Undefined while the changes are so few that keys are searched linearly. */
  private textOfMany(key: Bytes): string | undefined {
    this.unpack()
    return this.mapped === 0 && this.changes.length <= fewKeys ? undefined : keyText(key)
  }

  private positionOf(text: string): number | undefined {
    this.mapChanges()
    return this.written.get(text)
  }

  private mapChanges(): void {
    this.unpack()
    while (this.mapped < this.changes.length) {
      this.written.set(keyText((this.changes[this.mapped] as ChangeFrom).key), this.mapped)
      this.mapped++
    }
  }

  /** The values that the commit appends to the change log. Yields if there are many. */
  async append(): Promise<Append | undefined> {
    if (this.logEpoch === 0) return undefined
    const changes = this.packed === undefined ? this.changes : new PackedChanges(this.packed.filter(areObjects))
    const now = Date.now()
    const values = logValuesOfFew(changes, now) ?? (await runYieldingIfLong(logValues(changes, now)))
    if (values.length === 0) return undefined
    for (const { length } of values) this.memory?.chargeChange(changeBytes + length)
    return { prefix: epochPrefix(this.logEpoch), values }
  }

  private write(change: ChangeFrom): void {
    this.unpack()
    // Most transactions have a single write, and need no map of keys.
    if (this.changes.length === 0) {
      this.push(change)
      return
    }
    const text = this.textOfMany(change.key)
    const at = this.positionOfKey(change.key, text)
    if (at === undefined) {
      if (text !== undefined) this.written.set(text, this.mapped++)
      this.push(change)
    } else {
      const earlier = this.changes[at] as ChangeFrom
      const next = keepsFirstBefore(change) ? { ...change, before: earlier.before } : change
      this.changes[at] = next
      this.sorted?.noteReplaced(at, next)
      this.count(next)
    }
  }

  private push(change: ChangeFrom): void {
    this.changes.push(change)
    this.count(change)
  }

  private count(change: Change): void {
    const bytes = change.key.length + (change.kind === 'put' ? change.value.length : 0)
    this.memory?.chargeChange(changeBytes + bytes)
    this.writtenBytes += bytes
    checkSize(this.changes.length, this.writtenBytes, this.size)
  }
}

function copied(value: Bytes): Buffer {
  return Buffer.from(value)
}

/** Whether `before` of the first change of a key is retained: for records, classes and links, unless a link is removed with its object. */
function keepsFirstBefore({ key, kind, before }: ChangeFrom): boolean {
  const [space] = key
  if (space === keySpace.link) return kind === 'put' || before !== undefined
  return space === keySpace.object || space === keySpace.catalog
}

type KeyPrecondition = Exclude<Precondition, { readonly kind: 'range' | 'unchanged' }>

/** Preconditions stated by the transaction, without recorded reads. */
type OwnPrecondition = Exclude<Precondition, { readonly kind: 'unchanged' }>

/** Of its key, or its bounds. */
function textOf(precondition: OwnPrecondition): string {
  if (precondition.kind !== 'range') return keyText(precondition.key)
  const { range, rangeLockKey } = precondition
  return `${keyText(range.from ?? rangeLockKey)} ${keyText(range.to ?? rangeLockKey)}`
}

/** Compared backwards, since keys of one transaction differ at their ends. */
function isSame(one: Bytes, other: Bytes): boolean {
  const { length } = one
  if (other.length !== length) return false
  for (let i = length - 1; i >= 0; i--) if (one[i] !== other[i]) return false
  return true
}
