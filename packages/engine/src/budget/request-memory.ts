/** Memory of one request, counted before it is allocated, and its limits. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { MemoryHolder, MemoryPool } from './memory-pool.ts'

export type MemoryLimits = Pick<EngineLimits, 'statementBytesMax' | 'transactionBytesMax' | 'statementsBytesMax'>

/** A request may hold this much without the pool, so that small statements run while the pool is exhausted. */
export const unpooledBytes = 2 ** 20
/** Bytes reserved from the pool per step. */
const stepBytes = 4 * 2 ** 20

type LimitName = 'statementBytesMax' | 'transactionBytesMax' | 'expressionBytesMax'

/** Uses that cannot spill to disk and need an error text of their kind: rows that are values, and rows of OVER. */
export type MemoryUse = 'values' | 'windows'

/** `limit`: the exceeded limit, such as `5 rows (sortedRowsMax)`. */
export function refusalOfRows(use: MemoryUse, limit: string): string {
  return use === 'values'
    ? `The rows of a statement that is used as a value (of LET, WITH, UNION, FOR EACH or within another statement) stay in memory, and what the request holds would be more than ${limit}. Make it a source where it can be one (FROM (FROM …), WITH, or a join instead of IN, which go on on disk), return fewer columns, restrict or aggregate the rows within that statement, or ask for parts of them in several requests.`
    : `The rows of OVER, or what its aggregates of one partition hold on to (COLLECT, DISTINCT, MEDIAN, PERCENTILE), would have the request hold more than ${limit}. Return fewer columns, restrict the rows by WHERE, aggregate them by GROUP BY first, or ask for some of the partitions at a time.`
}

const refusalOfUse: Readonly<Record<MemoryUse, (max: number) => string>> = {
  values: (max) => refusalOfRows('values', `${max} bytes (statementBytesMax)`),
  windows: (max) => refusalOfRows('windows', `${max} bytes (statementBytesMax)`),
}

/** Whether memory was refused, to this request or to all of them. */
export function isMemoryRefused(error: unknown): boolean {
  return error instanceof AshlarError && (error.type === 'LimitExceeded' || error.type === 'ServerBusy')
}

const refusalOf: Readonly<Record<LimitName, (max: number) => string>> = {
  statementBytesMax: (max) =>
    `What the statements hold in memory would take more than ${max} bytes (statementBytesMax): variables, texts and lists, links, rows that are sorted, grouped or collected, and the reply to a change. TAKE, WHERE, an index on the order or several requests may help.`,
  expressionBytesMax: (max) =>
    `The expression would take more than ${max} bytes in memory for one object (expressionBytesMax): the texts, lists and json that it compares or makes are too long together.`,
  transactionBytesMax: (max) =>
    `What is changed together would take more than ${max} bytes in memory until the commit (transactionBytesMax): objects, records and index entries. Several transactions, or COMMIT EVERY, may help.`,
}

class Account {
  private bytes = 0
  private reserved = 0
  /** Up to this number of bytes, no reservation in the pool is needed. */
  private granted: number
  /** Like `granted`, but no more than the peak so far while the peak is watched. */
  private allowed: number
  private peak: number | undefined
  private readonly pool: MemoryPool
  private readonly bytesMax: number
  private readonly poolBytesMax: number
  private readonly limit: LimitName
  private readonly holder: MemoryHolder | undefined

  constructor(pool: MemoryPool, bytesMax: number, poolBytesMax: number, limit: LimitName, holder?: MemoryHolder) {
    this.pool = pool
    this.holder = holder
    this.bytesMax = bytesMax
    this.poolBytesMax = poolBytesMax
    this.limit = limit
    this.granted = Math.min(unpooledBytes, bytesMax)
    this.allowed = this.granted
  }

  /** Negative to release; `use`: the purpose. Throws LimitExceeded, ServerBusy, and errors of the holder. */
  add(bytes: number, use?: MemoryUse): void {
    this.bytes += bytes
    if (bytes > 0 && this.bytes > this.allowed) this.grow(use)
  }

  release(): void {
    if (this.reserved > 0) this.pool.giveBack(this.reserved, this.holder)
    this.reserved = 0
    this.bytes = 0
    this.granted = Math.min(unpooledBytes, this.bytesMax)
    this.allowed = this.peak === undefined ? this.granted : 0
  }

  get bytesNow(): number {
    return this.bytes
  }

  /** Whether half of the limit is used, or the pool is nearly exhausted. */
  get isShort(): boolean {
    const { bytes, bytesMax, pool, poolBytesMax } = this
    return bytes * 2 > bytesMax || (bytes > unpooledBytes && pool.bytes * 4 > poolBytesMax * 3)
  }

  /** Unwatched accounts do not pay for tracking a peak. */
  watchPeak(): void {
    this.peak = this.bytes
    this.allowed = Math.min(this.bytes, this.granted)
  }

  get peakBytes(): number {
    return this.peak ?? this.bytes
  }

  private grow(use: MemoryUse | undefined): void {
    const { bytes, bytesMax, peak } = this
    if (peak !== undefined) {
      this.peak = Math.max(peak, bytes)
      this.allowed = bytes
      if (bytes <= this.granted) return
    }
    if (bytes > bytesMax)
      throw new AshlarError('LimitExceeded', (use === undefined ? refusalOf[this.limit] : refusalOfUse[use])(bytesMax))
    const reserved = Math.ceil(bytes / stepBytes) * stepBytes
    this.pool.take(reserved - this.reserved, this.poolBytesMax, this.holder)
    this.reserved = reserved
    this.granted = Math.min(reserved, bytesMax)
    this.allowed = peak === undefined ? this.granted : bytes
  }
}

