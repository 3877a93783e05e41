/** The values of the change log: what a commit changed, as entries of the store before and after. Part of the storage format. */
import { catalogPart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { PackedChanges } from '../store/packed-rows.ts'
import type { Sequence } from '../store/sequence.ts'
import type { Bytes, Change } from '../store/store.ts'
import {
  ChangeReader,
  changeBytesMax,
  type LoggedChange,
  longChangeParts,
  writeChange,
  writeUint16,
  writeUint32,
} from './logged-change.ts'

/** A change in a transaction; `before` as above. */
export type ChangeFrom = Change & { readonly before?: Bytes | undefined }

/** An entry of the log is about so large; one with a single change may be larger. */
const entryBytes = 65_536
/** A change that takes more is continued in the next entry. */
const entryBytesMax = 1_048_576

const headerBytes = 7
const isLastFlag = 1
const isContinuedFlag = 2

const changesAtOnce = 1_000
/** Of a commit that is logged at once. */
const fewChanges = 32
const nothing: readonly Bytes[] = []

/** Of the catalog; the others are of what is under way. */
const loggedParts: ReadonlySet<number> = new Set([
  catalogPart.version,
  catalogPart.counters,
  catalogPart.class,
  catalogPart.shape,
  catalogPart.index,
  catalogPart.sequence,
])

/** Whether it is logged: changes of records, links, the catalog and sequences are; the rest follows from them, or belongs to processes. */
function isLogged(change: ChangeFrom): boolean {
  const { key, kind, before } = change
  const space = key[0]
  // Not where it was made and is removed by the same transaction.
  if (space === keySpace.object) return kind === 'put' || before !== undefined
  // Not where it was removed and is put again as it was.
  if (space === keySpace.link) return kind === 'delete' || before === undefined || !areSame(before, change.value)
  if (space === keySpace.sequence) return true
  return space === keySpace.catalog && loggedParts.has(key[1] as number)
}

/** What is logged of it: of a link that is put, what it is now. */
function loggedBefore({ key, kind, before }: ChangeFrom): Bytes | undefined {
  return kind === 'put' && key[0] === keySpace.link ? undefined : before
}

function areSame(one: Bytes, other: Bytes): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i])
}

/**
 * The values that log a commit; none where nothing of it is logged. The catalog comes first, the rest in the order of the changes. `now`: milliseconds
 * since 1970. In pieces where there are many changes, or long ones.
 */
export function* logValues(changes: Sequence<ChangeFrom>, now: number): Generator<undefined, Bytes[], undefined> {
  const writer = new EntryWriter(now)
  let steps = 0
  // Twice through all of them: to hold the others meanwhile would take several times as much as they do. Packed rows are no part of the catalog.
  for (const isCatalog of changes instanceof PackedChanges ? [false] : [true, false]) {
    for (const change of changes) {
      if (++steps % changesAtOnce === 0) yield
      if (!isLogged(change) || (change.key[0] === keySpace.catalog) !== isCatalog) continue
      const long = writer.add(change.key, loggedBefore(change), change.kind === 'put' ? change.value : undefined)
      if (long !== undefined) yield* long
    }
  }
  return yield* writer.end()
}

/** Where a value is made before it is known how long it is. */
const scratch = Buffer.allocUnsafeSlow(entryBytes)

/** The same at once; undefined where that is not possible: where there is much, or something of the catalog, which comes first. */
export function logValuesOfFew(changes: Sequence<ChangeFrom>, now: number): readonly Bytes[] | undefined {
  if (changes.length > fewChanges) return undefined
  let at = writeHeader(scratch, now)
  for (const change of changes) {
    if (!isLogged(change)) continue
    const { key } = change
    const before = loggedBefore(change)
    const after = change.kind === 'put' ? change.value : undefined
    if (key[0] === keySpace.catalog || at + changeBytesMax(key, before, after) > scratch.length) return undefined
    at = writeChange(scratch, at, key, before, after)
  }
  if (at === headerBytes) return nothing
  scratch[0] = isLastFlag
  return [Buffer.from(scratch.subarray(0, at))]
}

/** Returns where it ends. */
function writeHeader(to: Buffer, now: number, flags = 0): number {
  to[0] = flags
  return writeUint32(to, writeUint16(to, 1, Math.floor(now / 2 ** 32)), now % 2 ** 32)
}

type Pieces = Generator<undefined, void, undefined>

class EntryWriter {
  private readonly now: number
  private readonly values: Buffer[] = []
  private pending: LoggedChange[] = []
  private bytes = 0

  constructor(now: number) {
    this.now = now
  }

  /** What is still to be done before the next is added, where that is long. */
  add(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): Pieces | undefined {
    const bytes = changeBytesMax(key, before, after)
    const flushed = this.bytes > 0 && this.bytes + bytes > entryBytes ? this.flush() : undefined
    this.pending.push({ key, before, after })
    this.bytes += bytes
    return flushed
  }

  *end(): Generator<undefined, Bytes[], undefined> {
    const flushed = this.flush()
    if (flushed !== undefined) yield* flushed
    const last = this.values.at(-1)
    if (last !== undefined) last[0] = (last[0] as number) | isLastFlag
    return this.values
  }

  private flush(): Pieces | undefined {
    const { pending, bytes } = this
    this.pending = []
    this.bytes = 0
    const [first] = pending
    if (first === undefined) return undefined
    // Of several changes, none takes so much.
    if (headerBytes + bytes > entryBytesMax) return this.pushInPieces(first, bytes)
    const value = Buffer.allocUnsafe(headerBytes + bytes)
    let at = writeHeader(value, this.now)
    for (const { key, before, after } of pending) at = writeChange(value, at, key, before, after)
    this.values.push(value.subarray(0, at))
    return undefined
  }

  /** A long change, in several entries. */
  private *pushInPieces(change: LoggedChange, bytes: number): Pieces {
    let left = bytes
    let value = Buffer.allocUnsafe(entryBytesMax)
    let at = writeHeader(value, this.now)
    for (const part of longChangeParts(change)) {
      for (let from = 0; from < part.length; ) {
        if (at === value.length) {
          this.values.push(value)
          yield
          value = Buffer.allocUnsafe(headerBytes + Math.min(left, entryBytesMax))
          at = writeHeader(value, this.now, isContinuedFlag)
        }
        const to = Math.min(part.length, from + value.length - at)
        value.set(part.subarray(from, to), at)
        at += to - from
        left -= to - from
        from = to
      }
    }
    this.values.push(value)
  }
}

export interface LogEntryHeader {
  /** The last one of its commit. */
  readonly isLast: boolean
  /** It goes on where the one before it ended, in the middle of a change. */
  readonly isContinued: boolean
  /** When the commit was made, by the clock of who made it: milliseconds since 1970. */
  readonly at: number
}

export function readLogHeader(value: Bytes): LogEntryHeader {
  const buffer = Buffer.from(value.buffer, value.byteOffset, value.length)
  const flags = buffer[0] as number
  return {
    isLast: (flags & isLastFlag) !== 0,
    isContinued: (flags & isContinuedFlag) !== 0,
    at: buffer.readUIntBE(1, 6),
  }
}

/** What follows the header. */
export function logEntryBody(value: Bytes): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.length).subarray(headerBytes)
}

/** The changes of an entry, put together with those that continue it. */
export function* loggedChanges(body: Buffer): Generator<LoggedChange, undefined, undefined> {
  const reader = new ChangeReader(body)
  while (!reader.isAtEnd) yield reader.next()
  return undefined
}
