/** The clock that determines the end of receipts: the wall clock, unless it jumps ahead of the monotonic clock. */
import { clockStepMsMax } from '../limits.ts'

export interface Clocks {
  /** Milliseconds since 1970; adjustable. */
  wall(): number
  /** Milliseconds since an arbitrary time; not adjustable. */
  monotonic(): number
}

export const systemClocks: Clocks = { wall: () => Date.now(), monotonic: () => performance.now() }

/**
 * A wall clock that jumps ahead by a day must not end all receipts immediately. While it is ahead of the time elapsed by the monotonic clock, the
 * latter counts; after `retentionMs` the wall clock is trusted, since all receipts from before the jump have then been retained for that long.
 */
export class TrustedClock {
  private readonly clocks: Clocks
  private readonly retentionMs: number
  private trusted: number
  /** The time of `trusted` by the monotonic clock. */
  private at: number
  private aheadMs = 0
  /** Since when the wall clock has been ahead by this much, by the monotonic clock. */
  private aheadSince: number

  /** `latest`: a time that has certainly passed; a wall clock far beyond it is not trusted yet. */
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
    // Another jump: receipts from before it must be retained longer.
    if (aheadMs > this.aheadMs + clockStepMsMax) this.aheadSince = at
    const isTrusted = aheadMs <= clockStepMsMax || at - this.aheadSince >= this.retentionMs
    this.trusted = isTrusted ? wall : expected
    this.aheadMs = isTrusted ? 0 : aheadMs
    this.at = at
    return this.trusted
  }
}
