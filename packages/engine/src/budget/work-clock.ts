/** How long the server has worked for a request: time in which the reply waits for its reader does not count. */

export class WorkClock {
  private readonly msMax: number
  private endsAtMs: number
  private stoppedAtMs: number | undefined

  /** Starts it. */
  constructor(msMax: number) {
    this.msMax = msMax
    this.endsAtMs = performance.now() + msMax
  }

  get isOver(): boolean {
    return (this.stoppedAtMs ?? performance.now()) > this.endsAtMs
  }

  /** The same time once more, from now on. */
  restarted(): WorkClock {
    return new WorkClock(this.msMax)
  }

  stop(): void {
    this.stoppedAtMs ??= performance.now()
  }

  goOn(): void {
    if (this.stoppedAtMs === undefined) return
    this.endsAtMs += performance.now() - this.stoppedAtMs
    this.stoppedAtMs = undefined
  }
}
