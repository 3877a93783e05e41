/** The error of a snapshot that was lost together with its connection, after something had been read from it. */
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarError } from '../errors.ts'

/** Its point in time is gone: work that has given nothing away can be run again on another snapshot (`with-snapshot.ts`). */
export class SnapshotLost extends AshlarError {
  readonly patienceMs: number

  /** `patienceMs`: how long the store is worth waiting for. */
  constructor(message: string, patienceMs: number) {
    super('StoreUnavailable', message)
    this.patienceMs = patienceMs
  }

  /** It is about none of several commands, and must still be known when it has passed all of them. */
  override within(): this {
    return this
  }
}

const pauseMsMax = 250

/** The snapshots that one request has lost. */
export class LostSnapshots {
  private count = 0
  private end = 0

  /** Resolves when the request may begin anew. Throws the error where the store has had no more patience since the first loss. */
  async another(error: SnapshotLost): Promise<void> {
    if (this.count++ === 0) this.end = performance.now() + error.patienceMs
    if (performance.now() >= this.end) throw error
    // Requests that were interrupted together wait for different times.
    await delay(Math.random() * Math.min(pauseMsMax, 2 ** this.count))
  }
}
