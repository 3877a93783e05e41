/** What one request holds in memory, counted before it is made, and the bounds of that. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { MemoryHolder, MemoryPool } from './memory-pool.ts'

export type MemoryLimits = Pick<EngineLimits, 'statementBytesMax' | 'transactionBytesMax' | 'statementsBytesMax'>

/** What a request may hold without asking the pool: so small statements get through beside those that have used it up. */
export const ownBytes = 2 ** 20
/** What is taken from the pool at a time. */
const stepBytes = 4 * 2 ** 20

type LimitName = 'statementBytesMax' | 'transactionBytesMax'

/** What does not go on to disk, so that whoever asks for more of it is told what to do instead: rows that are values, and those of OVER. */
export type MemoryUse = 'values' | 'windows'

/** `limit`: what is exceeded, such as `5 rows (sortedRowsMax)`. */
export function refusalOfRows(use: MemoryUse, limit: string): string {
  return use === 'values'
    ? `The rows of a statement that is used as a value (of LET, WITH, UNION, FOR EACH or within another statement) stay in memory, and what the request holds would be more than ${limit}. Make it a source where it can be one (FROM (FROM …), WITH, or a join instead of IN, which go on on disk), return fewer columns, restrict or aggregate the rows within that statement, or ask for parts of them in several requests.`
    : `The rows of OVER, or what its aggregates of one partition hold on to (COLLECT, DISTINCT, MEDIAN, PERCENTILE), would have the request hold more than ${limit}. Return fewer columns, restrict the rows by WHERE, aggregate them by GROUP BY first, or ask for some of the partitions at a time.`
}

const refusalOfUse: Readonly<Record<MemoryUse, (max: number) => string>> = {
  values: (max) => refusalOfRows('values', `${max} bytes (statementBytesMax)`),
  windows: (max) => refusalOfRows('windows', `${max} bytes (statementBytesMax)`),
}

/** Whether memory was refused, to the request or to all of them: whoever can do without it goes on. */
export function isMemoryRefused(error: unknown): boolean {
  return error instanceof AshlarError && (error.type === 'LimitExceeded' || error.type === 'ServerBusy')
}

const refusalOf: Readonly<Record<LimitName, (max: number) => string>> = {
  statementBytesMax: (max) =>
    `What the statements hold in memory would take more than ${max} bytes (statementBytesMax): variables, texts and lists, links, rows that are sorted, grouped or collected, and the reply to a change. TAKE, WHERE, an index on the order or several requests may help.`,
  transactionBytesMax: (max) =>
    `What is changed together would take more than ${max} bytes in memory until the commit (transactionBytesMax): objects, records and index entries. Several transactions, or COMMIT EVERY, may help.`,
}

/** What counts against one limit, and what was taken of the pool for it. */
class Account {
  private bytes = 0
  private taken = 0
  /** Up to where the pool has not to be asked. */
  private granted: number
  /** The same; while the peak is watched, the peak so far: more than that is noted. */
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
    this.granted = Math.min(ownBytes, bytesMax)
    this.allowed = this.granted
  }

  /** Fewer than 0 for what is let go of; `use`: what for. Throws LimitExceeded, ServerBusy, and what the holder throws. */
  add(bytes: number, use?: MemoryUse): void {
    this.bytes += bytes
    if (bytes > 0 && this.bytes > this.allowed) this.grow(use)
  }

  release(): void {
    if (this.taken > 0) this.pool.giveBack(this.taken, this.holder)
    this.taken = 0
    this.bytes = 0
    this.granted = Math.min(ownBytes, this.bytesMax)
    this.allowed = this.peak === undefined ? this.granted : 0
  }

  get bytesNow(): number {
    return this.bytes
  }

  /** It has used up half of its limit, or others the most of what all share. */
  get isShort(): boolean {
    const { bytes, bytesMax, pool, poolBytesMax } = this
    return bytes * 2 > bytesMax || (bytes > ownBytes && pool.bytes * 4 > poolBytesMax * 3)
  }

  /** From now on: accounts that nobody watches have no cost of it. */
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
    const taken = Math.ceil(bytes / stepBytes) * stepBytes
    this.pool.take(taken - this.taken, this.poolBytesMax, this.holder)
    this.taken = taken
    this.granted = Math.min(taken, bytesMax)
    this.allowed = peak === undefined ? this.granted : bytes
  }
}

/**
 * Counts what statements hold in three parts: of the row at hand, until it ends; of the statement, until it ends; and of the request, until
 * it ends or lets go of it. Apart from it, what a transaction holds: objects until the statement or operation that has loaded them ends,
 * and changes until the commit. Sizes are estimates, and of values that share parts the size that they would have
 * written out: whatever goes through such a value comes by each part as often as it occurs.
 */
