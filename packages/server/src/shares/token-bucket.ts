/** A rate limit: allows `capacity` events at once, and `perSecond` more each second. */
export class TokenBucket {
  private readonly capacity: number
  private readonly perSecond: number
  private tokens: number
  private refilledAtMs = performance.now()

  constructor(capacity: number, perSecond: number) {
    this.capacity = capacity
    this.perSecond = perSecond
    this.tokens = capacity
  }

  /** Returns false if no event is allowed now. */
  take(): boolean {
    const nowMs = performance.now()
    const refill = ((nowMs - this.refilledAtMs) / 1_000) * this.perSecond
    this.tokens = Math.min(this.capacity, this.tokens + refill)
    this.refilledAtMs = nowMs
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }
}
