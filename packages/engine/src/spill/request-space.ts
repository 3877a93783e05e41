/** Disk space of the temporary files of one request, and its limit. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import { TemporaryFile } from './temporary-file.ts'
import type { TemporarySpace } from './temporary-space.ts'

export type DiskLimits = Pick<EngineLimits, 'statementDiskBytesMax' | 'statementsDiskBytesMax'>

export class RequestSpace {
  private readonly space: TemporarySpace
  private readonly limits: DiskLimits
  private reservedBytes = 0

  constructor(space: TemporarySpace, limits: DiskLimits) {
    this.space = space
    this.limits = limits
  }

  get bytes(): number {
    return this.reservedBytes
  }

  /** Throws LimitExceeded and ServerBusy, and then reserves nothing. */
  take(bytes: number): void {
    const { statementDiskBytesMax, statementsDiskBytesMax } = this.limits
    if (this.reservedBytes + bytes > statementDiskBytesMax) {
      throw new AshlarError(
        'LimitExceeded',
        `What the statements sort, group or join beyond their memory would take more than ${statementDiskBytesMax} bytes on disk (statementDiskBytesMax). TAKE, WHERE, an index on the order or several requests may help.`,
      )
    }
    this.space.take(bytes, statementsDiskBytesMax)
    this.reservedBytes += bytes
  }

  giveBack(bytes: number): void {
    this.reservedBytes -= bytes
    this.space.giveBack(bytes)
  }

  /** The caller closes the file. Throws ServerBusy. */
  async open(): Promise<TemporaryFile> {
    const { file, remove } = await this.space.create()
    return new TemporaryFile(file, remove, this)
  }
}
