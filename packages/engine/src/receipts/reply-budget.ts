/** How much of replies a process keeps: tiny requests with large replies must not fill the store. */
import { smallReplyBytes } from '../limits.ts'

export class ReplyBudget {
  private readonly bytesMax: number
  private readonly refillMs: number
  private readonly now: () => number
  private left: number
  private at: number

  /** `bytesMax` at once, and as much again in each `refillMs`. `now`: milliseconds of a clock that only goes on. */
  constructor(bytesMax: number, refillMs: number, now: () => number = () => performance.now()) {
    this.bytesMax = bytesMax
    this.refillMs = refillMs
    this.now = now
    this.left = bytesMax
    this.at = now()
  }

  /** Whether a reply may be kept of which `takenBytes` are paid for already. Small ones always may, and cost nothing. */
  take(bytes: number, takenBytes: number): boolean {
    if (bytes <= smallReplyBytes) return true
    const now = this.now()
    const refill = (this.bytesMax * (now - this.at)) / Math.max(this.refillMs, 1)
    this.left = Math.min(this.bytesMax, this.left + refill)
    this.at = now
    const more = Math.max(bytes - takenBytes, 0)
    if (more > this.left) return false
    this.left -= more
    return true
  }
}
