/** Interactive transactions: a function of the caller whose calls are one transaction of the engine, and which is run again after a conflict. */
import {
  type Attributes,
  type CallOptions,
  type Connection,
  type CreateObjectBody,
  databaseOf,
  type MatchOptions,
  type ObjectCreated,
  type Oid,
  type QueryParameters,
  type TransactionOperation,
  type TransactionOptions,
  type TransactionResult,
} from '@ashlar/client'
import { untilAborted } from '@ashlar/client/in-process'
import { type Database, type FederatedDatabase, StepFailure, type TransactionStep } from '@ashlar/engine'
import { create, createAll, remove, runQuery, update } from './calls.ts'
import { jsonBody } from './json-body.ts'
import type { JsonReader } from './json-reader.ts'
import { Operations } from './operations.ts'
import { requestError } from './request-error.ts'
import type { Running } from './running.ts'

const timeoutMsDefault = 60_000

/** `transaction`: the typed interface. */
export type TransactionBody<T> = (transaction: unknown) => Promise<T>

/** Runs `body` until its commit succeeds. Throws its errors, and those of a client. */
export function runInteractive<T>(
  fd: FederatedDatabase,
  reader: JsonReader,
  running: Running,
  body: TransactionBody<T>,
  { isolation, ...options }: TransactionOptions = {},
): Promise<T> {
  const call = { operation: 'transaction', hasBody: false }
  return running.run(call, { timeoutMs: timeoutMsDefault, ...options }, async (signal) => {
    const attempt = async (step: TransactionStep): Promise<T> => {
      const connection = new TransactionConnection(step, reader, signal)
      try {
        // A body that waits for something else must not hold the snapshot beyond the time limit.
        return await untilAborted(
          Promise.resolve().then(() => body(databaseOf(connection as unknown as Connection))),
          signal,
        )
      } finally {
        await connection.end()
      }
    }
    try {
      return await fd.transaction(attempt, false, undefined, undefined, { signal, isolation })
    } catch (error) {
      throw error instanceof StepFailure ? error.cause : error
    }
  })
}

/** The calls of one attempt, which are executed one after the other. A failed call makes the transaction fail. */
class TransactionConnection implements Omit<Connection, 'followQuery' | 'followChanges'> {
  failure: { readonly error: unknown } | undefined
  private readonly step: TransactionStep
  private readonly reader: JsonReader
  private readonly signal: AbortSignal | undefined
  private steps = 0
  private isEnded = false
  private last: Promise<unknown> = Promise.resolve()

  constructor(step: TransactionStep, reader: JsonReader, signal: AbortSignal | undefined) {
    this.step = step
    this.reader = reader
    this.signal = signal
  }

  /** Waits for calls that the body did not wait for. Throws the first failure of a call: it decides whether the transaction is run again. */
  async end(): Promise<void> {
    this.isEnded = true
    await this.last
    if (this.failure !== undefined) throw this.failure.error
  }

  createObject(className: string, attributes: Attributes, options?: CallOptions): Promise<ObjectCreated> {
    return this.run(options, true, async (database) => {
      return create(database, await jsonBody({ class: className, attributes }, { bodyIsObject: true }), this.signal)
    })
  }

  createObjects(objects: readonly CreateObjectBody[], options?: CallOptions): Promise<readonly ObjectCreated[]> {
    return this.run(options, true, async (database) => {
      return createAll(database, await jsonBody(objects, { bodyIsObject: true, takesArray: true }), this.signal)
    })
  }

  updateObject(oid: Oid, attributes: Attributes, options?: MatchOptions): Promise<void> {
    return this.run(options, true, async (database) => {
      return update(
        database,
        oid,
        await jsonBody({ attributes }, { bodyIsObject: true }),
        options?.ifMatch,
        this.signal,
      )
    })
  }

  deleteObject(oid: Oid, options?: MatchOptions): Promise<void> {
    return this.run(options, false, (database) => remove(database, oid, options?.ifMatch, this.signal))
  }

  query<Row>(text: string, parameters?: QueryParameters, options?: CallOptions): Promise<Row[]> {
    return this.run(options, true, async (database) => {
      const body = { query: text, ...(parameters !== undefined && { parameters }) }
      return runQuery<Row>(database, await jsonBody(body, { isQuery: true }), this.reader, this.signal)
    })
  }

  runTransaction(
    requested: readonly TransactionOperation[],
    options?: TransactionOptions,
  ): Promise<readonly TransactionResult[]> {
    return this.run(options, true, async (database) => {
      const operations = new Operations(await jsonBody(requested, {}), this.reader)
      const run = operations.begin()
      const results: TransactionResult[] = []
      for (const operation of operations.all) results.push(await run.one(operation, database, this.signal))
      return results
    })
  }

  private async run<T>(
    { signal, timeoutMs }: CallOptions = {},
    hasBody: boolean,
    work: (database: Database) => Promise<T>,
  ): Promise<T> {
    if (timeoutMs !== undefined) throw new TypeError('timeoutMs is an option of the transaction, not of its calls.')
    signal?.throwIfAborted()
    if (this.isEnded) throw new TypeError('The transaction has ended: calls are made within its function, and awaited.')
    const done = this.last.then(() => {
      if (this.failure !== undefined) throw this.failure.error
      this.signal?.throwIfAborted()
      return work(this.step(++this.steps))
    })
    this.last = done.catch((error: unknown) => {
      this.failure ??= { error }
    })
    try {
      return await done
    } catch (error) {
      throw requestError(error, hasBody)
    }
  }
}
