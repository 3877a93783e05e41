/**
 * The only file that reads or sets what lmdb-js does not document. Its public interface has none of this:
 * - A cursor (`nativeAddon`): a public range makes a key, a value and two objects per entry, which takes four times as long as the entry itself.
 * - Whether LMDB refused a write (the word of its instruction): the public functions ignore the error, so that a refused entry would be acknowledged.
 * - Reads beside a write transaction in progress (`writeTxn`): lmdb-js would read through that transaction, whose changes may never be committed.
 * - A new read transaction (`_commitReadTxn`): it shows whether LMDB still works after a failed commit, where a write would wait forever.
 * - The end of a write (`startWriting`): lmdb-js prints the stack of a failed commit, beside rejecting the commit with the error.
 * - The buffer of keys, which lmdb-js shows to whatever encodes keys.
 *
 * The version of lmdb-js is pinned. The functions are checked when this file is loaded, and the buffers when they are first used, so that another version
 * stops the server instead of damaging a store; `lmdb-internals.test.ts` checks the behaviour, and `npm run smoke` the other versions of Node.
 */
import * as lmdb from 'lmdb'
import { assert } from '../../errors.ts'
import type { Bytes } from '../store.ts'
import type { Environment } from './lmdb-js.ts'

/** A cursor that is not closed is never freed. */
interface NativeFunctions {
  readonly Cursor: new (database: object, transaction: number) => NativeCursor
  /** Where values are copied to; see `LmdbCursor.value`. */
  readonly globalBuffer: Buffer
  /** Both return the length of the key, 0 behind the last entry, or the number of an error. */
  position(cursor: number, flags: number, offset: number, keyLength: number, end: number): number
  iterate(cursor: number): number
  /** Copies the value to the buffer of values, where it fits in. Returns its length, or the number of an error; the key is in the buffer of keys. */
  getByBinary(database: number, keyLength: number, notOfTransaction: number, transaction: number): number
  /** Throws it. */
  lmdbError(number: number): never
  /** The next read through the transaction begins it anew. */
  resetTxn(transaction: number): void
}

export interface NativeCursor {
  readonly address: number
  close(): void
}

interface EnvironmentInternals {
  _commitReadTxn(): void
  readonly env: {
    writeTxn?: object | null
    startWriting?(address: number, onStatus: (status: number) => unknown): void
  }
  writeKey(key: Bytes, target: Buffer & { uint32?: Uint32Array }, at: number): number
}

type Internal = Pick<Environment, 'put' | 'remove' | 'getBinaryFast'>

function internalsOf(environment: Internal): EnvironmentInternals {
  return environment as unknown as EnvironmentInternals
}

const native = (lmdb as unknown as { readonly nativeAddon: NativeFunctions }).nativeAddon

for (const name of ['Cursor', 'position', 'iterate', 'getByBinary', 'lmdbError', 'resetTxn'] as const) {
  assert(typeof native?.[name] === 'function', `lmdb-js has its native function ${name}`)
}
assert(Buffer.isBuffer(native.globalBuffer), 'lmdb-js has its buffer of values')

// Each as a constant: V8 calls these directly, unlike the functions of an object of the library.
export const { Cursor, globalBuffer, getByBinary, position, iterate, lmdbError, resetTxn } = native

/** Reads would go through the write transaction in progress, whatever transaction they name. */
export function isWriting(environment: Environment): boolean {
  const { writeTxn } = internalsOf(environment).env
  return writeTxn !== null && writeTxn !== undefined
}

/** The statuses of writes that are finished, and of transactions whose callbacks are due. */
const lastGoodStatus = 2

/** A failed commit is reported to its caller alone: nothing is printed. */
export function silenceFailedCommits(environment: Pick<Environment, 'put'>): void {
  const { env } = environment as unknown as EnvironmentInternals
  const { startWriting } = env
  assert(typeof startWriting === 'function', 'lmdb-js has its function startWriting')
  const value: typeof startWriting = (address, onStatus) => {
    startWriting.call(env, address, (status) => {
      return status <= lastGoodStatus ? onStatus(status) : withoutPrinting(() => onStatus(status))
    })
  }
  // The property of the library is read-only.
  Object.defineProperty(env, 'startWriting', { value })
}

function withoutPrinting<T>(call: () => T): T {
  const { error } = console
  console.error = () => undefined
  try {
    return call()
  } finally {
    console.error = error
  }
}

/** Waits within a write transaction; meanwhile reads do not go through it. */
export async function pauseWriting(environment: Environment, pause: Promise<void>): Promise<void> {
  const { env } = internalsOf(environment)
  const { writeTxn } = env
  env.writeTxn = null
  try {
    await pause
  } finally {
    env.writeTxn = writeTxn ?? null
  }
}

/** Begins a new read transaction of LMDB, and ends it. Throws where LMDB refuses all transactions. */
export function tryReadTransaction(environment: Environment): void {
  environment.resetReadTxn()
  internalsOf(environment)._commitReadTxn()
  environment.useReadTransaction().done()
}

/** The buffer to which lmdb-js writes the keys of reads; one for all environments. */
export function keyBufferOf(environment: Environment): Buffer {
  const [found] = keyTargets(environment, () => environment.getBinaryFast(Buffer.of(0)))
  assert(found !== undefined, 'lmdb-js writes the key of a read to its buffer')
  return found
}

/** lmdb-js sets it in the first word of its instruction when LMDB has followed that. */
const finishedFlag = 0x1000000

/** The instruction by which lmdb-js has LMDB put or remove an entry within a transaction: one buffer for all of them. */
export class Instruction {
  private words: Uint32Array | undefined

  get isKnown(): boolean {
    return this.words !== undefined
  }

  /** Finds the buffer while `write` puts or removes an entry. */
  find(environment: Internal, write: () => unknown): void {
    const [target] = keyTargets(environment, write)
    this.words = target?.uint32
    assert(this.words !== undefined, 'lmdb-js encodes keys into the buffer of its instruction')
  }

  /** LMDB has followed the last one, and did not refuse it. */
  get isDone(): boolean {
    return ((this.words as Uint32Array)[0]! & finishedFlag) !== 0
  }
}

/** The buffers to which lmdb-js encodes keys while `action` runs. */
function keyTargets(environment: Internal, action: () => unknown): (Buffer & { uint32?: Uint32Array })[] {
  const encoding = internalsOf(environment)
  const { writeKey } = encoding
  const targets: Buffer[] = []
  encoding.writeKey = (key, target, at) => {
    targets.push(target)
    return writeKey.call(encoding, key, target, at)
  }
  try {
    action()
  } finally {
    encoding.writeKey = writeKey
  }
  return targets
}
