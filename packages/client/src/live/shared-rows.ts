/** Rows that are read, or followed, once for everybody who subscribes to them. */
import type { Values } from '../typed/statement.ts'

export interface RowsSnapshot<Row = Values> {
  /**
   * `loading`: the rows are being read. `ready`: they are the result of the query. `reconnecting`: they are the last result of a live query, which has lost its
   * server. `failed`: they are not read any more, because of `error`, until `refresh`.
   */
  readonly status: 'loading' | 'ready' | 'reconnecting' | 'failed'
  /** The same array, with the same rows, as long as nothing in them has changed. */
  readonly rows: readonly Row[]
  /** Why the status is `failed` or `reconnecting`. */
  readonly error: unknown
  /** The objects whose changes are shown, and have yet to be confirmed by the server. */
  readonly pending: ReadonlySet<string>
}

export type Publish = (change: Partial<RowsSnapshot>) => void
export type Listener = (snapshot: RowsSnapshot) => void

export const noRows: RowsSnapshot = { status: 'loading', rows: [], error: undefined, pending: new Set() }

export class SharedRows {
  private readonly read: (publish: Publish, signal: AbortSignal) => Promise<void>
  private readonly onEnd: () => void
  private readonly listeners = new Set<{ readonly listener: Listener }>()
  private reading: AbortController | undefined
  snapshot: RowsSnapshot = noRows

  /** `read`: runs until `signal` is aborted, or the rows are read. `onEnd`: called when nobody subscribes any more. */
  constructor(read: SharedRows['read'], onEnd: () => void) {
    this.read = read
    this.onEnd = onEnd
  }

  /** Calls the listener at once, and with each further snapshot. Returns what ends that. */
  subscribe(listener: Listener): () => void {
    const subscription = { listener }
    this.listeners.add(subscription)
    if (this.reading === undefined) this.refresh()
    listener(this.snapshot)
    return () => {
      // A framework often subscribes again right away, for example when one component replaces another.
      if (this.listeners.delete(subscription)) queueMicrotask(() => this.endUnlessUsed())
    }
  }

  /** Reads from the beginning; the rows stay meanwhile. */
  refresh(): void {
    this.reading?.abort()
    const reading = new AbortController()
    this.reading = reading
    const publish: Publish = (change) => {
      if (this.reading === reading) this.publish(change)
    }
    publish({ status: 'loading', error: undefined })
    this.read(publish, reading.signal).catch((error: unknown) => publish({ status: 'failed', error }))
  }

  private endUnlessUsed(): void {
    if (this.listeners.size > 0 || this.reading === undefined) return
    this.reading.abort()
    this.reading = undefined
    this.onEnd()
  }

  private publish(change: Partial<RowsSnapshot>): void {
    const before = this.snapshot
    const now = { ...before, ...change }
    if (hasSame(now.rows, before.rows)) now.rows = before.rows
    if (hasSame([...now.pending], [...before.pending])) now.pending = before.pending
    if (Object.entries(now).every(([name, value]) => value === before[name as keyof RowsSnapshot])) return
    this.snapshot = now
    for (const { listener } of [...this.listeners]) {
      try {
        listener(now)
      } catch (error) {
        // A mistake in one listener is reported as what it is, and keeps the snapshot from no other one.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

function hasSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, at) => value === b[at])
}
