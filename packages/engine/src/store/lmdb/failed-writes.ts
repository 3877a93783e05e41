/**
 * Makes writes within a transaction throw if LMDB refuses them. lmdb-js ignores the returned error code: a damaged page would end the process by an
 * unhandled rejection, and a refused entry would be acknowledged.
 */
import type { Bytes } from '../store.ts'
import { pageDamage } from './entry-checks.ts'
import { Instruction } from './lmdb-internals.ts'
import type { Environment } from './lmdb-js.ts'

type Writing = Pick<Environment, 'put' | 'remove' | 'getBinaryFast'>

/** LMDB did not write an entry, without a reason. */
export class FailedWrite extends Error {
  readonly key: Bytes

  constructor(key: Bytes) {
    super('LMDB refuses to write an entry')
    this.key = key
  }

  /** Must be called after the transaction. Reads the entry for the cause: the error of a damaged page, else this. */
  reason(environment: Environment): unknown {
    try {
      environment.resetReadTxn()
      environment.getBinaryFast(this.key)
      return this
    } catch (error) {
      return pageDamage(error) === undefined ? this : error
    }
  }
}

/** Replaces `put` and `remove`, which may then only be called within transactions. Throws FailedWrite. */
export function throwFailedWrites(environment: Writing): void {
  const put = environment.put.bind(environment)
  const remove = environment.remove.bind(environment)
  const instruction = new Instruction()
  const check = (key: Bytes): void => {
    if (!instruction.isDone) throw new FailedWrite(key)
  }
  environment.put = (key, value, how) => {
    if (instruction.isLocated) put(key, value, how)
    else instruction.find(environment, () => put(key, value, how))
    check(key)
  }
  environment.remove = (key) => {
    if (instruction.isLocated) remove(key)
    else instruction.find(environment, () => remove(key))
    check(key)
  }
}
