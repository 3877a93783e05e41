/** The file of rejected records, each with its line number and the reason. */
import { rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { unwritable } from '../errors/file-errors.ts'
import { stringifyExactly } from '../output/exact-json.ts'
import type { FileRecord } from './file-record.ts'

export interface RejectsFile {
  /** Call when the import begins. `keepsContent`: keeps the rejects of an earlier part of the import. */
  begin(keepsContent: boolean): Promise<void>
  /** Throws CommandError, which names the first record that the file lacks. */
  write(record: FileRecord, reason: string): Promise<void>
  /** Removes a new file if the import has not begun. */
  close(): Promise<void>
}

/** Opens the file before anything is changed; the content of an earlier import remains until `begin`. */
export async function openRejectsFile(name: string): Promise<RejectsFile> {
  const isNew = statSync(name, { throwIfNoEntry: false }) === undefined
  const handle = await open(name, 'a').catch((error: unknown) => {
    throw unwritable(name, error)
  })
  let hasStarted = false
  return {
    async begin(keepsContent) {
      hasStarted = true
      if (!keepsContent && (await handle.stat()).isFile()) await handle.truncate()
    },
    async write({ line, fields }, reason) {
      try {
        await handle.write(`${stringifyExactly({ line, reason, ...(fields && { record: fields }) })}\n`)
      } catch (error) {
        const { message } = unwritable(name, error, true)
        const advice = 'run the import again with another file for them, and with --upsert-on <index>.'
        const text = `${message} Refused records from line ${line} on are not in it: ${advice}`
        throw new CommandError(exitCodes.failed, text)
      }
    },
    async close() {
      await handle.close()
      if (isNew && !hasStarted) rmSync(name, { force: true })
    },
  }
}
