/** Wakes requests that wait for changes: immediately after a commit of this process, and shortly after one of another. */
import type { CancelSignal } from '../cancel-signal.ts'
import { isOutOfReach } from '../errors.ts'

export class ChangeWaiters {
  /** Incremented with each commit noticed. */
  count = 0
  private readonly waiting = new Set<() => void>()
  private readonly lastCommit: () => Promise<number>
  private readonly pollMs: number
  private readonly onFault: (error: unknown) => void
  private timer: NodeJS.Timeout | undefined
  private lastSeen: number | undefined
  private reportedFault: string | undefined

  /** `lastCommit`: reads the last commit number of the store, called every `pollMs` while requests wait. `onFault` is called once per failure. */
  constructor(lastCommit: () => Promise<number>, pollMs: number, onFault: (error: unknown) => void) {
    this.lastCommit = lastCommit
    this.pollMs = pollMs
    this.onFault = onFault
  }

  /** Must be called after a commit. */
  wake(): void {
    this.count++
    if (this.waiting.size === 0) return
    for (const wakeOne of [...this.waiting]) wakeOne()
  }

  /** Resolves after a commit if `count` is still `seen`, after `msMax`, or when the signal is aborted; never rejects. */
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
      this.timer ??= this.schedulePoll()
    })
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    for (const wakeOne of [...this.waiting]) wakeOne()
  }

  private schedulePoll(): NodeJS.Timeout {
    return setTimeout(() => {
      this.lastCommit()
        .then((last) => {
          this.reportedFault = undefined
          if (last === this.lastSeen) return
          this.lastSeen = last
          this.wake()
        })
        .catch((error: unknown) => {
          // The next poll tries again, and waiting requests read the store themselves.
          if (!isOutOfReach(error)) this.report(error)
        })
        .finally(() => {
          if (this.timer === undefined) return
          this.timer = this.waiting.size === 0 ? undefined : this.schedulePoll()
        })
    }, this.pollMs).unref()
  }

  private report(error: unknown): void {
    const fault = String(error)
    if (fault === this.reportedFault) return
    this.reportedFault = fault
    this.onFault(error)
  }
}
