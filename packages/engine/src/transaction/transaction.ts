/** One transaction: reads of one snapshot through its own writes, and the commit that they add up to. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { keySpace } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { type ChangeFrom, logValues, logValuesOfFew } from '../change-log/log-entry.ts'
import { epochPrefix } from '../change-log/log-keys.ts'
import { assert } from '../errors.ts'
import { defaultEngineLimits } from '../limits.ts'
import { PackedChanges, PackedPreconditions, type PackedRows, packedLengthBytes } from '../store/packed-rows.ts'
import { readWholeRange } from '../store/read-range.ts'
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
import { inParts, inTurnsIfLong, openTimeSlice } from '../store/time-slice.ts'
import type { AllocationLog } from './allocation-log.ts'
import { type CommitSize, checkSize } from './commit-size.ts'
import { keyText } from './key-text.ts'
import { OverlaySnapshot } from './overlay-snapshot.ts'
import type { ReadSet } from './read-set.ts'
import { SortedWrites } from './sorted-writes.ts'

/** Thrown where a transaction's own writes already contradict what it requires; a retry finds the cause. */
export class OwnWriteConflict extends Error {
  readonly key: Bytes

  constructor(key: Bytes) {
    super('a transaction contradicts its own writes')
    this.key = key
  }
}

/** Own writes that are sorted before the next look at the clock. */
const writesBetweenLooks = 64

/** Sorted in one go: it takes a few milliseconds. */
const sortedAtOnce = 512

/** Keys that are read in one trip. */
const keysAtOnce = 1_000

/** About what a precondition takes in memory, and a change beside its key and value. */
const preconditionBytes = 80
const changeBytes = 150

/** Of packed rows, what is logged: index entries follow from the objects. */
function areObjects({ keys }: PackedRows): boolean {
  return keys[packedLengthBytes] === keySpace.object
}

/** Changes that are not entered in the map of keys yet; to enter so many takes a millisecond. */
const unnotedMax = 4_096

/** Changes, and preconditions, among which a key is looked for one by one: maps, and the texts of the keys in them, cost more than all else that is done for so few. */
const fewKeys = 8

export class Transaction {
  readonly snapshot: Snapshot
  /**
   * False at the first attempt, which requires rather than reads. True after a commit failed: the attempt then
   * reads what it would only have required, so that it finds the reason and can tell it.
   */
  readonly isRetry: boolean
  /** Of the request: charged with what is written, required and loaded. */
  readonly memory: RequestMemory | undefined
  /** Of a client that may go. */
  readonly signal: CancelSignal | undefined
  /** The epoch of the change log that the commit is written to; 0 for none. */
  logEpoch = 0
  /** See `Commit.summary`. */
  summarize: (() => object | undefined) | undefined = undefined
  private readonly allocations: AllocationLog
  private readonly size: CommitSize
  private writtenBytes = 0
  /** The last of each key, in the order of the first. */
  private readonly changes: ChangeFrom[] = []
  /** By key: where in `changes`. The last ones are entered when a key is looked for. */
  private readonly written = new Map<string, number>()
  /** How many of `changes` are entered. */
  private noted = 0
  /** Made when something is read after a write: most transactions read before they write. */
  private sorted: SortedWrites | undefined
  private readonly preconditions: OwnPrecondition[] = []
  private readonly reads: ReadSet | undefined
  private recording: Snapshot | undefined
  /** Of the snapshot, as long as it was open. */
  private lastCommit: string | undefined
  /** The keys, and for ranges the bounds, of `preconditions`; undefined while these are few. */
  private required: Record<OwnPrecondition['kind'], Set<string>> | undefined
  /** All that is written, as long as nothing else is written or read. */
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

  /** `number`: of a step of a batch, which has allocations of its own. */
  beginStep(number: number): void {
    this.allocations.beginStep(number)
  }

