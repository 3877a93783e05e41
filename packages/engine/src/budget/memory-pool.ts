/** Memory held by all requests of a process together for their statements and transactions. */
import { AshlarError } from '../errors.ts'

/** More than statements of ordinary clients use in total. */
const highBytes = 64 * 2 ** 20

export interface MemoryHolder {
  /** Throws if the client's limit is exceeded, and then counts nothing. */
  take(bytes: number): void
  giveBack(bytes: number): void
}

export class MemoryPool {
  private usedBytes = 0
  private readonly onHighUsage: ((isHigh: boolean) => void) | undefined

  /** `onHighUsage`: called with true when requests begin to use much memory (64 MiB), with false when they no longer do. */
  constructor(onHighUsage?: (isHigh: boolean) => void) {
    this.onHighUsage = onHighUsage
  }

  get bytes(): number {
    return this.usedBytes
  }

  /** Throws ServerBusy above `bytesMax`, and whatever `holder` throws; nothing is counted then. */
  take(bytes: number, bytesMax: number, holder?: MemoryHolder): void {
    holder?.take(bytes)
    if (this.usedBytes + bytes > bytesMax) {
      holder?.giveBack(bytes)
      throw new AshlarError(
        'ServerBusy',
        `What is held in memory for all statements and transactions under way would take more than ${bytesMax} bytes (statementsBytesMax); there is room again when some of them have ended.`,
      )
    }
    this.change(bytes)
  }

  giveBack(bytes: number, holder?: MemoryHolder): void {
    holder?.giveBack(bytes)
    this.change(-bytes)
  }

  private change(bytes: number): void {
    const before = this.usedBytes > highBytes
    this.usedBytes += bytes
    const after = this.usedBytes > highBytes
    if (after !== before) this.onHighUsage?.(after)
  }
}