export class RequestMemory {
  /** Made for requests that have statements. */
  private statements: Account | undefined
  private readonly pool: MemoryPool
  private readonly limits: MemoryLimits
  private readonly holder: MemoryHolder | undefined
  /** Made for requests that change something. */
  private transaction: Account | undefined
  private ofRow = 0
  private ofStatement = 0
  private kept = 0
  private ofRequest = 0
  private loaded = 0
  private changed = 0

  /** `holder`: who asks; without one, nobody in particular. */
  constructor(pool: MemoryPool, limits: MemoryLimits, holder?: MemoryHolder) {
    this.pool = pool
    this.limits = limits
    this.holder = holder
  }

  /** Until the row ends; fewer than 0 for what is not made after all. Throws LimitExceeded and ServerBusy. */
  chargeRow(bytes: number): void {
    this.ofRow += bytes
    this.ofStatements().add(bytes)
  }

  endRow(): void {
    if (this.ofRow === 0) return
    this.statements?.add(-this.ofRow)
    this.ofRow = 0
  }

  /** Until the statement ends; fewer than 0 for what is let go of before. `use`: what for. Throws LimitExceeded and ServerBusy. */
  chargeStatement(bytes: number, use?: MemoryUse): void {
    this.ofStatement += bytes
    this.ofStatements().add(bytes, use)
  }

  /** What can go to disk is to go there. */
  get isShort(): boolean {
    return this.statements?.isShort === true
  }

  /** What statements hold at the moment, for `resetStatement`. */
  get statementBytes(): number {
    return this.ofStatement
  }

  /** So much of what is charged for the statement is held until it ends, also where a part of it that asked for it ends before. */
  keepForStatement(bytes: number): void {
    this.kept += bytes
  }

  /** All that was kept so far: only differences mean something. */
  get keptBytes(): number {
    return this.kept
  }

  /** At the end of a statement that began when so much was held, or of an operation. */
  resetStatement(bytes: number): void {
    this.statements?.add(bytes - this.ofStatement - this.ofRow)
    this.transaction?.add(-this.loaded)
    this.ofStatement = bytes
    this.ofRow = 0
    this.loaded = 0
  }

  /** Until `releaseAllBut`; fewer than 0 for what is let go of. Throws LimitExceeded and ServerBusy. */
  chargeRequest(bytes: number): void {
    this.ofRequest += bytes
    this.ofStatements().add(bytes)
  }

  get requestBytes(): number {
    return this.ofRequest
  }

  /**
   * Lets go of all that statements and the transaction hold, and of what the request holds but for so many bytes: at the beginning of another
   * attempt what the one before has made is gone, but not what was there before the first; after the last only the reply is left.
   */
  releaseAllBut(bytes: number): void {
    this.resetStatement(0)
    this.statements?.add(bytes - this.ofRequest)
    this.transaction?.add(-this.changed)
    this.ofRequest = bytes
    this.changed = 0
  }

  /** An object that a transaction has read to change it, or makes. Throws LimitExceeded and ServerBusy. */
  chargeLoaded(bytes: number): void {
    this.loaded += bytes
    this.ofTransaction().add(bytes)
  }

  /** A change or a precondition of the commit. Throws LimitExceeded and ServerBusy. */
  chargeChange(bytes: number): void {
    this.changed += bytes
    this.ofTransaction().add(bytes)
  }

  /** What the request is charged with at the moment, its transaction included. */
  get bytes(): number {
    return (this.statements?.bytesNow ?? 0) + (this.transaction?.bytesNow ?? 0)
  }

  /** From now on, `peaks` tells what was held at most. */
  watchPeaks(): void {
    this.ofStatements().watchPeak()
    this.ofTransaction().watchPeak()
  }

  /** In bytes: by statements, and by the transaction until its commit; each at its own peak. */
  get peaks(): { readonly held: number; readonly changed: number } {
    return { held: this.statements?.peakBytes ?? 0, changed: this.transaction?.peakBytes ?? 0 }
  }

  /** When the request has ended. May be called again. */
  release(): void {
    this.ofRow = 0
    this.ofStatement = 0
    this.ofRequest = 0
    this.loaded = 0
    this.changed = 0
    this.statements?.release()
    this.transaction?.release()
  }

  private ofStatements(): Account {
    if (this.statements !== undefined) return this.statements
    const { pool, holder } = this
    const { statementBytesMax, statementsBytesMax } = this.limits
    this.statements = new Account(pool, statementBytesMax, statementsBytesMax, 'statementBytesMax', holder)
    return this.statements
  }

  private ofTransaction(): Account {
    if (this.transaction !== undefined) return this.transaction
    const { pool, holder } = this
    const { transactionBytesMax, statementsBytesMax } = this.limits
    this.transaction = new Account(pool, transactionBytesMax, statementsBytesMax, 'transactionBytesMax', holder)
    return this.transaction
  }
}