/**
 * Counts the memory of statements in three parts: of the current row, until it ends; of the statement, until it ends; and of the request, until it
 * ends or releases it. Counted separately, for a transaction: objects, until the statement or operation that loaded them ends, and changes, until the
 * commit. Sizes are estimates; values that share parts count as if written out, since traversing such a value visits each part as often as it occurs.
 */
export class RequestMemory {
  private statements: Account | undefined
  private readonly pool: MemoryPool
  private readonly limits: MemoryLimits
  private readonly holder: MemoryHolder | undefined
  private readonly statementsLimit: LimitName
  private transaction: Account | undefined
  private rowBytes = 0
  private statementTotal = 0
  private retained = 0
  private requestTotal = 0
  private loaded = 0
  private changed = 0

  /** `statementsLimit`: what messages call the limit of statements. */
  constructor(
    pool: MemoryPool,
    limits: MemoryLimits,
    holder?: MemoryHolder,
    statementsLimit: LimitName = 'statementBytesMax',
  ) {
    this.pool = pool
    this.limits = limits
    this.holder = holder
    this.statementsLimit = statementsLimit
  }

  /** Until the row ends; negative for an overestimate. Throws LimitExceeded and ServerBusy. */
  chargeRow(bytes: number): void {
    this.rowBytes += bytes
    this.statementAccount().add(bytes)
  }

  endRow(): void {
    if (this.rowBytes === 0) return
    this.statements?.add(-this.rowBytes)
    this.rowBytes = 0
  }

  /** Until the statement ends; negative to release earlier. `use`: the purpose. Throws LimitExceeded and ServerBusy. */
  chargeStatement(bytes: number, use?: MemoryUse): void {
    this.statementTotal += bytes
    this.statementAccount().add(bytes, use)
  }

  get isShort(): boolean {
    return this.statements?.isShort === true
  }

  /** Current bytes of statements, for `resetStatement`. */
  get statementBytes(): number {
    return this.statementTotal
  }

  /** Retains bytes charged to the statement until it ends, even if the operator that charged them ends earlier. */
  keepForStatement(bytes: number): void {
    this.retained += bytes
  }

  /** Sum of all calls of `keepForStatement`; only differences are meaningful. */
  get retainedBytes(): number {
    return this.retained
  }

  /** At the end of an operation, or of a statement; `bytes`: `statementBytes` at its start. */
  resetStatement(bytes: number): void {
    this.statements?.add(bytes - this.statementTotal - this.rowBytes)
    this.transaction?.add(-this.loaded)
    this.statementTotal = bytes
    this.rowBytes = 0
    this.loaded = 0
  }

  /** Until `releaseAllBut`; negative to release. Throws LimitExceeded and ServerBusy. */
  chargeRequest(bytes: number): void {
    this.requestTotal += bytes
    this.statementAccount().add(bytes)
  }

  get requestBytes(): number {
    return this.requestTotal
  }

  /** Releases everything but `bytes` of the request: the ones from before the first attempt, or, after the last one, of the reply. */
  releaseAllBut(bytes: number): void {
    this.resetStatement(0)
    this.statements?.add(bytes - this.requestTotal)
    this.transaction?.add(-this.changed)
    this.requestTotal = bytes
    this.changed = 0
  }

  /** An object that a transaction read in order to change it, or creates. Throws LimitExceeded and ServerBusy. */
  chargeLoaded(bytes: number): void {
    this.loaded += bytes
    this.transactionAccount().add(bytes)
  }

  /** A change or a precondition of the commit. Throws LimitExceeded and ServerBusy. */
  chargeChange(bytes: number): void {
    this.changed += bytes
    this.transactionAccount().add(bytes)
  }

  /** Bytes charged to the request now, including its transaction. */
  get bytes(): number {
    return (this.statements?.bytesNow ?? 0) + (this.transaction?.bytesNow ?? 0)
  }

  watchPeaks(): void {
    this.statementAccount().watchPeak()
    this.transactionAccount().watchPeak()
  }

  /** Peak bytes of statements, and of the transaction until its commit. */
  get peaks(): { readonly statementBytes: number; readonly transactionBytes: number } {
    return { statementBytes: this.statements?.peakBytes ?? 0, transactionBytes: this.transaction?.peakBytes ?? 0 }
  }

  /** At the end of the request. Idempotent. */
  release(): void {
    this.rowBytes = 0
    this.statementTotal = 0
    this.requestTotal = 0
    this.loaded = 0
    this.changed = 0
    this.statements?.release()
    this.transaction?.release()
  }

  private statementAccount(): Account {
    if (this.statements !== undefined) return this.statements
    const { pool, holder } = this
    const { statementBytesMax, statementsBytesMax } = this.limits
    this.statements = new Account(pool, statementBytesMax, statementsBytesMax, this.statementsLimit, holder)
    return this.statements
  }

  private transactionAccount(): Account {
    if (this.transaction !== undefined) return this.transaction
    const { pool, holder } = this
    const { transactionBytesMax, statementsBytesMax } = this.limits
    this.transaction = new Account(pool, transactionBytesMax, statementsBytesMax, 'transactionBytesMax', holder)
    return this.transaction
  }
}
