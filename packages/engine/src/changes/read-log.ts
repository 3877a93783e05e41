/** Reads the stored change log, commit by commit. */
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
  /** Time of the commit by the clock of its writer: milliseconds since 1970. */
  readonly at: number
  readonly isLast: boolean
  readonly bytes: number
  /** Can be iterated once. */
  changes(): Generator<LoggedChange, undefined, undefined>
}

/** The parts after a position, up to the commit of the last number. Throws MalformedRequest for a position within a change. */
export async function* logParts(
  snapshot: Snapshot,
  after: LogPosition,
  lastNumber: number,
): AsyncGenerator<LogPart, undefined, undefined> {
  const { epoch, number, within } = after
  let pending: AppendedValue[] = []
  const first = within === undefined ? number + 1 : number
  for await (const batch of scanAppended(snapshot, epochPrefix(epoch), first, lastNumber)) {
    for (const one of batch) {
      // A part that was not reported to its end is read again.
      if (one.number === number && one.part < (within?.part ?? 0)) continue
      const { isContinued } = readLogHeader(one.value)
      if (isContinued && pending.length === 0)
        throw new AshlarError('MalformedRequest', `'${positionText(after)}' is not a position of this change log.`)
      if (!isContinued && pending.length > 0) {
        yield partOf(epoch, pending)
        pending = []
      }
      pending.push(one)
    }
  }
  if (pending.length > 0) yield partOf(epoch, pending)
  return undefined
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

/** The number of the last commit in the log; 0 if it is empty. */
export async function lastNumberIn(snapshot: Snapshot, epoch: number): Promise<number> {
  const { ranges } = await snapshot.read([], [{ ...appendedRange(epochPrefix(epoch)), reverse: true, limit: 1 }])
  const last = ranges[0]?.[0]
  return last === undefined ? 0 : readLogKey(last.key).number
}

/** The number of the last commit that is no longer complete; 0 if all are. */
export async function truncatedNumberIn(snapshot: Snapshot, epoch: number): Promise<number> {
  return (await snapshot.view(truncatedKey(epoch), (value) => Number(Buffer.from(value).readBigUInt64BE()))) ?? 0
}