  /** An allocation (such as an OID) that a further attempt takes over; `scope`: what it can stand in for, such as a class. */
  allocate<S extends number, T>(scope: S, make: (scope: S) => Awaitable<T>): Awaitable<T> {
    return this.allocations.replayOrRecord(scope, make)
  }

  /**
   * A transaction on what this one sees that is never committed, and so reads what it would only have required. What it
   * allocates is taken over by this one, step by step.
   */
  rehearsal(): Transaction {
    const { allocations, size, memory, signal, reads } = this
    const snapshot = this.hasChanges ? this.overlay() : this.snapshot
    return new Transaction(snapshot, true, allocations, size, memory, signal, reads)
  }

  /** What the step under way has allocated is taken over by what is allocated next: it was of no use. */
  restartStep(): void {
    this.allocations.restartStep()
  }

  /** After a rehearsal, before anything is allocated here. */
  restartAllocations(): void {
    this.allocations.restart()
  }

  get hasChanges(): boolean {
    return this.packed !== undefined || this.changes.length > 0
  }

  /** Reads through the transaction's own writes. The bytes belong to the caller. */
  async read(keys: readonly Bytes[], ranges?: readonly RangeRead[]): Promise<ReadAnswer> {
    this.unpack()
    if (this.changes.length === 0) return this.snapshot.read(keys, ranges)
    await this.sortMany()
    return this.overlay().read(keys, ranges)
  }

  /** `read` of one key. */
  readOne(key: Bytes): Awaitable<Bytes | undefined> {
    this.unpack()
    if (this.changes.length === 0) return this.snapshot.view(key, copied)
    return this.read([key]).then(({ values: [value] }) => value)
  }

  /** What the transaction sees now: later writes do not show in it. */
  overlay(): OverlaySnapshot {
    this.unpack()
    return new OverlaySnapshot(this.snapshot, this.sortedWrites().all())
  }

  /**
   * The same for statements and steps that read for the client: of a serializable transaction, the commit requires all that is read through it to be
   * unchanged (contract 7.1).
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

  /** Does before the next read what that would do in one piece: there may be hundreds of thousands of writes. Others have turns in between. */
  async sortWrites(): Promise<void> {
    this.unpack()
    const slice = openTimeSlice()
    const sorted = this.sortedWrites()
    while (!sorted.sortSome(writesBetweenLooks)) await slice.yieldIfDue()
  }

  /** Undefined where there are so few to be sorted that it can be done in one go. */
  private sortMany(): Promise<void> | undefined {
    return this.sortedWrites().left > sortedAtOnce ? this.sortWrites() : undefined
  }

  private sortedWrites(): SortedWrites {
    this.sorted ??= new SortedWrites(this.changes)
    return this.sorted
  }

  /**
   * Throws LimitExceeded where the transaction writes too much, as `delete` does. `before`: of a record, a class or an entry of a map that was there, for the
   * change log, see `LoggedChange`.
   */
  put(key: Bytes, value: Bytes, before?: Bytes): void {
    this.write({ kind: 'put', key, value, before })
  }

  delete(key: Bytes, before?: Bytes): void {
    this.write({ kind: 'delete', key, before })
  }

  /** `requireAbsent` and `put`. */
  putNew(key: Bytes, value: Bytes): void {
    const text = this.textOfMany(key)
    const change: Change = { kind: 'put', key, value }
    const own = this.ownChange(key, text)
    if (own?.kind === 'put') throw new OwnWriteConflict(key)
    if (own !== undefined) {
      this.write(change)
      return
    }
    // Not entered among the keys that are required: it is among those that are written.
    if (!this.isRequired('absent', key, text)) this.pushPrecondition({ kind: 'absent', key })
    if (text !== undefined) this.written.set(text, this.noted++)
    this.push(change)
  }

  /** `put` of a key that only this transaction can name, and has not named before: one that has the OID of an object that it creates. */
  putOwn(key: Bytes, value: Bytes): void {
    this.unpack()
    this.push({ kind: 'put', key, value })
    if (this.changes.length - this.noted > unnotedMax) this.noteChanges()
  }

