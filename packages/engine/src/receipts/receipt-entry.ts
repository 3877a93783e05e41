/** The stored form of receipts of requests that are executed once, with keys for lookup and for removal at their end. */
import { createHash } from 'node:crypto'
import { keySpace, prefixEnd } from '../bytes/key-space.ts'
import type { Bytes, KeyRange } from '../store/store.ts'

/** Identifies a request that a client may send several times. */
export interface RequestId {
  /** The authenticated user, since keys of different callers are independent; empty without authentication. */
  readonly caller: string
  /** The value of `Idempotency-Key`. */
  readonly key: string
  /** A digest of the entire request, of `fingerprintBytes`. */
  readonly fingerprint: Bytes
}

const fingerprintBytes = 32
const digestBytes = 16

/** All receipts. */
export const receiptRange = {
  from: Buffer.from([keySpace.receipt]),
  to: prefixEnd(Buffer.from([keySpace.receipt])),
}
export const msPerMinute = 60_000
/** Greater than every stored minute. */
export const lastMinute = 0xff_ff_ff_ff

/** Receipts are distributed over this many groups, each of which a distributed store can place on a separate node. */
export const receiptGroups = 16
const lookup = 0
const byEnd = 1

/**
 * `done`: the payload is the reply. `doneUnkept`: the reply was too large.
 * `partly`: some of several commits were made; the payload has their number.
 */
export type ReceiptState = 'done' | 'doneUnkept' | 'partly'
const states: readonly ReceiptState[] = ['done', 'doneUnkept', 'partly']

export interface StoredReceipt {
  readonly state: ReceiptState
  /** Minutes since 1970 after which it expires. */
  readonly endMinute: number
  readonly fingerprint: Bytes
  readonly payload: Bytes
}

export function receiptKey({ caller, key }: Pick<RequestId, 'caller' | 'key'>): Buffer {
  const digest = createHash('sha256').update(`${caller}\0${key}`).digest().subarray(0, digestBytes)
  return Buffer.concat([Buffer.from([keySpace.receipt, digest.readUInt8(0) % receiptGroups, lookup]), digest])
}

/** The key by which the receipt under `key` is found when it expires. */
export function endKey(key: Bytes, endMinute: number): Buffer {
  const minute = Buffer.alloc(4)
  minute.writeUInt32BE(endMinute)
  return Buffer.concat([Buffer.from([keySpace.receipt, key[1] as number, byEnd]), minute, key.subarray(3)])
}

/** The receipt key and the minute in a key made by `endKey`; undefined for other keys. */
export function readEndKey(key: Bytes): { readonly key: Buffer; readonly endMinute: number } | undefined {
  if (key[2] !== byEnd) return undefined
  const bytes = Buffer.from(key)
  const head = Buffer.from([keySpace.receipt, bytes.readUInt8(1), lookup])
  return { key: Buffer.concat([head, bytes.subarray(7)]), endMinute: bytes.readUInt32BE(3) }
}

/** The end keys of one group before the minute. */
export function endedRange(group: number, minute: number): KeyRange {
  const from = Buffer.from([keySpace.receipt, group, byEnd])
  const to = Buffer.alloc(7)
  from.copy(to)
  to.writeUInt32BE(minute, 3)
  return { from, to }
}

/** The first minute after `ms` from `now` have passed. */
export function endMinuteOf(now: number, ms: number): number {
  return Math.ceil((now + ms) / msPerMinute)
}

export function minuteOf(now: number): number {
  return Math.floor(now / msPerMinute)
}

/** Bytes before the payload. */
export const receiptHeadBytes = 1 + 4 + fingerprintBytes

export function encodeReceipt({ state, endMinute, fingerprint, payload }: StoredReceipt): Buffer {
  const value = Buffer.alloc(receiptHeadBytes + payload.length)
  value.writeUInt8(states.indexOf(state), 0)
  value.writeUInt32BE(endMinute, 1)
  value.set(fingerprint, 5)
  value.set(payload, receiptHeadBytes)
  return value
}

export function decodeReceipt(value: Bytes): StoredReceipt {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  return {
    state: states[bytes.readUInt8(0)] as ReceiptState,
    endMinute: bytes.readUInt32BE(1),
    fingerprint: bytes.subarray(5, receiptHeadBytes),
    payload: bytes.subarray(receiptHeadBytes),
  }
}
