/** Wakes those who wait for changes: at once after a commit of this process, and within a moment after one of another. */
import type { CancelSignal } from '../cancel-signal.ts'
import { isOutOfReach } from '../errors.ts'

export class ChangeWaiters {
  /** Rises with each commit that was noticed. */
  count = 0
  private readonly waiting = new Set<() => void>()
  private readonly look: () => Promise<number>
  private readonly lookMs: number
  private readonly onFault: (error: unknown) => void
  private timer: NodeJS.Timeout | undefined
  private lastSeen: number | undefined
  /** What the last look failed with. */
  private toldFault: string | undefined

  /** `look`: the number of the last commit in the store, asked for every `lookMs` while somebody waits. `onFault` is told once of the same failure. */
  constructor(look: () => Promise<number>, lookMs: number, onFault: (error: unknown) => void) {
    this.look = look
    this.lookMs = lookMs
    this.onFault = onFault
  }

  /** There is a new commit. */
  wake(): void {
    this.count++
    if (this.waiting.size === 0) return
    for (const wakeOne of [...this.waiting]) wakeOne()
  }

  /** Resolves when there were commits since `count` was `seen`, after `msMax`, or when the signal ends; it never throws. */
  wait(seen: number, msMax: number, signal: CancelSignal): Promise<void> {
    if (this.count !== seen || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timeout)
        signal.removeEventListener('abort', done)
        this.waiting.delete(done)
        resolve()
      }
      const timeout = setTimeout(done, msMax)
      signal.addEventListener('abort', done)
      this.waiting.add(done)
      this.timer ??= this.lookLater()
    })
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    for (const wakeOne of [...this.waiting]) wakeOne()
  }

  private lookLater(): NodeJS.Timeout {
    return setTimeout(() => {
      this.look()
        .then((last) => {
          this.toldFault = undefined
          if (last === this.lastSeen) return
          this.lastSeen = last
          this.wake()
        })
        .catch((error: unknown) => {
          // It is looked for again, and whoever waits asks the store by itself.
          if (!isOutOfReach(error)) this.tell(error)
        })
        .finally(() => {
          if (this.timer === undefined) return
          this.timer = this.waiting.size === 0 ? undefined : this.lookLater()
        })
    }, this.lookMs).unref()
  }

  private tell(error: unknown): void {
    const fault = String(error)
    if (fault === this.toldFault) return
    this.toldFault = fault
    this.onFault(error)
  }
}
