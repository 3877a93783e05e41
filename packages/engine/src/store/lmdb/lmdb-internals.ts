/**
 * The only file that uses undocumented parts of lmdb-js, which its public interface does not provide:
 * - A cursor (`nativeAddon`): a public range creates a key, a value and two objects per entry, which takes four times as long as the entry itself.
 * - Whether LMDB refused a write (the word of its instruction): the public functions ignore the error, so that a refused entry would be acknowledged.
 * - Reads during a write transaction (`writeTxn`): lmdb-js would read through that transaction, whose changes may never be committed.
 * - A new read transaction (`_commitReadTxn`): it shows whether LMDB still works after a failed commit, where a write would wait forever.
 * - The end of a write (`startWriting`): lmdb-js prints the stack of a failed commit in addition to rejecting it with the error.
 * - The key buffer, which lmdb-js passes to key encoders.
 * The version of lmdb-js is pinned. Functions are checked when this file is loaded, buffers on first use, so that another version stops the server
 * instead of damaging a store; `lmdb-internals.test.ts` checks the behaviour, and `npm run smoke` the other versions of Node.
 */
import * as lmdb from 'lmdb'
import { assert } from '../../errors.ts'
import type { Bytes } from '../store.ts'
import type { Environment } from './lmdb-js.ts'

/** A cursor that is not closed is never freed. */
interface NativeFunctions {
  readonly Cursor: new (database: object, transaction: number) => NativeCursor
  /** The value buffer; see `EntryCursor.value`. */
  readonly globalBuffer: Buffer
  /** Both return the length of the key, 0 at the end, or an error number. */
  position(cursor: number, flags: number, offset: number, keyLength: number, end: number): number
  iterate(cursor: number): number
  /** Copies the value to the value buffer if it fits. Returns its length or an error number. The key is in the key buffer. */
  getByBinary(database: number, keyLength: number, notOfTransaction: number, transaction: number): number
  /** Throws the error with that number. */
  lmdbError(number: number): never
  /** The next read through the transaction renews it. */
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

// Separate constants: V8 calls these directly, unlike methods of a native object.
export const { Cursor, globalBuffer, getByBinary, position, iterate, lmdbError, resetTxn } = native

/** During a write transaction, lmdb-js reads through it, whatever transaction is requested. */
export function isWriting(environment: Environment): boolean {
  const { writeTxn } = internalsOf(environment).env
  return writeTxn !== null && writeTxn !== undefined
}

/** Greatest status that is not an error: writes that are finished, and transactions whose callbacks are due. */
const lastGoodStatus = 2

/** Prevents printing: a failed commit is reported to its caller alone. */
export function silenceFailedCommits(environment: Pick<Environment, 'put'>): void {
  const { env } = environment as unknown as EnvironmentInternals
  const { startWriting } = env
  assert(typeof startWriting === 'function', 'lmdb-js has its function startWriting')
  const value: typeof startWriting = (address, onStatus) => {
    startWriting.call(env, address, (status) => {
      return status <= lastGoodStatus ? onStatus(status) : withoutPrinting(() => onStatus(status))
    })
  }
  // The property is read-only.
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

/** Waits within a write transaction; meanwhile reads bypass it. */
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

/** Begins and ends a new read transaction. Throws if LMDB refuses all transactions. */
export function tryReadTransaction(environment: Environment): void {
  environment.resetReadTxn()
  internalsOf(environment)._commitReadTxn()
  environment.useReadTransaction().done()
}

/** The buffer to which lmdb-js writes the keys of reads, shared by all environments. */
export function keyBufferOf(environment: Environment): Buffer {
  const [found] = keyTargets(environment, () => environment.getBinaryFast(Buffer.of(0)))
  assert(found !== undefined, 'lmdb-js writes the key of a read to its buffer')
  return found
}

/** LMDB sets this flag in the first word of an instruction when it has executed it. */
const finishedFlag = 0x1000000

/** The instruction by which lmdb-js makes LMDB put or remove an entry within a transaction: a single buffer. */
export class Instruction {
  private words: Uint32Array | undefined

  get isLocated(): boolean {
    return this.words !== undefined
  }

  /** Locates the buffer while `write` puts or removes an entry. */
  find(environment: Internal, write: () => unknown): void {
    const [target] = keyTargets(environment, write)
    this.words = target?.uint32
    assert(this.words !== undefined, 'lmdb-js encodes keys into the buffer of its instruction')
  }

  /** Whether LMDB executed the last instruction, and did not refuse it. */
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
