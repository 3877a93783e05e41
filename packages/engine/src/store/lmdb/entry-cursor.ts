/**
 * A cursor that lends the entries at its position. The ranges of lmdb-js create a key, a value and two objects per
 * entry, and a dozen closures per range, which takes four times as long as the entry itself.
 */
import * as lmdb from 'lmdb'
import { assert } from '../../errors.ts'
import { type SharedTurn, sharedTurn } from '../reads-of-turn.ts'
import type { Bytes } from '../store.ts'
import type { LeafReader } from './leaf-reader.ts'
import type { Environment, ReadTransaction } from './lmdb-js.ts'

/** What lmdb-js uses of its own library; its types do not have it. A cursor that is not closed is never freed. */
interface NativeFunctions {
  readonly Cursor: new (database: object, transaction: number) => NativeCursor
  /** Where values are copied to; see `LmdbCursor.value`. */
  readonly globalBuffer: Buffer
  /** Both return the length of the key, 0 behind the last entry, or the number of an error. */
  position(cursor: number, flags: number, offset: number, keyLength: number, end: number): number
  iterate(cursor: number): number
  /** Throws it. */
  lmdbError(number: number): never
  /** The next read through the transaction begins it anew. */
  resetTxn(transaction: number): void
}

interface NativeCursor {
  readonly address: number
  close(): void
}

const native = (lmdb as unknown as { readonly nativeAddon: NativeFunctions }).nativeAddon

const includeValues = 0x100
const isReverse = 0x400
const isExclusive = 0x1_0000
const notFound = -30_798
const keyLengthMax = 20_000
/** Of the key, in the buffer that lmdb-js shares with its library; before it stand the length of the value and where else it is. */
const keyStart = 32

/** Of keys and values of each length, in the two buffers: views of them are made once. */
const viewsMax = 2_048
const noBytes = Buffer.alloc(0)
const keyViews = new Array<Buffer | undefined>(viewsMax)
const valueViews = new Array<Buffer | undefined>(viewsMax)
let valueBuffer = native.globalBuffer
let valueData = newDataView()
let keyBuffer: Buffer | undefined
let keyNumbers: Uint32Array = new Uint32Array(0)

/** A read transaction that a snapshot holds; its cursor is kept for the next range. */
export interface Pin {
  readonly transaction: ReadTransaction
  /** As `performance.now` tells it; of a shared one, that of the first. */
  readonly begunAtMs: number
  cursor: EntryCursor | undefined
  /** For ranges of many entries; null where these cannot be read from the file. */
  leaves?: LeafReader | null | undefined
  /** Pins that have the same show the same; undefined where it has a transaction of its own. */
  readonly sharedRead?: object
}

/** The read transaction of an environment that its snapshots share. */
const sharedTransactions = new WeakMap<Environment, ReadTransaction>()

/**
 * Pins what the store holds now. lmdb-js shares one read transaction in the process and renews it by a timer only: it is reset first, else
 * the snapshot could be older than the call. While nobody else holds it, the library's own function does that, since lmdb-js would set another timer
 * for each snapshot.
 */
export function beginRead(environment: Environment): Pin {
  endSharedRead(environment)
  const shared = sharedTransactions.get(environment)
  if (shared !== undefined && isFree(shared)) native.resetTxn(shared.address)
  else environment.resetReadTxn()
  const transaction = environment.useReadTransaction()
  if (transaction !== shared) sharedTransactions.set(environment, transaction)
  return { transaction, begunAtMs: performance.now(), cursor: undefined }
}

/** What the snapshots of one turn of the event loop read through; held until the turn is over. */
interface SharedRead {
  readonly turn: SharedTurn
  readonly transaction: ReadTransaction
  readonly begunAtMs: number
}

const sharedReads = new WeakMap<Environment, SharedRead>()

/** The same for a read that may show what an earlier one of the turn does, where `shareReads` allows it. */
export function beginSharedRead(environment: Environment): Pin {
  const turn = sharedTurn()
  if (turn === undefined) return beginRead(environment)
  let read = sharedReads.get(environment)
  if (read?.turn !== turn) {
    const { transaction, begunAtMs } = beginRead(environment)
    read = { turn, transaction, begunAtMs }
    sharedReads.set(environment, read)
    setImmediate(endIfStill, environment, read)
  }
  const { transaction, begunAtMs } = read
  transaction.use()
  return { transaction, begunAtMs, cursor: undefined, sharedRead: read }
}

function endIfStill(environment: Environment, read: SharedRead): void {
  if (sharedReads.get(environment) === read) endSharedRead(environment)
}

/** To be called before the environment is closed, too. */
export function endSharedRead(environment: Environment): void {
  const read = sharedReads.get(environment)
  if (read === undefined) return
  sharedReads.delete(environment)
  read.transaction.done()
}

/** lmdb-js gives it out again, and nobody reads through it. */
function isFree({ refCount, notCurrent, isDone, isCommitted }: ReadTransaction): boolean {
  return refCount === 0 && notCurrent !== true && isDone !== true && isCommitted !== true
}

/** Without a pin, with a cursor of the write transaction under way. */
export function withCursor<T>(environment: Environment, pin: Pin | undefined, use: (cursor: EntryCursor) => T): T {
  const cursor = pin?.cursor ?? new EntryCursor(environment, pin?.transaction)
  if (pin === undefined) {
    try {
      return use(cursor)
    } finally {
      cursor.close()
    }
  }
  pin.cursor = undefined
  try {
    return use(cursor)
  } finally {
    pin.cursor = cursor
  }
}

