/** Counts events by key, in a window that begins with the first event. */
import { throttledKeysMax } from '../limits.ts'
import { setYoungest } from './set-youngest.ts'

interface Recent {
  count: number
  /** The end of the window, by the given clock. */
  readonly endsAtMs: number
}

export class RecentCounts {
  private readonly windowMs: number
  private readonly now: () => number
  private readonly byKey = new Map<string, Recent>()

  constructor(windowMs: number, now: () => number) {
    this.windowMs = windowMs
    this.now = now
  }

  get size(): number {
    return this.byKey.size
  }

  of(key: string): number {
    return this.current(key)?.count ?? 0
  }

  /** Until the end of the window. */
  secondsLeft(key: string): number {
    return Math.ceil(((this.current(key)?.endsAtMs ?? this.now()) - this.now()) / 1_000)
  }

  add(key: string): void {
    const recent = this.current(key)
    if (recent !== undefined) {
      recent.count += 1
      return
    }
    // The window of the oldest ends next.
    setYoungest(this.byKey, key, { count: 1, endsAtMs: this.now() + this.windowMs }, throttledKeysMax)
  }

  takeBack(key: string): void {
    const recent = this.byKey.get(key)
    if (recent === undefined) return
    recent.count -= 1
    if (recent.count <= 0) this.byKey.delete(key)
  }

  forget(key: string): void {
    this.byKey.delete(key)
  }

  private current(key: string): Recent | undefined {
    const recent = this.byKey.get(key)
    if (recent === undefined || this.now() < recent.endsAtMs) return recent
    this.byKey.delete(key)
    return undefined
  }
}
