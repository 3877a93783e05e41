/** One transaction: reads of one snapshot through its own writes, and the commit that they add up to. */
import type {
  Awaitable,
  Bytes,
  Change,
  Commit,
  Entry,
  Expectation,
  KeyRange,
  RangeRead,
  ReadAnswer,
  Snapshot,
} from '../store/store.ts'

/** Thrown where a transaction's own writes already contradict what it expects; a careful attempt finds the reason. */
export class OwnWriteConflict extends Error {
  readonly key: Bytes

  constructor(key: Bytes) {
    super('a transaction contradicts its own writes')
    this.key = key
  }
}

export class Transaction {
  readonly snapshot: Snapshot
  /**
   * False at the first attempt, which expects rather than reads. True after a commit failed: the attempt then
   * reads what it would only have expected, so that it finds the reason and can tell it.
   */
  readonly isCareful: boolean
  private readonly tape: Tape
  private readonly written = new Map<string, Change>()
  private readonly expected = new Map<string, Expectation>()

  constructor(snapshot: Snapshot, isCareful: boolean, tape: Tape) {
    this.snapshot = snapshot
    this.isCareful = isCareful
    this.tape = tape
    tape.rewind()
  }

  /** An allocation (such as an OID) that a further attempt takes over instead of making it again. */
  allocate<T>(make: () => Awaitable<T>): Awaitable<T> {
    return this.tape.play(make)
  }

  get hasChanges(): boolean {
    return this.written.size > 0
  }

  /** Reads through the transaction's own writes. The bytes belong to the caller. */
  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Awaitable<ReadAnswer> {
    if (this.written.size === 0) return this.snapshot.read(keys, ranges)
    const answer = this.snapshot.read(
      keys,
      ranges.map((range) => this.widened(range)),
    )
    return answer instanceof Promise
      ? answer.then((stored) => this.overlaid(stored, keys, ranges))
      : this.overlaid(answer, keys, ranges)
  }

  put(key: Bytes, value: Bytes): void {
    this.written.set(keyText(key), { kind: 'put', key, value })
  }

  delete(key: Bytes): void {
    this.written.set(keyText(key), { kind: 'delete', key })
  }

  /** Expects that nobody else has written the key. Throws OwnWriteConflict when this transaction has. */
  expectAbsent(key: Bytes): void {
    const own = this.written.get(keyText(key))
    if (own?.kind === 'put') throw new OwnWriteConflict(key)
    // A key that this transaction deletes was there, under an expectation of its own.
    if (own === undefined) this.expect('absent', key, { kind: 'absent', key })
  }

  /** Expects the key to be there, in whatever version. Throws OwnWriteConflict when this transaction deletes it. */
  expectPresent(key: Bytes): void {
    const own = this.written.get(keyText(key))
    if (own?.kind === 'delete') throw new OwnWriteConflict(key)
    if (own === undefined) this.expect('present', key, { kind: 'present', key })
  }

  /** Expects the stored value to begin with `prefix`, as first read; what this transaction wrote does not count. */
  expectRevision(key: Bytes, prefix: Bytes): void {
    if (!this.written.has(keyText(key))) this.expect('revision', key, { kind: 'revision', key, prefix })
  }

  private expectRange(range: KeyRange, stored: readonly Entry[], guard: Bytes): void {
    const holds = stored.map((entry) => entry.key)
    const id = `range ${keyText(range.from ?? guard)} ${keyText(range.to ?? guard)}`
    if (!this.expected.has(id)) this.expected.set(id, { kind: 'range', range, holds, guard })
  }

  /** Reads a range through own writes, and expects the store to hold the same keys at the commit; see `Expectation` for `guard`. */
  async readAndExpectRange(range: KeyRange, guard: Bytes): Promise<readonly Entry[]> {
    const stored = (await this.snapshot.read([], [range])).ranges[0] ?? []
    this.expectRange(range, stored, guard)
    return this.written.size === 0 ? stored : this.overlaidRange(stored, range)
  }

  commit(): Commit {
    return { changes: [...this.written.values()], expectations: [...this.expected.values()] }
  }

  private expect(kind: string, key: Bytes, expectation: Expectation): void {
    const id = `${kind} ${keyText(key)}`
    if (!this.expected.has(id)) this.expected.set(id, expectation)
  }

  private ownWritesIn(range: KeyRange): Change[] {
    const own: Change[] = []
    for (const change of this.written.values()) {
      if (range.from !== undefined && Buffer.compare(change.key, range.from) < 0) continue
      if (range.to !== undefined && Buffer.compare(change.key, range.to) >= 0) continue
      own.push(change)
    }
    return own
  }

  /** Asks for as many more entries as own deletions may take away from a limited range. */
  private widened(range: RangeRead): RangeRead {
    if (range.limit === undefined) return range
    const deletions = this.ownWritesIn(range).filter((change) => change.kind === 'delete').length
    return deletions === 0 ? range : { ...range, limit: range.limit + deletions }
  }

  private overlaid(stored: ReadAnswer, keys: readonly Bytes[], ranges: readonly RangeRead[]): ReadAnswer {
    const values = keys.map((key, position) => {
      const own = this.written.get(keyText(key))
      if (own === undefined) return stored.values[position]
      return own.kind === 'put' ? own.value : undefined
    })
    return { values, ranges: ranges.map((range, position) => this.overlaidRange(stored.ranges[position] ?? [], range)) }
  }

  private overlaidRange(stored: readonly Entry[], range: RangeRead): readonly Entry[] {
    const own = this.ownWritesIn(range)
    if (own.length === 0) return stored
    const merged = stored.filter((entry) => !this.written.has(keyText(entry.key)))
    for (const change of own) if (change.kind === 'put') merged.push(change)
    const direction = range.reverse === true ? -1 : 1
    merged.sort((one, other) => direction * Buffer.compare(one.key, other.key))
    return range.limit === undefined ? merged : merged.slice(0, range.limit)
  }
}

/** The allocations of an operation, in order, kept over its attempts. */
export class Tape {
  private readonly recorded: unknown[] = []
  private position = 0

  rewind(): void {
    this.position = 0
  }

  play<T>(make: () => Awaitable<T>): Awaitable<T> {
    const position = this.position++
    if (position < this.recorded.length) return this.recorded[position] as T
    const made = make()
    if (!(made instanceof Promise)) {
      this.recorded[position] = made
      return made
    }
    return made.then((value) => {
      this.recorded[position] = value
      return value
    })
  }
}

function keyText(key: Bytes): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}