export class EntryCursor {
  private readonly cursor: NativeCursor
  private readonly address: number
  private readonly keys: Buffer
  private kept = Buffer.allocUnsafe(64)
  /** Lent, until anything else is read. */
  key: Buffer = noBytes
  /** Entries that were used by whoever went through a range last, the one aside with which it was broken off. */
  visited = 0
  /** Lent in the same way; undefined where it is longer than any value that was ever written. */
  value: Buffer | undefined

  /** Without a transaction, of the write transaction under way. To be closed before the transaction ends. */
  constructor(environment: Environment, transaction: ReadTransaction | undefined) {
    this.keys = sharedKeyBuffer(environment)
    this.cursor = new native.Cursor(environment.db, transaction?.address ?? 0)
    this.address = this.cursor.address
  }

  /** At the first entry from the key on, or after it; without a key, of all. False where there is none. Throws errors of LMDB. */
  start(key: Bytes | undefined, isBackwards: boolean, isAfter: boolean): boolean {
    return this.position(key, includeValues | (isBackwards ? isReverse : 0) | (isAfter ? isExclusive : 0))
  }

  /** Whether there is an entry of the key. Its value is not read. Throws errors of LMDB. */
  has(key: Bytes): boolean {
    return this.position(key, 0) && Buffer.compare(this.key, key) === 0
  }

  /** Not after the last entry. */
  next(): boolean {
    return this.reached(native.iterate(this.address))
  }

  /** The first bytes of the value, lent. */
  valueOf(length: number): Buffer {
    return valueView(length, 0) as Buffer
  }

  /** A copy of the key, longer than that, which the next call overwrites; of its first bytes, so many are those of the copy made before. */
  keepKey(shared: number): Buffer {
    const { key } = this
    const { length } = key
    const hasRoom = length <= this.kept.length
    if (!hasRoom) this.kept = Buffer.allocUnsafe(2 * length)
    const { kept } = this
    for (let i = hasRoom ? shared : 0; i < length; i++) kept[i] = key[i] as number
    return kept
  }

  close(): void {
    this.cursor.close()
  }

  private position(key: Bytes | undefined, flags: number): boolean {
    const { keys } = this
    const length = key === undefined ? 0 : key.length
    for (let i = 0; i < length; i++) keys[i] = (key as Bytes)[i] as number
    return this.reached(native.position(this.address, flags, 0, length, 0))
  }

  private reached(keyLength: number): boolean {
    if (keyLength <= 0) {
      if (keyLength !== 0 && keyLength !== notFound) native.lmdbError(keyLength)
      return false
    }
    if (keyLength > keyLengthMax) throw new Error(`Invalid key size ${keyLength.toString(16)}`)
    this.key = keyView(this.keys, keyLength)
    this.value = valueView(keyNumbers[0] as number, keyNumbers[1] as number)
    return true
  }
}

function keyView(keys: Buffer, length: number): Buffer {
  return (length < viewsMax ? keyViews[length] : undefined) ?? newKeyView(keys, length)
}

function newKeyView(keys: Buffer, length: number): Buffer {
  const view = keys.subarray(keyStart, keyStart + length)
  if (length < viewsMax) keyViews[length] = view
  return view
}

/** `place`: 0 where it was copied to the buffer of values. */
function valueView(length: number, place: number): Buffer | undefined {
  if (place !== 0) return undefined
  return (length < viewsMax ? valueViews[length] : undefined) ?? newValueView(length)
}

function newValueView(length: number): Buffer | undefined {
  if (length > valueBuffer.byteLength) return undefined
  // Not by `subarray`, which goes by the property `length` that lmdb-js sets to that of the last value.
  const view = Buffer.from(valueBuffer.buffer, valueBuffer.byteOffset, length)
  if (length < viewsMax) valueViews[length] = view
  return view
}

/** What a read by key has returned: lmdb-js gets another buffer for values where one is too long for the present one. */
export function noteValueBuffer(buffer: Buffer): void {
  if (buffer === valueBuffer || (buffer as { readonly isGlobal?: boolean }).isGlobal !== true) return
  valueBuffer = buffer
  valueData = newDataView()
  valueViews.fill(undefined)
}

/** Of the bytes where the value at the position of a cursor begins. */
export function lentView(): DataView {
  return valueData
}

/** Of what a read by key has returned, after it was noted; undefined for a buffer of its own. */
export function dataViewOf(buffer: Buffer): DataView | undefined {
  return buffer === valueBuffer ? valueData : undefined
}

/** Not by the property `length`, as above. */
function newDataView(): DataView {
  return new DataView(valueBuffer.buffer, valueBuffer.byteOffset, valueBuffer.byteLength)
}

/** The bytes of a value that a read by key has left in the buffer. */
export function lentBytes(buffer: Buffer, length: number): Buffer {
  return (buffer === valueBuffer ? valueView(length, 0) : undefined) ?? buffer.subarray(0, length)
}

/** lmdb-js writes keys to it for its library; one for all environments. It shows it to whatever writes keys. */
function sharedKeyBuffer(environment: Environment): Buffer {
  if (keyBuffer !== undefined) return keyBuffer
  const { writeKey } = environment
  const targets: Buffer[] = []
  environment.writeKey = (key, target, at) => {
    targets.push(target)
    return writeKey(key, target, at)
  }
  try {
    environment.getBinaryFast(Buffer.of(0))
  } finally {
    environment.writeKey = writeKey
  }
  const [found] = targets
  assert(found !== undefined, 'lmdb-js writes the key of a read to its buffer')
  keyBuffer = found
  keyNumbers = new Uint32Array(found.buffer, found.byteOffset, 2)
  return found
}