  /**
   * Writes all that this transaction writes, unless it writes something else later: keys that only it can name, and such as it requires to be absent.
   * They are charged already. Throws LimitExceeded.
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

  /** As if they had been written one by one: in one piece, so that whoever writes more beside many rows does not have them packed. */
  private unpack(): void {
    const { packed } = this
    if (packed === undefined) return
    this.packed = undefined
    // What the rows require is not entered, as with `putNew`.
    this.allRequired()
    for (const change of new PackedChanges(packed)) {
      this.changes.push(change)
    }
    for (const absent of new PackedPreconditions([], packed)) this.preconditions.push(absent as OwnPrecondition)
  }

  /** Requires that nobody else has written the key. Throws OwnWriteConflict when this transaction has. */
  requireAbsent(key: Bytes): void {
    const text = this.textOfMany(key)
    const own = this.ownChange(key, text)
    if (own?.kind === 'put') throw new OwnWriteConflict(key)
    // A key that this transaction deletes was there, under a precondition of its own.
    if (own === undefined) this.requireKey({ kind: 'absent', key }, text)
  }

  /** Requires the key to be there, in whatever version. Throws OwnWriteConflict when this transaction deletes it. */
  requirePresent(key: Bytes): void {
    const text = this.textOfMany(key)
    const own = this.ownChange(key, text)
    if (own?.kind === 'delete') throw new OwnWriteConflict(key)
    if (own === undefined) this.requireKey({ kind: 'present', key }, text)
  }

  /** Requires the stored value to begin with `prefix`, as first read; what this transaction wrote does not count. */
  requireRevision(key: Bytes, prefix: Bytes): void {
    const text = this.textOfMany(key)
    if (this.ownChange(key, text) === undefined) this.requireKey({ kind: 'revision', key, prefix }, text)
  }

  /**
   * Requires the key to hold at the commit just what was read of it: `value`, or nothing where that is undefined. What this
   * transaction wrote does not count.
   */
  requireAsRead(key: Bytes, value: Bytes | undefined): void {
    if (value === undefined) this.requireAbsent(key)
    else if (value.length === 0) this.requirePresent(key)
    else this.requireRevision(key, value)
  }

