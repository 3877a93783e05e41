/** The file of rejected records, each with its line number and the reason. */
import { rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { unwritable } from '../errors/file-errors.ts'
import { stringifyExactly } from '../output/exact-json.ts'
import type { FileRecord } from './file-record.ts'

export class RejectsFile {
  readonly name: string
  private readonly handle: FileHandle
  private readonly isNew: boolean
  private hasStarted = false

  private constructor(name: string, handle: FileHandle, isNew: boolean) {
    this.name = name
    this.handle = handle
    this.isNew = isNew
  }

  /** Opens the file before anything is changed; the content of an earlier import remains until `begin`. */
  static async open(name: string): Promise<RejectsFile> {
    try {
      const isNew = statSync(name, { throwIfNoEntry: false }) === undefined
      return new RejectsFile(name, await open(name, 'a'), isNew)
    } catch (error) {
      throw unwritable(name, error)
    }
  }

  /** Call when the import begins. `keepsContent`: keeps the rejects of an earlier part of the import. */
  async begin(keepsContent: boolean): Promise<void> {
    this.hasStarted = true
    if (!keepsContent && (await this.handle.stat()).isFile()) await this.handle.truncate()
  }

  /** Throws CommandError, which names the first record that the file lacks. */
  async write({ line, fields }: FileRecord, reason: string): Promise<void> {
    try {
      await this.handle.write(`${stringifyExactly({ line, reason, ...(fields && { record: fields }) })}\n`)
    } catch (error) {
      const { message } = unwritable(this.name, error, true)
      const advice = 'run the import again with another file for them, and with --upsert-on <index>.'
      throw new CommandError(
        exitCodes.failed,
        `${message} Refused records from line ${line} on are not in it: ${advice}`,
      )
    }
  }

  /** Removes a new file if the import has not begun. */
  async close(): Promise<void> {
    await this.handle.close()
    if (this.isNew && !this.hasStarted) rmSync(this.name, { force: true })
  }
}
