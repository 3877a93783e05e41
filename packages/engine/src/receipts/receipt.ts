/** Executes a request once, however often it is sent: its receipt is part of its commit. */
import { AshlarError } from '../errors.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import {
  decodeReceipt,
  encodeReceipt,
  endKey,
  endMinuteOf,
  type ReceiptState,
  type RequestId,
  receiptHeadBytes,
  receiptKey,
} from './receipt-entry.ts'
import { ReplyBudget } from './reply-budget.ts'

/** A request to be carried out once. */
export interface Once<T> {
  readonly request: RequestId
  /** Computes the reply to store from the result; called in each attempt, before the commit. */
  replyOf(result: T): Bytes
  /** Plain data from which a thread's program creates `replyOf`; without it, the main thread executes the request. */
  readonly form?: object | undefined
}

export interface ReceiptLimits {
  readonly receiptMs: number
  readonly receiptReplyBytesMax: number
  readonly receiptRepliesBytesMax: number
}

/** The receipts that a process creates in a federated database. */
export class Receipts {
  readonly limits: ReceiptLimits
  readonly budget: ReplyBudget

  constructor(limits: ReceiptLimits, budget = new ReplyBudget(limits.receiptRepliesBytesMax, limits.receiptMs)) {
    this.limits = limits
    this.budget = budget
  }

  of<T>(once: Once<T>): Receipt<T> {
    return new Receipt(once, this)
  }
}

/** Thrown if the request was executed before, with the reply it got then. */
export class AlreadyDone extends Error {
  readonly reply: Bytes

  constructor(reply: Bytes) {
    super('the request has been carried out before')
    this.reply = reply
  }
}

/** Progress of a request with several commits. */
export interface ReceiptProgress {
  readonly commits: number
  readonly rows: number
}

export class Receipt<T> {
  readonly key: Buffer
  private readonly once: Once<T>
  private readonly shared: Receipts
  private reservedBytes = 0
  /** The stored value that may be replaced, as of the last check. */
  private replaced: Bytes | undefined
  /** The progress stored by this request itself. */
  private progress: Bytes | undefined

  constructor(once: Once<T>, shared: Receipts) {
    this.once = once
    this.shared = shared
    this.key = receiptKey(once.request)
  }

  /** The same receipt for work whose result is only a part of the reply. */
  from<U>(convert: (result: U) => T): Receipt<U> {
    const { request, replyOf } = this.once
    return new Receipt({ request, replyOf: (result: U) => replyOf(convert(result)) }, this.shared)
  }

  /**
   * Throws AlreadyDone; IdempotencyKeyReused if the key belongs to another request; PartlyCommitted if the request was executed in part;
   * ReplyNotKept.
   */
  async check(snapshot: Pick<Snapshot, 'read'>): Promise<void> {
    const stored = (await snapshot.read([this.key])).values[0]
    this.replaced = stored
    if (stored === undefined || (this.progress !== undefined && Buffer.compare(stored, this.progress) === 0)) return
    // Valid as long as it is stored, regardless of this process's clock: a fast clock must not repeat requests.
    const receipt = decodeReceipt(stored)
    if (Buffer.compare(receipt.fingerprint, this.once.request.fingerprint) !== 0) {
      const message = 'The Idempotency-Key was already used for another request; each request needs its own key.'
      throw new AshlarError('IdempotencyKeyReused', message)
    }
    throw refusalOf(receipt.state, receipt.payload)
  }

  /** Alternative to `check`; the commit requires the absence. */
  assumeAbsent(): void {
    this.replaced = undefined
  }

  /** Must follow `check` or `assumeAbsent`, in the same transaction. */
  async put(transaction: Transaction, result: T): Promise<void> {
    const reply = this.once.replyOf(result)
    if (this.canStore(reply.length)) this.write(transaction, 'done', reply)
    else this.write(transaction, 'doneUnkept', Buffer.alloc(0))
  }

  private canStore(bytes: number): boolean {
    const { limits, budget } = this.shared
    if (bytes > limits.receiptReplyBytesMax || !budget.take(bytes, this.reservedBytes)) return false
    // A retry is not charged again.
    this.reservedBytes = Math.max(this.reservedBytes, bytes)
    return true
  }

  /** Combines `check` and `put`. */
  async checkAndPut(transaction: Transaction, result: T): Promise<void> {
    await this.check(transaction)
    await this.put(transaction, result)
  }

  /** For a commit that is not the last one. */
  async checkAndPutProgress(transaction: Transaction, progress: ReceiptProgress): Promise<Bytes> {
    await this.check(transaction)
    return this.write(transaction, 'partly', Buffer.from(JSON.stringify(progress)))
  }

  /** Must be called when the commit with this progress was made. */
  isAt(progress: Bytes): void {
    this.progress = progress
  }

  private write(transaction: Transaction, state: ReceiptState, payload: Bytes): Bytes {
    const { key, replaced } = this
    if (replaced === undefined) transaction.requireAbsent(key)
    else transaction.requireRevision(key, replaced.subarray(0, receiptHeadBytes))
    const { fingerprint } = this.once.request
    const endMinute = endMinuteOf(Date.now(), this.shared.limits.receiptMs)
    const value = encodeReceipt({ state, endMinute, fingerprint, payload })
    const before = replaced === undefined ? undefined : decodeReceipt(replaced).endMinute
    if (before !== undefined && before !== endMinute) transaction.delete(endKey(key, before))
    transaction.put(key, value)
    transaction.put(endKey(key, endMinute), Buffer.alloc(0))
    return value
  }
}

function refusalOf(state: ReceiptState, payload: Bytes): Error {
  if (state === 'done') return new AlreadyDone(payload)
  if (state === 'doneUnkept') {
    return new AshlarError('ReplyNotKept', 'The request was executed before, but its reply was too large to be stored.')
  }
  const { commits, rows } = JSON.parse(Buffer.from(payload).toString()) as ReceiptProgress
  return new AshlarError(
    'PartlyCommitted',
    `An earlier request with this key made ${commits} of its commits, with ${rows} rows of the file. It either stopped there or is still running in another process.`,
    [],
    { commits, rowsCommitted: rows },
  )
}
