/** Records the reads of statements and steps of a transaction, so that its commit can require them to be unchanged (contract 7.1). */
import type { RequestMemory } from '../budget/request-memory.ts'
import { keySpace } from '../bytes/key-space.ts'
import { keyText } from '../store/key-text.ts'
import { RangeContent } from '../store/range-content.ts'
import type {
  Awaitable,
  Bytes,
  KeyRange,
  Precondition,
  RangeRead,
  ReadAnswer,
  ScanOptions,
  Snapshot,
  UnchangedRange,
} from '../store/store.ts'

/** A record begins with its shape and its revision (records/record-format.ts), which change with the object. */
const recordHeadBytes = 12

/** Not less than the length of any value. */
const entireValue = 0x3fff_ffff

/** Approximate memory for a recorded key or range, in addition to its bytes. */
const recordedBytes = 150

const afterKey = Buffer.of(0)

export class ReadSet {
  private readonly memory: RequestMemory | undefined
  /** The first bytes of the value; undefined if the key was absent. */
  private readonly keys = new Map<string, Bytes | undefined>()
  private readonly ranges = new Map<string, UnchangedRange>()

  /** `memory`: of the request, charged with the recorded reads. */
  constructor(memory: RequestMemory | undefined) {
    this.memory = memory
  }

  /** A snapshot that records the reads made through it. Its `release` does nothing. */
  through(snapshot: Snapshot): Snapshot {
    return new RecordingSnapshot(snapshot, this)
  }

  noteKey(key: Bytes, value: Bytes | undefined): void {
    const text = keyText(key)
    if (this.keys.has(text)) return
    const space = key[0]
    if (value !== undefined && space !== keySpace.object && space !== keySpace.index) {
      // Values of maps have no revision and no fixed length, so a prefix does not identify a value.
      const seen = new SeenRange({ from: key, to: Buffer.concat([key, afterKey]) })
      seen.add(key, value)
      this.noteRange(seen.entire())
      return
    }
    const head = value && copyOf(value, space === keySpace.object ? recordHeadBytes : value.length)
    this.memory?.chargeChange(recordedBytes + key.length)
    this.keys.set(text, head)
  }

  noteRange(range: UnchangedRange): void {
    const { from, to } = range.range
    const text = `${from?.length ?? -1} ${from ? keyText(from) : ''}${to ? keyText(to) : ''}`
    const recorded = this.ranges.get(text)
    if (recorded !== undefined && recorded.valueBytes >= range.valueBytes) return
    this.memory?.chargeChange(recordedBytes + text.length + range.content.length)
    this.ranges.set(text, range)
  }

  /** `isRequired`: whether the transaction requires the revision of the key anyway. */
  *preconditions(isRequired: (text: string) => boolean): Generator<Precondition> {
    for (const [text, prefix] of this.keys) {
      if (prefix === undefined) yield { kind: 'absent', key: Buffer.from(text, 'latin1') }
      else if (!isRequired(text)) yield { kind: 'revision', key: Buffer.from(text, 'latin1'), prefix }
    }
    yield* this.ranges.values()
  }
}

function copyOf(bytes: Bytes, length: number): Buffer {
  const copy = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at++) copy[at] = bytes[at] as number
  return copy
}

class RecordingSnapshot implements Snapshot {
  private readonly below: Snapshot
  private readonly reads: ReadSet

