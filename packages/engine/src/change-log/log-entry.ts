/** The values of the change log: the entries changed by a commit, before and after. Part of the storage format. */
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

/** A change in a transaction; `before`: see `LoggedChange`. */
export type ChangeFrom = Change & { readonly before?: Bytes | undefined }

/** Approximate size of a log entry; one with a single change may be larger. */
const entryBytes = 65_536
/** A change that exceeds this size is continued in the next entry. */
const entryBytesMax = 1_048_576

const headerBytes = 7
const isLastFlag = 1
const isContinuedFlag = 2

const changesPerYield = 1_000
const fewChanges = 32
const nothing: readonly Bytes[] = []

/** Parts of the catalog; other parts describe changes in progress. */
const loggedParts: ReadonlySet<number> = new Set([
  catalogPart.version,
  catalogPart.counters,
  catalogPart.class,
  catalogPart.shape,
  catalogPart.index,
  catalogPart.sequence,
])

/** Whether the change is logged: only records, links, the catalog and sequences are; the rest is derived or internal to processes. */
function isLogged(change: ChangeFrom): boolean {
  const { key, kind, before } = change
  const space = key[0]
  // Not if the same transaction created and removed it.
  if (space === keySpace.object) return kind === 'put' || before !== undefined
  // Not if it was removed and restored unchanged.
  if (space === keySpace.link)
    return kind === 'delete' || before === undefined || Buffer.compare(before, change.value) !== 0
  if (space === keySpace.sequence) return true
  return space === keySpace.catalog && loggedParts.has(key[1] as number)
}

/** The previous value to log: none for a link that is put. */
function loggedBefore({ key, kind, before }: ChangeFrom): Bytes | undefined {
  return kind === 'put' && key[0] === keySpace.link ? undefined : before
}

/** The values that log a commit; changes of the catalog first. `now`: milliseconds since 1970. Yields for many or long changes. */
export function* logValues(changes: Sequence<ChangeFrom>, now: number): Generator<undefined, Bytes[], undefined> {
  const writer = new EntryWriter(now)
  let steps = 0
  // Two passes, since buffering the rest would take several times the memory. Packed rows never contain the catalog.
  for (const isCatalog of changes instanceof PackedChanges ? [false] : [true, false]) {
    for (const change of changes) {
      if (++steps % changesPerYield === 0) yield
      if (!isLogged(change) || (change.key[0] === keySpace.catalog) !== isCatalog) continue
      const long = writer.add(change.key, loggedBefore(change), change.kind === 'put' ? change.value : undefined)
      if (long !== undefined) yield* long
    }
  }
  return yield* writer.end()
}

/** Scratch buffer for values whose length is not known yet. */
const scratch = Buffer.allocUnsafeSlow(entryBytes)

/** Like `logValues`, synchronously; undefined if there are too many changes, or changes of the catalog, which come first. */
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

/** Returns the end offset. */
function writeHeader(to: Buffer, now: number, flags = 0): number {
  to[0] = flags
  return writeUint32(to, writeUint16(to, 1, Math.floor(now / 2 ** 32)), now % 2 ** 32)
}

type Steps = Generator<undefined, void, undefined>

class EntryWriter {
  private readonly now: number
  private readonly values: Buffer[] = []
  private pending: LoggedChange[] = []
  private bytes = 0

  constructor(now: number) {
    this.now = now
  }

  /** Returns work to do before the next call, if a change is long. */
  add(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): Steps | undefined {
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

  private flush(): Steps | undefined {
    const { pending, bytes } = this
    this.pending = []
    this.bytes = 0
    const [first] = pending
    if (first === undefined) return undefined
    // Only a single change can be this long.
    if (headerBytes + bytes > entryBytesMax) return this.pushLong(first, bytes)
    const value = Buffer.allocUnsafe(headerBytes + bytes)
    let at = writeHeader(value, this.now)
    for (const { key, before, after } of pending) at = writeChange(value, at, key, before, after)
    this.values.push(value.subarray(0, at))
    return undefined
  }

  private *pushLong(change: LoggedChange, bytes: number): Steps {
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
  readonly isLast: boolean
  /** It continues a change of the previous entry. */
  readonly isContinued: boolean
  /** Time of the commit by the clock of its writer: milliseconds since 1970. */
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

/** The part after the header. */
export function logEntryBody(value: Bytes): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.length).subarray(headerBytes)
}

/** The changes of an entry, joined with the entries that continue it. */
export function* loggedChanges(body: Buffer): Generator<LoggedChange, undefined, undefined> {
  const reader = new ChangeReader(body)
  while (!reader.isAtEnd) yield reader.next()
  return undefined
}
