/** The signal of one request. An `AbortSignal` of Node.js costs as much as a tenth of a short query. */
import type { CancelSignal } from '@ashlar/engine'

export class StopSignal implements CancelSignal {
  aborted = false
  reason: unknown
  private listeners: Set<() => void> | undefined

  /** Has no effect after the first call. */
  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const { listeners } = this
    this.listeners = undefined
    for (const listener of listeners ?? []) listener()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  /** As with `AbortSignal`, listeners added after the abort are not called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners ??= new Set()
    this.listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners?.delete(listener)
  }
}
