/** Reads the change log from incremental backups, commit by commit. */
import type { CancelSignal } from '../cancel-signal.ts'
import { logEntryBody, loggedChanges, readLogHeader } from '../change-log/log-entry.ts'
import type { LoggedChange } from '../change-log/logged-change.ts'
import { appendedNumber } from '../store/append.ts'
import type { Bytes } from '../store/store.ts'
import { type EntryFileSummary, readEntryFile } from './entry-file.ts'

/** The end of a restore: the last commit number to apply, or the time after which commits are not applied. */
export interface RestoreEnd {
  readonly number?: number | undefined
  /** Milliseconds since 1970. */
  readonly at?: number | undefined
}

export interface LoggedBackup {
  readonly path: string
  readonly file: EntryFileSummary
}

export interface LoggedPart {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  changes(): Generator<LoggedChange, undefined, undefined>
}

/** A large commit is yielded in several parts. Entries past the end are also read, so that damage is detected. */
export async function* loggedParts(
  backups: readonly LoggedBackup[],
  end: RestoreEnd,
  signal?: CancelSignal,
): AsyncGenerator<LoggedPart, undefined, undefined> {
  let endedAt: number | undefined
  for (const { path, file } of backups) {
    let current: { readonly number: number; readonly at: number; readonly bodies: Buffer[] } | undefined
    for await (const block of readEntryFile(path, file, signal)) {
      for (const { key, value } of block.entries()) {
        const number = appendedNumber(key)
        const { isContinued, at } = readLogHeader(value)
        if (isContinued && current !== undefined) {
          current.bodies.push(logEntryBody(value))
          continue
        }
        if (current !== undefined) yield partOf(current)
        current = undefined
        const isBehind = (end.number !== undefined && number > end.number) || (end.at !== undefined && at > end.at)
        if (isBehind) endedAt ??= number
        if (endedAt === undefined || number < endedAt) current = { number, at, bodies: [logEntryBody(value)] }
      }
    }
    if (current !== undefined) yield partOf(current)
  }
  return undefined
}

function partOf({ number, at, bodies }: { number: number; at: number; bodies: readonly Bytes[] }): LoggedPart {
  return { number, at, changes: () => loggedChanges(Buffer.concat(bodies)) }
}
