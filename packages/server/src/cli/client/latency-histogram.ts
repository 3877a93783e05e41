/** How long requests took: counts in buckets that each are 2 % wider than the one before, so that memory does not grow with them. */

const growth = Math.log(1.02)
/** Shorter ones count as that. */
const msMin = 0.01

export interface LatencySummary {
  readonly count: number
  /** Within 2 %; null without requests. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly maxMs: number | null
}

export class LatencyHistogram {
  private readonly buckets: number[] = []
  private max = 0
  count = 0

  add(ms: number): void {
    const bucket = Math.max(0, Math.floor(Math.log(ms / msMin) / growth))
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
    this.max = Math.max(this.max, ms)
    this.count++
  }

  summary(): LatencySummary {
    const { count } = this
    if (count === 0) return { count, p50Ms: null, p99Ms: null, maxMs: null }
    return { count, p50Ms: this.percentile(50), p99Ms: this.percentile(99), maxMs: this.max }
  }

  private percentile(percent: number): number {
    let left = Math.ceil((this.count * percent) / 100)
    for (const [bucket, counted] of this.buckets.entries()) {
      left -= counted ?? 0
      if (left <= 0) return Math.min(this.max, msMin * Math.exp((bucket + 1) * growth))
    }
    return this.max
  }
}
