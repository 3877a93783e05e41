/** Notices that LMDB's write lock is not to be had, since another process that holds it was stopped, and tells so. */

const ticks = 10

/**
 * Between `begin` and `end` one waits for the write lock, which cannot be given up. Time is counted in ticks of a timer, so that
 * a process that slept, or was stopped itself, does not blame others.
 */
export class StuckWrites {
  private readonly timer: NodeJS.Timeout
  private readonly msMax: number
  private waitedTicks: number | undefined

  /** `onStuck` is called once in each wait that is longer than `msMax`. */
  constructor(msMax: number, onStuck: () => void) {
    this.msMax = msMax
    this.timer = setInterval(() => {
      if (this.waitedTicks === undefined) return
      this.waitedTicks += 1
      if (this.waitedTicks === ticks + 1) onStuck()
    }, msMax / ticks).unref()
  }

  begin(): void {
    this.waitedTicks = 0
  }

  end(): void {
    this.waitedTicks = undefined
  }

  /** A sentence without a full stop, while it lasts. */
  problem(): string | undefined {
    if (this.waitedTicks === undefined || this.waitedTicks <= ticks) return undefined
    return (
      `another process has been committing to it for ${this.msMax / 1_000} seconds without an end: it was stopped (SIGSTOP, a debugger), ` +
      'or its disk does not answer. Let it go on, or end it (kill -9)'
    )
  }

  close(): void {
    clearInterval(this.timer)
  }
}
