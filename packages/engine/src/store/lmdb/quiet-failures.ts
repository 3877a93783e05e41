/** A commit that fails is told to whoever waits for it, and not printed. */
import type { Environment } from './lmdb-js.ts'

/** Of writes that are finished, and of transactions whose callbacks are to be called. */
const lastGoodStatus = 2

/** lmdb-js prints the error, as a stack of its own functions, beside rejecting the commit with it. */
export function quietFailures({ env }: Pick<Environment, 'env'>): void {
  const { startWriting } = env
  const value: typeof startWriting = (address, told) => {
    startWriting.call(env, address, (status) => (status <= lastGoodStatus ? told(status) : withoutErrors(told, status)))
  }
  // It cannot be assigned, since that of the library cannot be written.
  Object.defineProperty(env, 'startWriting', { value })
}

function withoutErrors(told: (status: number) => unknown, status: number): unknown {
  const { error } = console
  console.error = () => undefined
  try {
    return told(status)
  } finally {
    console.error = error
  }
}
