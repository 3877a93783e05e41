/** What all requests of a process hold in memory together for their statements and transactions. */
import { AshlarError } from '../errors.ts'

/** More than the statements of ordinary clients hold together. */
const muchBytes = 64 * 2 ** 20

export class MemoryPool {
  private takenBytes = 0
  private readonly onMuch: ((isMuch: boolean) => void) | undefined

  /** `onMuch`: told with true when requests begin to hold much (64 MiB), and with false when they no longer do. */
  constructor(onMuch?: (isMuch: boolean) => void) {
    this.onMuch = onMuch
  }

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
    this.change(bytes)
  }

  giveBack(bytes: number): void {
    this.change(-bytes)
  }

  private change(bytes: number): void {
    const before = this.takenBytes > muchBytes
    this.takenBytes += bytes
    const after = this.takenBytes > muchBytes
    if (after !== before) this.onMuch?.(after)
  }
}