  /** Reads keys through own writes, and requires each to hold the same at the commit. Of very many, others have turns in between. */
  async readAndRequire(keys: readonly Bytes[]): Promise<readonly (Bytes | undefined)[]> {
    const all: (Bytes | undefined)[] = []
    await inParts(keys, keysAtOnce, async (part) => {
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

  /**
   * Reads a range through own writes, and requires the store to hold the same keys at the commit; see `Precondition` for `rangeLockKey`. Where there
   * are very many, others have turns in between.
   */
  async readAndRequireRange(range: KeyRange, rangeLockKey: Bytes): Promise<readonly Entry[]> {
    this.unpack()
    const stored = await readWholeRange(this.snapshot, range)
    this.requireRange(
      range,
      stored.map(({ key }) => key),
      rangeLockKey,
    )
    if (this.changes.length === 0) return stored
    await this.sortMany()
    return this.overlay().mergeRange(stored, range)
  }

  /**
   * The same for values of any size: each entry is passed to `use`, borrowed, the stored ones first, and only keys are held. Gives what `use` gives,
   * in parts.
   */
  async *scanAndRequireRange<T>(
    range: KeyRange,
    rangeLockKey: Bytes,
    use: (key: Bytes, value: Bytes) => T,
  ): AsyncGenerator<readonly T[]> {
    const holds: Buffer[] = []
    this.unpack()
    await this.sortMany()
    const own = this.sortedWrites().all()
    const unwritten = (key: Bytes, value: Bytes): readonly T[] => {
      holds.push(Buffer.from(key))
      return own.find(key) === undefined ? [use(key, value)] : []
    }
    for await (const batch of this.snapshot.scan(range, unwritten)) yield batch.flat(1) as T[]
    this.requireRange(range, holds, rangeLockKey)
    yield Array.from(own.putsIn(range), ({ key, value }) => use(key, value))
  }

  /** What the transaction requires, but for what it has read. */
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
    const known = this.allRequired()[precondition.kind]
    if (known.has(text)) return
    known.add(text)
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

  /** From now on those that are added are entered, but for what `putNew` requires. */
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

  /** `text`: as `textOfMany` has it. */
  private ownChange(key: Bytes, text: string | undefined): Change | undefined {
    const at = this.positionOfKey(key, text)
    return at === undefined ? undefined : this.changes.at(at)
  }

  private positionOfKey(key: Bytes, text: string | undefined): number | undefined {
    if (text !== undefined) return this.positionOf(text)
    const { changes } = this
    for (let at = 0; at < changes.length; at++) if (isSame((changes[at] as ChangeFrom).key, key)) return at
    return undefined
  }

  /** Undefined while the changes are so few that the key is looked for among them itself. */
  private textOfMany(key: Bytes): string | undefined {
    this.unpack()
    return this.noted === 0 && this.changes.length <= fewKeys ? undefined : keyText(key)
  }

  private positionOf(text: string): number | undefined {
    this.noteChanges()
    return this.written.get(text)
  }

  private noteChanges(): void {
    this.unpack()
    while (this.noted < this.changes.length) {
      this.written.set(keyText((this.changes[this.noted] as ChangeFrom).key), this.noted)
      this.noted++
    }
  }

  /** What the commit appends to the change log. In turns with others where that is much. */
  async append(): Promise<Append | undefined> {
    if (this.logEpoch === 0) return undefined
    const changes = this.packed === undefined ? this.changes : new PackedChanges(this.packed.filter(areObjects))
    const now = Date.now()
    const values = logValuesOfFew(changes, now) ?? (await inTurnsIfLong(logValues(changes, now)))
    if (values.length === 0) return undefined
    for (const { length } of values) this.memory?.chargeChange(changeBytes + length)
    return { prefix: epochPrefix(this.logEpoch), values }
  }

  private write(change: ChangeFrom): void {
    this.unpack()
    // The only one of most transactions, which then need no map of keys.
    if (this.changes.length === 0) {
      this.push(change)
      return
    }
    const text = this.textOfMany(change.key)
    const at = this.positionOfKey(change.key, text)
    if (at === undefined) {
      if (text !== undefined) this.written.set(text, this.noted++)
      this.push(change)
    } else {
      const earlier = this.changes[at] as ChangeFrom
      const next = isToldByFirst(change) ? { ...change, before: earlier.before } : change
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

/** What a record, a class or a link was, the first change of it tells, unless a link goes with its object. */
function isToldByFirst({ key, kind, before }: ChangeFrom): boolean {
  const [space] = key
  if (space === keySpace.link) return kind === 'put' || before !== undefined
  return space === keySpace.object || space === keySpace.catalog
}

type KeyPrecondition = Exclude<Precondition, { readonly kind: 'range' | 'unchanged' }>

/** Those that the transaction states itself: what it has read is apart. */
type OwnPrecondition = Exclude<Precondition, { readonly kind: 'unchanged' }>

/** Of its key, or its bounds. */
function textOf(precondition: OwnPrecondition): string {
  if (precondition.kind !== 'range') return keyText(precondition.key)
  const { range, rangeLockKey } = precondition
  return `${keyText(range.from ?? rangeLockKey)} ${keyText(range.to ?? rangeLockKey)}`
}

/** From their ends, where keys of one transaction differ. */
function isSame(one: Bytes, other: Bytes): boolean {
  const { length } = one
  if (other.length !== length) return false
  for (let i = length - 1; i >= 0; i--) if (one[i] !== other[i]) return false
  return true
}
