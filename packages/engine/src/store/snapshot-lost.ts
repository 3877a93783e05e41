/** The error of a snapshot that was lost together with its connection, after something had been read from it. */
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarError } from '../errors.ts'

/** Its point in time is lost: work without external effects can be repeated on another snapshot (`with-snapshot.ts`). */
export class SnapshotLost extends AshlarError {
  readonly patienceMs: number

  /** `patienceMs`: how long to wait for the store. */
  constructor(message: string, patienceMs: number) {
    super('StoreUnavailable', message)
    this.patienceMs = patienceMs
  }

  /** Does not concern a single command of several, and must stay recognizable when it passes through them. */
  override within(): this {
    return this
  }
}

const pauseMsMax = 250

export class LostSnapshots {
  private count = 0
  private end = 0

  /** Resolves when the request may be retried. Throws the error once the store's patience, counted from the first loss, is exhausted. */
  async another(error: SnapshotLost): Promise<void> {
    if (this.count++ === 0) this.end = performance.now() + error.patienceMs
    if (performance.now() >= this.end) throw error
    // Random, so that requests interrupted together do not retry together.
    await delay(Math.random() * Math.min(pauseMsMax, 2 ** this.count))
  }
}
