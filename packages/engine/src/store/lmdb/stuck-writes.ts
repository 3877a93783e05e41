/** Detects and reports that LMDB's write lock is not available because another process that holds it is suspended. */

const ticks = 10

/**
 * Between `begin` and `end` a commit waits for the write lock, which cannot be cancelled. Time is counted in ticks of a timer, so that a process that
 * was suspended itself does not blame other processes.
 */
export class StuckWrites {
  private readonly timer: NodeJS.Timeout
  private readonly msMax: number
  private waitedTicks: number | undefined
  private waits = 0

  /** `onStuck` is called once in each wait longer than `msMax`. */
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
    this.waits++
  }

  end(): void {
    this.waitedTicks = undefined
  }

  /** A sentence without a full stop, while a wait is too long. */
  problem(): string | undefined {
    if (this.waitedTicks === undefined || this.waitedTicks <= ticks) return undefined
    return (
      `another process has been committing to it for ${this.msMax / 1_000} seconds: it is suspended (SIGSTOP, a debugger), ` +
      'or its disk does not respond. Resume it, or kill it (kill -9)'
    )
  }

  /** Resolves to true when `work` ends; to false if a single wait within it lasts longer than `closeMsMax`, or is already too long. */
  isOverInTime(work: Promise<void>, closeMsMax: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let [wait, seenTicks] = [0, 0]
      const timer = setInterval(() => {
        const current = this.waitedTicks === undefined ? 0 : this.waits
        seenTicks = current !== 0 && current === wait ? seenTicks + 1 : 0
        wait = current
        if (seenTicks >= ticks || this.problem() !== undefined) end(() => resolve(false))
      }, closeMsMax / ticks)
      function end(settle: () => void): void {
        clearInterval(timer)
        settle()
      }
      work.then(
        () => end(() => resolve(true)),
        (error) => end(() => reject(error)),
      )
    })
  }

  close(): void {
    clearInterval(this.timer)
  }
}
