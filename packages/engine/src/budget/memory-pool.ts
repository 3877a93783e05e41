/** What all requests of a process hold in memory together for their statements and transactions. */
import { AshlarError } from '../errors.ts'

export class MemoryPool {
  private takenBytes = 0

  /** What requests have taken and not yet given back. */
  get bytes(): number {
    return this.takenBytes
  }

  /** Throws ServerBusy, and takes nothing, where it would be more than `bytesMax` together. */
  take(bytes: number, bytesMax: number): void {
    if (this.takenBytes + bytes > bytesMax) {
      throw new AshlarError(
        'ServerBusy',
        `What is held in memory for all statements and transactions under way would take more than ${bytesMax} bytes (statementsBytesMax); there is room again when some of them have ended.`,
      )
    }
    this.takenBytes += bytes
  }

  giveBack(bytes: number): void {
    this.takenBytes -= bytes
  }
}
