/** What the process takes of its machine, and how its event loop gets on. */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'

/** How often the event loop is looked at: what holds it for a shorter time is not seen. */
const resolutionMs = 20
const nanosecondsASecond = 1e9

export interface LoopNumbers {
  /** The share of the time in which it worked. */
  readonly utilization: number
  /** Delay of timers since the last scrape, in seconds. */
  readonly delay: { readonly p50: number; readonly p99: number; readonly max: number }
}

export class ProcessNumbers {
  private delays: IntervalHistogram | undefined
  private before = performance.eventLoopUtilization()

  /** Returns the numbers since the previous call. Delays are measured from the first call on. */
  loop(): LoopNumbers {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.before)
    this.before = now
    const delay = this.delayed()
    this.delays?.reset()
    if (this.delays === undefined) {
      this.delays = monitorEventLoopDelay({ resolution: resolutionMs })
      this.delays.enable()
    }
    return { utilization: Number.isFinite(utilization) ? utilization : 0, delay }
  }

  stop(): void {
    this.delays?.disable()
    this.delays = undefined
  }

  private delayed(): LoopNumbers['delay'] {
    const { delays } = this
    if (delays === undefined || delays.count === 0) return { p50: 0, p99: 0, max: 0 }
    // It counts from one look to the next.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / nanosecondsASecond - resolutionMs / 1_000)
    return { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) }
  }
}
