/** A transaction whose changes are told to a listener once it is committed. */
import type { Awaitable, Store } from '../store/store.ts'
import { type TransactOptions, transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type ChangeListener, ChangeRecorder } from './change-set.ts'

/** `body` records what it changes; of several attempts, that of the one which is committed counts. Throws what `transact` does. */
export function transactRecorded<T>(
  store: Store,
  attemptsMax: number,
  listener: ChangeListener | undefined,
  body: (transaction: Transaction, recorder?: ChangeRecorder) => Awaitable<T>,
  options: TransactOptions,
): Promise<T> {
  if (listener === undefined) return transact(store, attemptsMax, body, options)
  let recorder = new ChangeRecorder()
  const attempt = (transaction: Transaction): Awaitable<T> => {
    recorder = new ChangeRecorder()
    return body(transaction, recorder)
  }
  const onCommitted = (): void => {
    if (!recorder.isEmpty) listener(recorder)
  }
  return transact(store, attemptsMax, attempt, { ...options, onCommitted })
}
