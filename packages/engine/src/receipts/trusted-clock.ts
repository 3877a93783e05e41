/** The time by which receipts end: the wall clock, unless it steps ahead of a clock that nobody can set. */
import { clockStepMsMax } from '../limits.ts'

export interface Clocks {
  /** Milliseconds since 1970; can be set. */
  wall(): number
  /** Milliseconds since some moment; cannot be set. */
  monotonic(): number
}

export const systemClocks: Clocks = { wall: () => Date.now(), monotonic: () => performance.now() }

/**
 * A wall clock that is suddenly a day ahead must not end all receipts at once. So while it is ahead of the time that has passed
 * by the monotonic clock, the latter counts; after `retentionMs` the wall clock is believed, since all that was kept when it
 * stepped has been kept for that long by then.
 */
export class TrustedClock {
  private readonly clocks: Clocks
  private readonly retentionMs: number
  private trusted: number
  /** When it was `trusted`, by the monotonic clock. */
  private at: number
  private aheadMs = 0
  /** Since when the wall clock has been ahead by that much, by the monotonic clock. */
  private aheadSince: number

  /** `latest`: a moment that is known to have come; the wall clock is not believed yet that it is much later. */
  constructor(clocks: Clocks, retentionMs: number, latest: number) {
    this.clocks = clocks
    this.retentionMs = retentionMs
    this.at = clocks.monotonic()
    this.aheadSince = this.at
    this.trusted = Math.min(clocks.wall(), latest)
  }

  /** Milliseconds since 1970. */
  now(): number {
    const wall = this.clocks.wall()
    const at = this.clocks.monotonic()
    const expected = this.trusted + (at - this.at)
    const aheadMs = wall - expected
    // A further step: what was kept before it has to be kept on.
    if (aheadMs > this.aheadMs + clockStepMsMax) this.aheadSince = at
    const isBelieved = aheadMs <= clockStepMsMax || at - this.aheadSince >= this.retentionMs
    this.trusted = isBelieved ? wall : expected
    this.aheadMs = isBelieved ? 0 : aheadMs
    this.at = at
    return this.trusted
  }
}
