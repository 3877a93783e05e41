/** The change log as it is stored, commit after commit. */
import { logEntryBody, loggedChanges, readLogHeader } from '../change-log/log-entry.ts'
import { epochPrefix, readLogKey, truncatedKey } from '../change-log/log-keys.ts'
import type { LoggedChange } from '../change-log/logged-change.ts'
import { AshlarError } from '../errors.ts'
import { appendedRange } from '../store/append.ts'
import { type AppendedValue, scanAppended } from '../store/append-blocks.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import { type LogPosition, positionText } from './log-position.ts'

/** Changes of one commit that are logged together; a small commit has one part. */
export interface LogPart extends Omit<AppendedValue, 'value'> {
  readonly epoch: number
  /** When the commit was made, by the clock of who made it: milliseconds since 1970. */
  readonly at: number
  readonly isLast: boolean
  /** Of all its values. */
  readonly bytes: number
  /** To be walked through once. */
  changes(): Generator<LoggedChange, undefined, undefined>
}

/** The parts behind a position, up to the commit of the last number. Throws MalformedRequest for a position within a change, which was never told. */
export async function* logParts(
  snapshot: Snapshot,
  after: LogPosition,
  lastNumber: number,
): AsyncGenerator<LogPart, undefined, undefined> {
  const { epoch, number, within } = after
  let begun: AppendedValue[] = []
  const first = within === undefined ? number + 1 : number
  for await (const batch of scanAppended(snapshot, epochPrefix(epoch), first, lastNumber)) {
    for (const one of batch) {
      // A part that is not told to its end is read again.
      if (one.number === number && one.part < (within?.part ?? 0)) continue
      const { isContinued } = readLogHeader(one.value)
      if (isContinued && begun.length === 0) throw neverTold(after)
      if (!isContinued && begun.length > 0) {
        yield partOf(epoch, begun)
        begun = []
      }
      begun.push(one)
    }
  }
  if (begun.length > 0) yield partOf(epoch, begun)
  return undefined
}

function neverTold(position: LogPosition): AshlarError {
  return new AshlarError('MalformedRequest', `'${positionText(position)}' is not a position that was told.`)
}

function partOf(epoch: number, appended: readonly AppendedValue[]): LogPart {
  const { number, part } = appended[0] as AppendedValue
  const values = appended.map(({ value }) => value)
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
