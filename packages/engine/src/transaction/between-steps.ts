/** What happens between two steps of a long change: others have their turn, and whoever is not waited for any more ends it. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import { WorkClock } from '../budget/work-clock.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError } from '../errors.ts'
import { openTimeSlice, type SliceWatch, type TimeSlice } from '../store/time-slice.ts'
import type { Isolation } from './isolation.ts'

/**
 * To be called between operations: lets others have their turn where it is time. Throws LimitExceeded when the time of the
 * transaction is over, and the reason for which the client went away.
 */
export type BetweenSteps = () => Promise<void> | undefined

/** Who waits for the transaction. */
export interface TransactionClient {
  /** Aborted when the client goes away: the transaction then ends. */
  readonly signal?: CancelSignal | undefined
  readonly watch?: SliceWatch | undefined
  /** That of the federated database if it is left out. */
  readonly isolation?: Isolation | undefined
  /** Who holds what the transaction takes in memory. */
  readonly memoryHolder?: MemoryHolder | undefined
  /** Where it runs; without one, on the event loop to its end, which it yields after each slice. */
  readonly slice?: TimeSlice | undefined
}

/** `msMax`: for all attempts together, without the turns of others (`transactionMsMax`). */
export function betweenSteps(msMax: number, { signal, watch, slice: given }: TransactionClient): BetweenSteps {
  const clock = new WorkClock(msMax)
  const slice = clock.stoppedBetween(given ?? openTimeSlice(watch))
  return () => {
    signal?.throwIfAborted()
    if (!clock.isOver) return slice.yieldIfDue()
    throw new AshlarError(
      'LimitExceeded',
      `The operations of the transaction ran for more than ${msMax / 1_000} s (transactionMsMax); nothing was changed.`,
    )
  }
}
