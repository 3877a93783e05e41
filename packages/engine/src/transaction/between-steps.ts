/** Yields between the steps of a long change, and ends it at its time limit or if the client disconnects. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import { WorkClock } from '../budget/work-clock.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError } from '../errors.ts'
import { openTimeSlice, type SliceWatch, type TimeSlice } from '../store/time-slice.ts'
import type { Isolation } from './isolation.ts'

/** Must be called between operations; yields if due. Throws LimitExceeded at the time limit, and the reason of an aborted signal. */
export type BetweenSteps = () => Promise<void> | undefined

export interface TransactionClient {
  readonly signal?: CancelSignal | undefined
  readonly watch?: SliceWatch | undefined
  /** By default that of the federated database. */
  readonly isolation?: Isolation | undefined
  readonly memoryHolder?: MemoryHolder | undefined
  /** Where it runs; by default on the event loop, yielding after each slice. */
  readonly slice?: TimeSlice | undefined
}

/** `msMax`: for all attempts together, without yields (`transactionMsMax`). */
export function betweenSteps(msMax: number, { signal, watch, slice: clientSlice }: TransactionClient): BetweenSteps {
  const clock = new WorkClock(msMax)
  const slice = clock.stoppedBetween(clientSlice ?? openTimeSlice(watch))
  return () => {
    signal?.throwIfAborted()
    if (!clock.isOver) return slice.yieldIfDue()
    throw new AshlarError(
      'LimitExceeded',
      `The operations of the transaction ran for more than ${msMax / 1_000} s (transactionMsMax); nothing was changed.`,
    )
  }
}
