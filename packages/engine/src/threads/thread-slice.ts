/** Replaces yielding for a statement in a thread, which nothing else uses. */
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { QueryProgress, StatementSlice } from '../query/query-request.ts'
import { onlyInMainThread } from '../store/only-in-main-thread.ts'
import type { Store } from '../store/store.ts'
import { cancelFlag, progressCells, type SharedCells } from './shared-cells.ts'

const reportIntervalMs = 20

/** Replaced by the reason, which only the main thread knows. */
export const cancelledMessage = 'The statement was cancelled.'

/** Reports the progress of a statement, and ends snapshots held too long: no timer fires while a statement runs. */
export class ThreadSlice implements StatementSlice {
  readonly isOver = false
  progress: QueryProgress | undefined
  private reportedAtMs = performance.now()
  private readonly cells: SharedCells
  private readonly store: Store
  private readonly limits: EngineLimits

  constructor(cells: SharedCells, store: Store, limits: EngineLimits) {
    this.cells = cells
    this.store = store
    this.limits = limits
  }

  abandonIfOver(): void {
    this.yieldIfDue()
  }

  yieldIfDue(): undefined {
    if (performance.now() - this.reportedAtMs >= reportIntervalMs) this.report()
    return undefined
  }

  settle(): never {
    throw onlyInMainThread
  }

  commit(): void {}

  report(): void {
    this.reportedAtMs = performance.now()
    this.store.endOldSnapshots?.(this.limits)
    if (this.progress === undefined) return
    const { progress } = this.cells
    for (const [name, cell] of Object.entries(progressCells))
      progress[cell] = this.progress[name as keyof QueryProgress]
  }
}

/** Aborted by the main thread through shared memory, so that a statement notices it without an event loop. */
export class ThreadSignal implements CancelSignal {
  readonly reason = new AshlarError('StatementStopped', cancelledMessage)
  private readonly cells: SharedCells
  private readonly listeners = new Set<() => void>()

  constructor(cells: SharedCells) {
    this.cells = cells
  }

  get aborted(): boolean {
    return Atomics.load(this.cells.flags, cancelFlag) === 1
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener)
  }

  /** Calls the listeners, to wake work that waits. */
  notify(): void {
    for (const listener of [...this.listeners]) listener()
  }
}
