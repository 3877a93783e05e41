/** The values of the change log: what a commit changed, as entries of the store before and after. Part of the storage format. */
import { catalogPart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { assert } from '../errors.ts'
import type { AppendedEntry, Bytes, Change } from '../store/store.ts'
import { logSuffix } from './log-keys.ts'

/** A change of one entry, as it is logged. */
export interface LoggedChange {
  readonly key: Bytes
  /**
   * What the entry held: of a record always. Of a link that is removed, what was known of it: empty where that was nothing, absent where it goes with
   * its object.
   */
  readonly before: Bytes | undefined
  /** Absent where the entry is removed. */
  readonly after: Bytes | undefined
}

/** A change in a transaction; `before` as above. */
export type ChangeFrom = Change & { readonly before?: Bytes | undefined }

/** An entry of the log is about so large; one with a single change may be larger. */
const entryBytes = 65_536
/** A change that takes more is continued in the next entry. */
const entryBytesMax = 1_048_576

const headerBytes = 7
const isLastFlag = 1
const isContinuedFlag = 2

const tagBefore = 1
const tagAfter = 2

const changesAtOnce = 1_000

/** Whether a change of the entry is logged: records, links and the catalog are; the rest follows from them, or belongs to processes. */
function isLogged(key: Bytes): boolean {
  const [space, part] = key
  if (space === keySpace.object || space === keySpace.link) return true
  return space === keySpace.catalog && part !== undefined && part <= catalogPart.index
}

/**
 * The entries that log a commit; none where nothing of it is logged. The catalog comes first, the rest in the order of the changes. `now`: milliseconds
 * since 1970. In pieces where there are many changes, or long ones.
 */
export function* logEntries(
  changes: Iterable<ChangeFrom>,
  now: number,
): Generator<undefined, AppendedEntry[], undefined> {
  const writer = new EntryWriter(now)
  let steps = 0
  const others: LoggedChange[] = []
  for (const change of changes) {
    if (++steps % changesAtOnce === 0) yield
    const { key, before } = change
    if (!isLogged(key)) continue
    const after = change.kind === 'put' ? change.value : undefined
    // Made and removed by the same transaction.
    if (after === undefined && before === undefined && key[0] === keySpace.object) continue
    if (key[0] !== keySpace.catalog) {
      others.push({ key, before, after })
      continue
    }
    const long = writer.add(key, before, after)
    if (long !== undefined) yield* long
  }
  for (const { key, before, after } of others) {
    const long = writer.add(key, before, after)
    if (long !== undefined) yield* long
    if (++steps % changesAtOnce === 0) yield
  }
  return yield* writer.end()
}

type Pieces = Generator<undefined, void, undefined>

class EntryWriter {
  private readonly now: number
  private readonly entries: AppendedEntry[] = []
  private pending: LoggedChange[] = []
  private bytes = 0

  constructor(now: number) {
    this.now = now
  }

  /** What is still to be done before the next is added, where that is long. */
  add(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): Pieces | undefined {
    const bytes = bytesOf(key, before, after)
    const flushed = this.bytes > 0 && this.bytes + bytes > entryBytes ? this.flush() : undefined
    this.pending.push({ key, before, after })
    this.bytes += bytes
    return flushed
  }

  *end(): Generator<undefined, AppendedEntry[], undefined> {
    const flushed = this.flush()
    if (flushed !== undefined) yield* flushed
    const last = this.entries.at(-1)
    if (last !== undefined) (last.value as Buffer)[0] = (last.value[0] as number) | isLastFlag
    return this.entries
  }

  private flush(): Pieces | undefined {
    const { pending, bytes } = this
    this.pending = []
    this.bytes = 0
    if (pending.length === 0) return undefined
    if (headerBytes + bytes > entryBytesMax) return this.pushInPieces(pending, bytes)
    const value = Buffer.allocUnsafe(headerBytes + bytes)
    let at = this.writeHeader(value, 0)
    for (const { key, before, after } of pending) {
      value[at] = tagsOf(before, after)
      at = value.writeUInt16BE(key.length, at + 1)
      value.set(key, at)
      at += key.length
      for (const one of [before, after]) {
        if (one === undefined) continue
        at = value.writeUInt32BE(one.length, at)
        value.set(one, at)
        at += one.length
      }
    }
    this.push(value)
    return undefined
  }

  /** A long change, in several entries. */
  private *pushInPieces(changes: readonly LoggedChange[], bytes: number): Pieces {
    let left = bytes
    let value = Buffer.allocUnsafe(entryBytesMax)
    let at = this.writeHeader(value, 0)
    for (const part of partsOf(changes)) {
      for (let from = 0; from < part.length; ) {
        if (at === value.length) {
          this.push(value)
          yield
          value = Buffer.allocUnsafe(headerBytes + Math.min(left, entryBytesMax))
          at = this.writeHeader(value, isContinuedFlag)
        }
        const to = Math.min(part.length, from + value.length - at)
        value.set(part.subarray(from, to), at)
        at += to - from
        left -= to - from
        from = to
      }
    }
    this.push(value)
  }

  /** Returns where the rest begins. */
  private writeHeader(value: Buffer, flags: number): number {
    value[0] = flags
    return value.writeUIntBE(this.now, 1, 6)
  }

  private push(value: Buffer): void {
    this.entries.push({ suffix: logSuffix(this.entries.length, value.length), value })
  }
}

/** The bytes of the changes, one after the other. */
function* partsOf(changes: readonly LoggedChange[]): Generator<Bytes> {
  for (const { key, before, after } of changes) {
    const head = Buffer.allocUnsafe(3)
    head[0] = tagsOf(before, after)
    head.writeUInt16BE(key.length, 1)
    yield head
    yield key
    for (const one of [before, after]) {
      if (one === undefined) continue
      const length = Buffer.allocUnsafe(4)
      length.writeUInt32BE(one.length)
      yield length
      yield one
    }
  }
}

function tagsOf(before: Bytes | undefined, after: Bytes | undefined): number {
  return (before === undefined ? 0 : tagBefore) | (after === undefined ? 0 : tagAfter)
}

function bytesOf(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): number {
  return 3 + key.length + (before === undefined ? 0 : 4 + before.length) + (after === undefined ? 0 : 4 + after.length)
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

/** The changes of an entry, put together with those that continue it. The bytes of changes are views of it. */
export function* loggedChanges(body: Buffer): Generator<LoggedChange, undefined, undefined> {
  for (let at = 0; at < body.length; ) {
    const tag = body[at] as number
    const keyLength = body.readUInt16BE(at + 1)
    at += 3
    const key = body.subarray(at, at + keyLength)
    at += keyLength
    const read = (bit: number): Buffer | undefined => {
      if ((tag & bit) === 0) return undefined
      const length = body.readUInt32BE(at)
      const value = body.subarray(at + 4, at + 4 + length)
      at += 4 + length
      return value
    }
    yield { key, before: read(tagBefore), after: read(tagAfter) }
    assert(at <= body.length, 'an entry of the change log holds its changes whole')
  }
  return undefined
}
