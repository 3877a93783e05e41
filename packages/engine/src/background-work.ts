/** Repeats background work of a process until it is stopped. */
import { isOutOfReach } from './errors.ts'

export class BackgroundWork {
  private readonly work: (signal: AbortSignal) => Promise<unknown>
  private readonly intervalMs: number
  private readonly onFault: (error: unknown) => void
  private readonly stopping = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private running: Promise<unknown> | undefined

  /** `onFault` is not called while the store is unreachable. */
  constructor(work: (signal: AbortSignal) => Promise<unknown>, intervalMs: number, onFault: (error: unknown) => void) {
    this.work = work
    this.intervalMs = intervalMs
    this.onFault = onFault
  }

  /** The interval is jittered, so that processes started together do not work simultaneously. */
  start(): void {
    this.timer = setTimeout(
      () => {
        this.running = this.work(this.stopping.signal)
          .catch((error: unknown) => {
            if (!isOutOfReach(error)) this.onFault(error)
          })
          .finally(() => {
            if (!this.stopping.signal.aborted) this.start()
          })
      },
      this.intervalMs * (0.5 + Math.random()),
    ).unref()
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer)
    this.stopping.abort()
    await this.running
  }
}
