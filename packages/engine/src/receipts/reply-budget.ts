/** Limits the total size of stored replies per process: tiny requests with large replies must not fill the store. */
import { smallReplyBytes } from '../limits.ts'

export class ReplyBudget {
  private readonly bytesMax: number
  private readonly refillMs: number
  private readonly now: () => number
  private left: number
  private at: number

  /** `bytesMax`: capacity, refilled within each `refillMs`. `now`: milliseconds of a monotonic clock. */
  constructor(bytesMax: number, refillMs: number, now: () => number = () => performance.now()) {
    this.bytesMax = bytesMax
    this.refillMs = refillMs
    this.now = now
    this.left = bytesMax
    this.at = now()
  }

  /** Whether a reply may be stored, of which `chargedBytes` are charged already. Small replies are free. */
  take(bytes: number, chargedBytes: number): boolean {
    if (bytes <= smallReplyBytes) return true
    const now = this.now()
    const refill = (this.bytesMax * (now - this.at)) / Math.max(this.refillMs, 1)
    this.left = Math.min(this.bytesMax, this.left + refill)
    this.at = now
    const more = Math.max(bytes - chargedBytes, 0)
    if (more > this.left) return false
    this.left -= more
    return true
  }
}
