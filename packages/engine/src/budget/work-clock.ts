/** Time that the server has worked for a request, without waits for the reader of the reply or for the next slice. */
import type { TimeSlice } from '../store/time-slice.ts'

export class WorkClock {
  private readonly msMax: number
  private endsAtMs: number
  private stoppedAtMs: number | undefined

  constructor(msMax: number) {
    this.msMax = msMax
    this.endsAtMs = performance.now() + msMax
  }

  get isOver(): boolean {
    return (this.stoppedAtMs ?? performance.now()) > this.endsAtMs
  }

  get workedMs(): number {
    return (this.stoppedAtMs ?? performance.now()) - this.endsAtMs + this.msMax
  }

  restarted(): WorkClock {
    return new WorkClock(this.msMax)
  }

  stop(): void {
    this.stoppedAtMs ??= performance.now()
  }

  resume(): void {
    if (this.stoppedAtMs === undefined) return
    this.endsAtMs += performance.now() - this.stoppedAtMs
    this.stoppedAtMs = undefined
  }

  stoppedBetween(slice: TimeSlice): TimeSlice {
    return new ClockedSlice(slice, this)
  }
}

class ClockedSlice implements TimeSlice {
  private readonly slice: TimeSlice
  private readonly clock: WorkClock

  constructor(slice: TimeSlice, clock: WorkClock) {
    this.slice = slice
    this.clock = clock
  }

  get isOver(): boolean {
    return this.slice.isOver
  }

  abandonIfOver(isLong = false): void {
    this.slice.abandonIfOver?.(isLong)
  }

  beginAnew(): void {
    this.slice.beginAnew?.()
  }

  yieldIfDue(): Promise<void> | undefined {
    const pause = this.slice.yieldIfDue()
    if (pause === undefined) return undefined
    this.clock.stop()
    return pause.finally(() => this.clock.resume())
  }
}