  constructor(below: Snapshot, reads: ReadSet) {
    this.below = below
    this.reads = reads
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined> {
    let isThere = false
    const used = this.below.view(key, (value) => {
      isThere = true
      this.reads.noteKey(key, value)
      return use(value)
    })
    if (used instanceof Promise) {
      return used.then((result) => {
        if (!isThere) this.reads.noteKey(key, undefined)
        return result
      })
    }
    if (!isThere) this.reads.noteKey(key, undefined)
    return used
  }

  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Awaitable<ReadAnswer> {
    const answer = this.below.read(keys, ranges)
    return answer instanceof Promise
      ? answer.then((found) => this.noted(keys, ranges, found))
      : this.noted(keys, ranges, answer)
  }

  private noted(keys: readonly Bytes[], ranges: readonly RangeRead[], answer: ReadAnswer): ReadAnswer {
    for (const [i, key] of keys.entries()) this.reads.noteKey(key, answer.values[i])
    for (const [i, range] of ranges.entries()) {
      const { reverse = false, limit } = range
      const entries = answer.ranges[i] ?? []
      const isComplete = entries.length !== limit
      if (entries.length === 0 && !isComplete) continue
      const seen = new SeenRange(reverse && !isComplete ? { ...range, from: entries.at(-1)?.key ?? noKey } : range)
      for (const { key, value } of reverse ? [...entries].reverse() : entries) seen.add(key, value)
      this.reads.noteRange(isComplete || reverse ? seen.entire() : seen.upToLast())
    }
    return answer
  }

  scan<T>(range: KeyRange, use: (key: Bytes, value: Bytes) => T, options: ScanOptions = {}): AsyncIterable<T[]> {
    return options.isEstimate === true ? this.below.scan(range, use, options) : this.scanNoted(range, use, options)
  }

  private async *scanNoted<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions,
  ): AsyncGenerator<T[]> {
    const seen = new SeenRange(range, options.keysOnly)
    let count = 0
    let last: Buffer | undefined
    let isComplete = false
    const noted = (key: Bytes, value: Bytes): T => {
      count++
      if (options.reverse !== true) seen.add(key, value)
      else if (last?.length === key.length) last.set(key)
      else last = Buffer.from(key)
      return use(key, value)
    }
    try {
      yield* this.below.scan(range, noted, options)
      isComplete = count !== options.limit
    } finally {
      if (options.reverse !== true) this.reads.noteRange(isComplete ? seen.entire() : seen.upToLast())
      else if (isComplete) await this.noteReversed(range, options)
      else if (last !== undefined) await this.noteReversed({ ...range, from: last }, options)
    }
  }

  /** The content is computed in key order: the range is read again, since it may be too long to be buffered. */
  private async noteReversed(range: KeyRange, { keysOnly, slice }: ScanOptions): Promise<void> {
    const seen = new SeenRange(range, keysOnly)
    const options = { ...(keysOnly === true && { keysOnly }), ...(slice && { slice }) }
    const batches = this.below.scan(range, (key, value) => seen.add(key, value), options)
    for await (const batch of batches) void batch
    this.reads.noteRange(seen.entire())
  }

  release(): void {}
}

const noKey = Buffer.alloc(0)

class SeenRange {
  private count = 0
  private readonly range: KeyRange
  private readonly valueBytes: number
  private readonly content: RangeContent
  private last: Buffer | undefined

  constructor({ from, to }: KeyRange, keysOnly = false) {
    this.range = { ...(from && { from: Buffer.from(from) }), ...(to && { to: Buffer.from(to) }) }
    const areObjects = from?.[0] === keySpace.object
    this.valueBytes = keysOnly ? 0 : areObjects ? recordHeadBytes : entireValue
    this.content = new RangeContent(this.valueBytes)
  }

  add(key: Bytes, value: Bytes): void {
    this.count++
    this.content.add(key, value)
    // A copy of each key would cost more than everything else.
    if (this.last?.length === key.length) this.last.set(key)
    else this.last = Buffer.from(key)
  }

  entire(): UnchangedRange {
    const { range, count, valueBytes } = this
    return { kind: 'unchanged', range, count, valueBytes, content: this.content.bytes() }
  }

  /** The part up to the last entry passed on; empty if there was none. */
  upToLast(): UnchangedRange {
    const { range, last } = this
    const to = last === undefined ? (range.from ?? noKey) : Buffer.concat([last, afterKey])
    return { ...this.entire(), range: { ...range, to } }
  }
}
