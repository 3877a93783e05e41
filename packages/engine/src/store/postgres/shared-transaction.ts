/**
 * A read-only transaction over one connection, shared by snapshots that were opened at about the same time: they see one point in time. It begins with
 * the first statement and ends when no snapshot uses it any more.
 */
import type { PoolClient } from 'pg'
import { type PreparedStatement, type RowsInBytes, rowsInBytes } from './binary-rows.ts'
import { FollowedFailure } from './failures.ts'

/** Limits how many snapshots share a connection, on which each statement waits for the preceding ones. */
const readersMax = 16

const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

const concurrentMax = 2
const stalledMs = 5

/** Limits concurrent short transactions, so that snapshots opened meanwhile gather in the next one. */
export class Gathering {
  private inFlight = 0
  private readonly waiting: (() => void)[] = []

  /** Returns a function to call when the transaction has ended; after `stalledMs` it no longer delays other transactions. */
  async enter(): Promise<() => void> {
    await new Promise(setImmediate)
    if (this.inFlight < concurrentMax) this.inFlight++
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    let isLeft = false
    const leave = (): void => {
      clearTimeout(timer)
      if (isLeft) return
      isLeft = true
      const next = this.waiting.shift()
      if (next === undefined) this.inFlight--
      else next()
    }
    const timer = setTimeout(leave, stalledMs)
    return leave
  }
}

export interface TransactionParts {
  readonly gathering?: Gathering
  connect(): Promise<PoolClient>
  /** Awaited before the first read. `send` sends a statement of the transaction. */
  started?(send: (text: string) => Promise<unknown>): Promise<void>
  /** Awaited before the transaction ends. */
  beforeEnd?(): Promise<unknown>
}

export class SharedTransaction {
  private readonly parts: TransactionParts
  private client: Promise<PoolClient> | undefined
  private leaveGathering: () => void = () => undefined
  private readers = 0
  private inFlight = 0
  private hasStarted = false
  private isBroken = false
  private unanswered = 0
  /** The error of the first failed statement, which ends the transaction. */
  private failed: { readonly error: unknown } | undefined

  constructor(parts: TransactionParts) {
    this.parts = parts
  }

  /** False once its point in time is fixed, or may be. */
  join(): boolean {
    if (this.hasStarted || this.isBroken || this.readers >= readersMax) return false
    this.readers++
    return true
  }

  /** `isBroken`: the connection cannot be reused. */
  leave(isBroken = false): void {
    this.readers--
    this.isBroken ||= isBroken
    this.endWhenUnused()
  }

  /** Statements sent, or about to be, and not answered. */
  get pending(): number {
    return this.unanswered
  }

  /** Keeps the transaction open until the read is answered. */
  async during<T>(reading: Promise<T>): Promise<T> {
    this.inFlight++
    try {
      return await reading
    } finally {
      this.inFlight--
      this.endWhenUnused()
    }
  }

  read(statement: PreparedStatement): Promise<RowsInBytes> {
    return this.during(this.rowsOf(statement))
  }

  private async rowsOf(statement: PreparedStatement): Promise<RowsInBytes> {
    this.unanswered++
    try {
      const client = await this.start()
      if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
      return await this.within(rowsInBytes(client, statement))
    } finally {
      this.unanswered--
    }
  }

  /** Begins without a statement, and thus fixes no point in time. */
  start(): Promise<PoolClient> {
    // A transaction that was aborted must not begin again: nothing would end it then.
    if (this.failed !== undefined && this.client === undefined) {
      return Promise.reject(new FollowedFailure(this.failed.error))
    }
    this.client ??= this.begin()
    return this.client
  }

  /** Ends it and closes its connection; later statements fail because of the error. */
  abort(error: Error): void {
    this.failed ??= { error }
    this.isBroken = true
    void this.end()
  }

  /** Resolves when its connection is free again. */
  async end(): Promise<void> {
    const { client } = this
    if (client === undefined) return
    this.client = undefined
    const leaveGathering = (): void => this.leaveGathering()
    client.then(leaveGathering, leaveGathering)
    await this.parts.beforeEnd?.()
    await client.then((used) => (this.isBroken ? used.release(true) : endTransaction(used))).catch(() => undefined)
  }

  /** Later statements fail because of the first failure, and report that one. */
  private async within<T>(statement: Promise<T>): Promise<T> {
    let answer: T
    try {
      answer = await statement
    } catch (error) {
      if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
      this.failed = { error }
      this.isBroken = true
      throw error
    }
    if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
    return answer
  }

  /** Snapshots that join while it waits for a connection are included. */
  private async begin(): Promise<PoolClient> {
    const { gathering, started } = this.parts
    if (gathering !== undefined) this.leaveGathering = await gathering.enter()
    const client = await this.connect()
    const send = (text: string): Promise<unknown> => this.within(client.query(text))
    // If it fails, so do the following reads.
    send(begin).catch(() => undefined)
    try {
      await started?.(send)
    } catch (error) {
      client.release(true)
      throw error
    }
    return client
  }

  private async connect(): Promise<PoolClient> {
    try {
      return await this.parts.connect()
    } catch (error) {
      this.leaveGathering()
      throw error
    } finally {
      // Also without a connection, so that later snapshots try again.
      this.hasStarted = true
    }
  }

  /** Ends the transaction after the last snapshot has left and all its reads are answered. */
  private endWhenUnused(): void {
    if (this.readers <= 0 && this.inFlight === 0) void this.end()
  }
}

async function endTransaction(client: PoolClient): Promise<void> {
  try {
    await client.query('COMMIT')
    client.release()
  } catch {
    client.release(true)
  }
}

/** What snapshots share: a transaction, or several that belong together. */
export interface Joinable {
  join(): boolean
}

/** The transactions that new snapshots join. */
export class TransactionPool<T extends Joinable> {
  private readonly open: (isNested: boolean, gathering: Gathering) => T
  /** Transactions whose users wait for nested ones must not delay these. */
  private readonly gatherings = { plain: new Gathering(), nested: new Gathering() }
  private readonly next: { plain: T | undefined; nested: T | undefined } = { plain: undefined, nested: undefined }

  constructor(open: (isNested: boolean, gathering: Gathering) => T) {
    this.open = open
  }

  /** The caller must leave it. `isAlone`: a separate transaction, which reads and failures of other snapshots cannot end. */
  join(isNested: boolean, isAlone: boolean): T {
    const kind = isNested ? 'nested' : 'plain'
    const next = this.next[kind]
    if (!isAlone && next?.join() === true) return next
    const opened = this.open(isNested, this.gatherings[kind])
    opened.join()
    if (!isAlone) this.next[kind] = opened
    return opened
  }
}
