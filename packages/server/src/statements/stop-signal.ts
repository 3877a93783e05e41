/** The signal of one request. Of an `AbortSignal` of Node.js, each costs as much as a tenth of a short query. */
import type { CancelSignal } from '@ashlar/engine'

export class StopSignal implements CancelSignal {
  aborted = false
  reason: unknown
  private listeners: Set<() => void> | undefined

  /** Has no effect if it was aborted before. */
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

  /** As with `AbortSignal`, listeners that are added after the abort are not called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners ??= new Set()
    this.listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners?.delete(listener)
  }
}
