/**
 * A cursor whose entries are borrowed. The ranges of lmdb-js create a key, a value and two objects per
 * entry, and a dozen closures per range, which takes four times as long as the entry itself.
 */
import type { Bytes } from '../store.ts'
import {
  Cursor,
  getByBinary,
  globalBuffer,
  isWriting,
  iterate,
  keyBufferOf,
  lmdbError,
  type NativeCursor,
  position,
} from './lmdb-internals.ts'
import type { Environment, ReadTransaction } from './lmdb-js.ts'

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
let valueBuffer = globalBuffer
let valueData = newDataView()
let keyBuffer: Buffer | undefined
let keyNumbers: Uint32Array = new Uint32Array(0)

export class EntryCursor {
  private readonly cursor: NativeCursor
  private readonly address: number
  private readonly keys: Buffer
  private kept = Buffer.allocUnsafe(64)
  /** Borrowed until anything else is read. */
  key: Buffer = noBytes
  /** Entries that were used by whoever went through a range last, the one aside with which it was broken off. */
  visited = 0
  /** Borrowed in the same way; undefined where it is longer than any value that was ever written. */
  value: Buffer | undefined

  /** Without a transaction, of the write transaction under way. To be closed before the transaction ends. */
  constructor(environment: Environment, transaction: ReadTransaction | undefined) {
    this.keys = sharedKeyBuffer(environment)
    this.cursor = new Cursor(environment.db, transaction?.address ?? 0)
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
    return this.reached(iterate(this.address))
  }

  /** The first bytes of the value, borrowed. */
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
    return this.reached(position(this.address, flags, 0, length, 0))
  }

  private reached(keyLength: number): boolean {
    if (keyLength <= 0) {
      if (keyLength !== 0 && keyLength !== notFound) lmdbError(keyLength)
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

/** Longer ones have no place in the buffer of keys for sure. */
const keyReadMax = 2_048

/**
 * Reads the value of a key to the buffer of values, as lmdb-js does with some more objects and calls. Returns its length; less than 0 where lmdb-js is to be
 * asked: for a key that is not there, a long value, an error, and while a write transaction is under way. Where lmdb-js has another buffer of values by
 * now, the buffer has not the value: its checksum is to tell, also of the value that was read before, whose first byte is changed for that.
 */
export function readToBuffer(environment: Environment, key: Bytes, transaction: ReadTransaction): number {
  const { length } = key
  if (keyBuffer === undefined || length === 0 || length > keyReadMax || isWriting(environment)) return -1
  for (let i = 0; i < length; i++) keyBuffer[i] = key[i] as number
  valueBuffer[0] = ~(valueBuffer[0] as number)
  const found = getByBinary(environment.dbAddress, length, 0, transaction.address)
  return found <= valueBuffer.byteLength ? found : -1
}

/** The buffer of values, of which the property `length` tells nothing. */
export function sharedValueBuffer(): Buffer {
  return valueBuffer
}

/** The first bytes of the buffer of values. */
export function borrowedPrefix(length: number): Buffer {
  return valueView(length, 0) as Buffer
}

/** What a read by key has returned: lmdb-js gets another buffer for values where one is too long for the present one. */
export function noteValueBuffer(buffer: Buffer): void {
  if (buffer === valueBuffer || (buffer as { readonly isGlobal?: boolean }).isGlobal !== true) return
  valueBuffer = buffer
  valueData = newDataView()
  valueViews.fill(undefined)
}

/** Of the bytes where the value at the position of a cursor begins. */
export function valueDataView(): DataView {
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
export function borrowedBytes(buffer: Buffer, length: number): Buffer {
  return (buffer === valueBuffer ? valueView(length, 0) : undefined) ?? buffer.subarray(0, length)
}

/** One for all environments. */
function sharedKeyBuffer(environment: Environment): Buffer {
  if (keyBuffer !== undefined) return keyBuffer
  keyBuffer = keyBufferOf(environment)
  keyNumbers = new Uint32Array(keyBuffer.buffer, keyBuffer.byteOffset, 2)
  return keyBuffer
}
