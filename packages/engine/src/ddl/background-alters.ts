/** Changes of classes that go on after their request was replied to (contract 10.5.12). */
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError } from '../errors.ts'
import { validationStopped } from '../schema/class-validation.ts'
import type { ClassNumber } from '../types/type-spec.ts'

/** A change of classes that is done, or goes on in the background. */
export interface AlteredClasses {
  /** One per description, in order. */
  readonly numbers: readonly ClassNumber[]
  readonly isRunning: boolean
}

export class BackgroundAlters {
  private readonly running = new Set<Promise<void>>()
  private readonly stopping = new AbortController()

  /** Aborted when the federated database is closed. */
  get signal(): CancelSignal {
    return this.stopping.signal
  }

  /** Throws ServerBusy if as many changes as are allowed are under way. */
  requireRoom(max: number): void {
    if (this.running.size < max) return
    const message = `${max} classes are already being changed in the background, the maximum (backgroundBuildsMax).`
    throw new AshlarError('ServerBusy', message)
  }

  /** `work` must not fail. */
  start(work: Promise<void>): void {
    const tracked = work.finally(() => this.running.delete(tracked))
    this.running.add(tracked)
  }

  /** Changes under way fail, as their classes show. */
  async stop(): Promise<void> {
    this.stopping.abort(new AshlarError('ShuttingDown', validationStopped.message))
    await Promise.all(this.running)
  }
}
