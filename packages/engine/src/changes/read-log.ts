/** The change log as it is stored, commit after commit. */
import { type LoggedChange, logEntryBody, loggedChanges, readLogHeader } from '../change-log/log-entry.ts'
import { epochPrefix, type LogKey, logSuffix, readLogKey, truncatedKey } from '../change-log/log-keys.ts'
import { AshlarError } from '../errors.ts'
import { appendedKey, appendedRange } from '../store/append.ts'
import type { Bytes, KeyRange, Snapshot } from '../store/store.ts'
import { type LogPosition, positionText } from './log-position.ts'

/** Changes of one commit that are logged together; a small commit has one part. */
export interface LogPart extends Pick<LogKey, 'epoch' | 'number' | 'part'> {
  /** When the commit was made, by the clock of who made it: milliseconds since 1970. */
  readonly at: number
  readonly isLast: boolean
  /** Of all its entries. */
  readonly bytes: number
  /** To be walked through once. */
  changes(): Generator<LoggedChange, undefined, undefined>
}

/** Parts of a batch of a scan. */
const partsAtOnce = 64

/** The key from which the log goes on behind the position; a part that is not told to its end is read again. */
function keyAfter({ epoch, number, within }: LogPosition): Buffer {
  const prefix = epochPrefix(epoch)
  return within === undefined
    ? appendedKey(prefix, number + 1, Buffer.alloc(0))
    : appendedKey(prefix, number, logSuffix(within.part, 0))
}

/** The parts behind a position, up to the commit of the last number. Throws MalformedRequest for a position within a change, which was never told. */
export async function* logParts(
  snapshot: Snapshot,
  after: LogPosition,
  lastNumber: number,
): AsyncGenerator<LogPart, undefined, undefined> {
  const prefix = epochPrefix(after.epoch)
  const to =
    lastNumber >= Number.MAX_SAFE_INTEGER
      ? appendedRange(prefix).to
      : appendedKey(prefix, lastNumber + 1, Buffer.alloc(0))
  const range: KeyRange = { from: keyAfter(after), to }
  let begun: { readonly key: LogKey; readonly values: Bytes[] } | undefined
  const read = (key: Bytes, value: Bytes) => ({ key: readLogKey(key), value: Buffer.from(value) })
  for await (const batch of snapshot.scan(range, read, { batch: partsAtOnce })) {
    for (const { key, value } of batch) {
      const { isContinued } = readLogHeader(value)
      if (isContinued && begun !== undefined) {
        begun.values.push(value)
        continue
      }
      if (isContinued) throw neverTold(after)
      if (begun !== undefined) yield partOf(begun.key, begun.values)
      begun = { key, values: [value] }
    }
  }
  if (begun !== undefined) yield partOf(begun.key, begun.values)
  return undefined
}

function neverTold(position: LogPosition): AshlarError {
  return new AshlarError('MalformedRequest', `'${positionText(position)}' is not a position that was told.`)
}

function partOf({ epoch, number, part }: LogKey, values: readonly Bytes[]): LogPart {
  const { at } = readLogHeader(values[0] as Bytes)
  const { isLast } = readLogHeader(values.at(-1) as Bytes)
  let bytes = 0
  for (const { length } of values) bytes += length
  const bodies = values.map(logEntryBody)
  const changes = () => loggedChanges(bodies.length === 1 ? (bodies[0] as Buffer) : Buffer.concat(bodies))
  return { epoch, number, part, at, isLast, bytes, changes }
}

/** Of the last commit that is logged; 0 with none. */
export async function lastNumberIn(snapshot: Snapshot, epoch: number): Promise<number> {
  const { ranges } = await snapshot.read([], [{ ...appendedRange(epochPrefix(epoch)), reverse: true, limit: 1 }])
  const last = ranges[0]?.[0]
  return last === undefined ? 0 : readLogKey(last.key).number
}

/** Of the last commit that is no longer there whole; 0 where all are. */
export async function truncatedNumberIn(snapshot: Snapshot, epoch: number): Promise<number> {
  return (await snapshot.view(truncatedKey(epoch), (value) => Number(Buffer.from(value).readBigUInt64BE()))) ?? 0
}
