/**
 * Makes writes within a transaction throw when LMDB refuses them. lmdb-js ignores the returned error code: a damaged
 * page would end the process by an unhandled rejection, and a refused entry would be acknowledged.
 */
import { assert } from '../../errors.ts'
import type { Bytes } from '../store.ts'
import { pageDamage } from './entry-checks.ts'
import type { Environment } from './lmdb-js.ts'

/** lmdb-js sets it in the first word of its instruction when LMDB has followed that. */
const finishedFlag = 0x1000000

/** The instruction is put together in one buffer, which the function that encodes keys gets. */
interface KeyEncoding {
  writeKey(key: Bytes, target: Uint8Array & { uint32?: Uint32Array }, start: number): number
}

type Writing = Pick<Environment, 'put' | 'remove'>

/** LMDB did not write an entry, and did not say why. */
export class FailedWrite extends Error {
  readonly key: Bytes

  constructor(key: Bytes) {
    super('LMDB refuses to write an entry')
    this.key = key
  }

  /** What a read of the entry says, once the transaction has ended: the reason where a page is damaged, else this. */
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

/** Replaces `put` and `remove`, which from then on may only be called inside of transactions. Throws FailedWrite. */
export function throwFailedWrites(environment: Writing): void {
  const put = environment.put.bind(environment)
  const remove = environment.remove.bind(environment)
  let words: Uint32Array | undefined
  const check = (key: Bytes): void => {
    if (((words as Uint32Array)[0]! & finishedFlag) === 0) throw new FailedWrite(key)
  }
  environment.put = (key, value, how) => {
    if (words === undefined) words = wordsOf(environment, () => put(key, value, how))
    else put(key, value, how)
    check(key)
  }
  environment.remove = (key) => {
    if (words === undefined) words = wordsOf(environment, () => remove(key))
    else remove(key)
    check(key)
  }
}

/** The buffer of the instruction that `write` gives, which is that of all others too. */
function wordsOf(environment: Writing, write: () => unknown): Uint32Array {
  const encoding = environment as unknown as KeyEncoding
  const { writeKey } = encoding
  let words: Uint32Array | undefined
  encoding.writeKey = (key, target, start) => {
    words = target.uint32
    return writeKey.call(encoding, key, target, start)
  }
  try {
    write()
  } finally {
    encoding.writeKey = writeKey
  }
  assert(words !== undefined, 'lmdb-js encodes keys into the buffer of its instruction')
  return words
}
