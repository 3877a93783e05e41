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
 * since 1970. In pieces where there are many changes.
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
    if (key[0] === keySpace.catalog) writer.add(key, before, after)
    else others.push({ key, before, after })
  }
  for (const { key, before, after } of others) {
    writer.add(key, before, after)
    if (++steps % changesAtOnce === 0) yield
  }
  return writer.end()
}

class EntryWriter {
  private readonly now: number
  private readonly entries: AppendedEntry[] = []
  private pending: LoggedChange[] = []
  private bytes = 0

  constructor(now: number) {
    this.now = now
  }

  add(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): void {
    const bytes = bytesOf(key, before, after)
    if (this.bytes > 0 && this.bytes + bytes > entryBytes) this.flush()
    this.pending.push({ key, before, after })
    this.bytes += bytes
  }

  end(): AppendedEntry[] {
    this.flush()
    const last = this.entries.at(-1)
    if (last !== undefined) (last.value as Buffer)[0] = (last.value[0] as number) | isLastFlag
    return this.entries
  }

  private flush(): void {
    if (this.pending.length === 0) return
    const value = Buffer.allocUnsafe(headerBytes + this.bytes)
    value[0] = 0
    value.writeUIntBE(this.now, 1, 6)
    let at = headerBytes
    for (const { key, before, after } of this.pending) {
      value[at] = (before === undefined ? 0 : tagBefore) | (after === undefined ? 0 : tagAfter)
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
    this.pending = []
    this.bytes = 0
    for (let from = 0; from < value.length; from += entryBytesMax) {
      if (from === 0) this.push(value.subarray(0, entryBytesMax))
      else this.pushContinued(value.subarray(from, from + entryBytesMax))
    }
  }

  private pushContinued(rest: Buffer): void {
    const header = Buffer.alloc(headerBytes)
    header[0] = isContinuedFlag
    header.writeUIntBE(this.now, 1, 6)
    this.push(Buffer.concat([header, rest]))
  }

  private push(value: Buffer): void {
    this.entries.push({ suffix: logSuffix(this.entries.length, value.length), value })
  }
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
