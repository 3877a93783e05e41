/** A temporary file, written at its end and read at any position. */
import { assert } from '../errors.ts'
import { diskFailure, type TemporaryFileHandle } from './temporary-space.ts'

/** Accounts for disk space, before it is used and after it is freed. */
export interface DiskAccount {
  take(bytes: number): void
  giveBack(bytes: number): void
}

export class TemporaryFile {
  private readonly file: TemporaryFileHandle
  private readonly remove: () => Promise<void>
  private readonly account: DiskAccount
  private length = 0

  constructor(file: TemporaryFileHandle, remove: () => Promise<void>, account: DiskAccount) {
    this.file = file
    this.remove = remove
    this.account = account
  }

  /** The position of the next write. */
  get end(): number {
    return this.length
  }

  /** The buffer must not be changed before the promise resolves. Throws LimitExceeded and ServerBusy. */
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

  /** Reads `count` bytes at `position` into the buffer at `at`. Throws ServerBusy. */
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

  /** Truncates the file, which may be written again. */
  async clear(): Promise<void> {
    try {
      await this.file.truncate(0)
    } catch (error) {
      throw diskFailure(error)
    }
    this.account.giveBack(this.length)
    this.length = 0
  }

  /** Releases the disk space in any case. */
  async close(): Promise<void> {
    try {
      await this.file.close()
    } catch {
      // The content is not needed.
    }
    await this.remove()
    this.account.giveBack(this.length)
    this.length = 0
  }
}
