/** Resource usage of the process, and the load of its event loop. */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'

/** Sampling interval of the event loop: shorter delays are not measured. */
const resolutionMs = 20
const nanosecondsASecond = 1e9

export interface LoopNumbers {
  /** Share of the time in which the event loop was active. */
  readonly utilization: number
  /** Timer delay since the last scrape, in seconds. */
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
    // The histogram includes the sampling interval.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / nanosecondsASecond - resolutionMs / 1_000)
    return { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) }
  }
}
