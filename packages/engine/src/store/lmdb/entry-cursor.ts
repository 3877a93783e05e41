/**
 * A cursor with borrowed entries. The ranges of lmdb-js create a key, a value and two objects per entry, and a dozen closures per range, which takes
 * four times as long as the entry itself.
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
/** Offset of the key in the buffer that lmdb-js shares with LMDB; it follows the length and location of the value. */
const keyStart = 32

/** Cached views of keys and values by length, in the two shared buffers. */
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
  private keyCopy = Buffer.allocUnsafe(64)
  /** Borrowed until anything else is read. */
  key: Buffer = noBytes
  /** Entries consumed by the last iteration of a range, except the one at which it was aborted. */
  visited = 0
  /** Borrowed likewise; undefined if longer than any value ever written. */
  value: Buffer | undefined

  /** Without a transaction, reads in the current write transaction. Must be closed before the transaction ends. */
  constructor(environment: Environment, transaction: ReadTransaction | undefined) {
    this.keys = sharedKeyBuffer(environment)
    this.cursor = new Cursor(environment.db, transaction?.address ?? 0)
    this.address = this.cursor.address
  }

  /**
   * Moves to the first entry at or after the key (before it, if backwards), or of all without a key. Returns false if there is none. Throws errors of
   * LMDB.
   */
  start(key: Bytes | undefined, isBackwards: boolean, isAfter: boolean): boolean {
    return this.position(key, includeValues | (isBackwards ? isReverse : 0) | (isAfter ? isExclusive : 0))
  }

  /** Whether the key exists. Does not read the value. Throws errors of LMDB. */
  has(key: Bytes): boolean {
    return this.position(key, 0) && Buffer.compare(this.key, key) === 0
  }

  /** Must not be called after the last entry. */
  next(): boolean {
    return this.reached(iterate(this.address))
  }

  valueOf(length: number): Buffer {
    return valueView(length, 0) as Buffer
  }

  /** Copies the key to a possibly longer buffer, which the next call overwrites. The first `shared` bytes equal those of the previous copy. */
  keepKey(shared: number): Buffer {
    const { key } = this
    const { length } = key
    const hasRoom = length <= this.keyCopy.length
    if (!hasRoom) this.keyCopy = Buffer.allocUnsafe(2 * length)
    const { keyCopy } = this
    for (let i = hasRoom ? shared : 0; i < length; i++) keyCopy[i] = key[i] as number
    return keyCopy
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

/** `place`: 0 if the value was copied to the value buffer. */
function valueView(length: number, place: number): Buffer | undefined {
  if (place !== 0) return undefined
  return (length < viewsMax ? valueViews[length] : undefined) ?? newValueView(length)
}

function newValueView(length: number): Buffer | undefined {
  if (length > valueBuffer.byteLength) return undefined
  // Not by `subarray`, which uses the property `length` that lmdb-js sets to the length of the last value.
  const view = Buffer.from(valueBuffer.buffer, valueBuffer.byteOffset, length)
  if (length < viewsMax) valueViews[length] = view
  return view
}

/** Longer keys might not fit the key buffer. */
const keyReadMax = 2_048

/**
 * Reads the value of a key into the value buffer, with fewer objects and calls than lmdb-js. Returns its length, or less than 0 if lmdb-js must read
 * it: for an absent key, a long value, an error, or during a write transaction. If lmdb-js has replaced its value buffer, the value is not in this
 * one, which its checksum must detect: therefore the first byte of the previous value is changed before.
 */
export function readToBuffer(environment: Environment, key: Bytes, transaction: ReadTransaction): number {
  const { length } = key
  if (keyBuffer === undefined || length === 0 || length > keyReadMax || isWriting(environment)) return -1
  for (let i = 0; i < length; i++) keyBuffer[i] = key[i] as number
  valueBuffer[0] = ~(valueBuffer[0] as number)
  const found = getByBinary(environment.dbAddress, length, 0, transaction.address)
  return found <= valueBuffer.byteLength ? found : -1
}

/** The value buffer; its property `length` is meaningless. */
export function sharedValueBuffer(): Buffer {
  return valueBuffer
}

/** The first bytes of the value buffer. */
export function borrowedPrefix(length: number): Buffer {
  return valueView(length, 0) as Buffer
}

/** Must receive the result of a read by key: lmdb-js replaces its value buffer if a value is too long for it. */
export function noteValueBuffer(buffer: Buffer): void {
  if (buffer === valueBuffer || (buffer as { readonly isGlobal?: boolean }).isGlobal !== true) return
  valueBuffer = buffer
  valueData = newDataView()
  valueViews.fill(undefined)
}

/** A view that starts with the value at the position of a cursor. */
export function valueDataView(): DataView {
  return valueData
}

/** A view of the result of a read by key, after `noteValueBuffer`; undefined for a separate buffer. */
export function dataViewOf(buffer: Buffer): DataView | undefined {
  return buffer === valueBuffer ? valueData : undefined
}

/** Not by the property `length`; see above. */
function newDataView(): DataView {
  return new DataView(valueBuffer.buffer, valueBuffer.byteOffset, valueBuffer.byteLength)
}

/** The value that a read by key has left in the buffer. */
export function borrowedBytes(buffer: Buffer, length: number): Buffer {
  return (buffer === valueBuffer ? valueView(length, 0) : undefined) ?? buffer.subarray(0, length)
}

function sharedKeyBuffer(environment: Environment): Buffer {
  if (keyBuffer !== undefined) return keyBuffer
  keyBuffer = keyBufferOf(environment)
  keyNumbers = new Uint32Array(keyBuffer.buffer, keyBuffer.byteOffset, 2)
  return keyBuffer
}
