/** A temporary file, which is written at its end and read anywhere. */
import { assert } from '../errors.ts'
import { diskFailure, type OpenFile } from './temporary-space.ts'

/** Is asked before the disk is used, and told when it is no longer. */
export interface DiskAccount {
  take(bytes: number): void
  giveBack(bytes: number): void
}

export class TemporaryFile {
  private readonly file: OpenFile
  private readonly remove: () => Promise<void>
  private readonly account: DiskAccount
  private length = 0

  constructor(file: OpenFile, remove: () => Promise<void>, account: DiskAccount) {
    this.file = file
    this.remove = remove
    this.account = account
  }

  /** Where the next bytes will be. */
  get end(): number {
    return this.length
  }

  /** The buffer is not to be changed until it is written. Throws LimitExceeded and ServerBusy. */
  async append(bytes: Buffer, count: number): Promise<void> {
    this.account.take(count)
    const start = this.length
    this.length += count
    try {
      for (let at = 0; at < count; ) {
        const { bytesWritten } = await this.file.write(bytes, at, count - at, start + at)
        at += bytesWritten
      }
    } catch (error) {
      throw diskFailure(error)
    }
  }

  /** Fills the buffer from `at` on. Throws ServerBusy. */
  async read(bytes: Buffer, at: number, count: number, position: number): Promise<void> {
    try {
      for (let done = 0; done < count; ) {
        const { bytesRead } = await this.file.read(bytes, at + done, count - done, position + done)
        assert(bytesRead > 0, 'a temporary file has what was written to it')
        done += bytesRead
      }
    } catch (error) {
      throw diskFailure(error)
    }
  }

  /** When nothing of it is needed any more; it may be written again. */
  async clear(): Promise<void> {
    try {
      await this.file.truncate(0)
    } catch (error) {
      throw diskFailure(error)
    }
    this.account.giveBack(this.length)
    this.length = 0
  }

  /** What it took is given back, whatever the operating system says. */
  async close(): Promise<void> {
    try {
      await this.file.close()
    } catch {
      // Nobody needs what is in it.
    }
    await this.remove()
    this.account.giveBack(this.length)
    this.length = 0
  }
}
