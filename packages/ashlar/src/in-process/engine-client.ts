/** The part of a client for objects, queries and changes, on a database that this process has open. */
import type {
  Attributes,
  CallOptions,
  ChangeRecord,
  ChangesOptions,
  ChangesPage,
  CreateObjectBody,
  LiveEvent,
  MatchOptions,
  ObjectCreated,
  ObjectRepresentation,
  Oid,
  QueryBody,
  QueryOptions,
  QueryParameters,
  TransactionOperation,
  TransactionOptions,
  TransactionResult,
} from '@ashlar/client'
import { AshlarRequestError, noReference, nullReferences } from '@ashlar/client/in-process'
import { AshlarError, type FederatedDatabase, StepFailure } from '@ashlar/engine'
import { OperationFailure } from '@ashlar/server/in-process'
import type { InProcessClient } from '../in-process-client.ts'
import { create, createAll, readTagged, remove, runQuery, streamRows, update } from './calls.ts'
import { changesPage, followedChanges, liveEvents } from './follow.ts'
import { jsonBody } from './json-body.ts'
import type { JsonReader } from './json-reader.ts'
import { Operations } from './operations.ts'
import type { Running } from './running.ts'

const objectForm = { bodyIsObject: true } as const
const objectsForm = { bodyIsObject: true, takesArray: true } as const
const queryForm = { isQuery: true } as const

export class EngineClient implements InProcessClient {
  private readonly fd: FederatedDatabase
  private readonly reader: JsonReader
  private readonly running: Running

  constructor(fd: FederatedDatabase, reader: JsonReader, running: Running) {
    this.fd = fd
    this.reader = reader
    this.running = running
  }

  createObject(className: string, attributes: Attributes, options: CallOptions = {}): Promise<ObjectCreated> {
    return this.running.run({ operation: 'POST /v1/object', hasBody: true }, options, async (signal) => {
      return create(this.fd, await jsonBody({ class: className, attributes }, objectsForm), signal)
    })
  }

  createObjects(objects: readonly CreateObjectBody[], options: CallOptions = {}): Promise<readonly ObjectCreated[]> {
    return this.running.run({ operation: 'POST /v1/object', hasBody: true }, options, async (signal) => {
      return createAll(this.fd, await jsonBody(objects, objectsForm), signal)
    })
  }

  /** An object of exactly this class is read without a query, and one of scalars without its text. */
  findObject(className: string, oid: string, options: CallOptions): object | undefined | Promise<object | undefined> {
    const { fd, running, reader } = this
    if (!fd.store.capabilities.hasSynchronousReads || !running.isPlain(options)) return undefined
    try {
      const values = fd.readPlainValues(oid, className, { $id: oid, $class: className })
      if (values instanceof Promise) return values.then(() => undefined, undefinedIfRefused)
      if (values !== undefined) return reader.adapt(values)
      const found = fd.readObject(oid)
      if (!(found instanceof Promise)) return this.rowOf(className, oid, found)
      const read = async (): Promise<object | undefined> => this.rowOf(className, oid, await found)
      return running.run({ operation: 'POST /v1/query', hasBody: true }, {}, read).catch(undefinedIfRefused)
    } catch (error) {
      return undefinedIfRefused(error)
    }
  }

  /** The row is read from the text of the object, in which two names are exchanged. */
  private rowOf(className: string, oid: string, json: Buffer): object | undefined {
    const text = json.toString()
    const opening = `{"__class__":"${className}","__identifier__":"${oid}"`
    if (!text.startsWith(opening)) return undefined
    const row = this.reader.readText<object>(`{"$id":"${oid}","$class":"${className}"${text.slice(opening.length)}`)
    if (text.includes(noReference)) nullReferences(row)
    return row
  }

  async readObject(oid: Oid, options: CallOptions = {}): Promise<ObjectRepresentation> {
    const call = { operation: `GET /v1/object/${oid}`, hasBody: false }
    return this.reader.read(await this.running.run(call, options, () => this.fd.readObject(oid)))
  }

  async readObjectWithEtag(
    oid: Oid,
    options: CallOptions = {},
  ): Promise<{ readonly object: ObjectRepresentation; readonly etag: string }> {
    const call = { operation: `GET /v1/object/${oid}`, hasBody: false }
    const { json, etag } = await this.running.run(call, options, () => readTagged(this.fd, oid))
    return { object: this.reader.read(json), etag }
  }

  updateObject(oid: Oid, attributes: Attributes, options: MatchOptions = {}): Promise<void> {
    return this.running.run({ operation: `PUT /v1/object/${oid}`, hasBody: true }, options, async (signal) => {
      return update(this.fd, oid, await jsonBody({ attributes }, objectForm), options.ifMatch, signal)
    })
  }

  deleteObject(oid: Oid, options: MatchOptions = {}): Promise<void> {
    return this.running.run({ operation: `DELETE /v1/object/${oid}`, hasBody: false }, options, (signal) => {
      return remove(this.fd, oid, options.ifMatch, signal)
    })
  }

  /** The operations are those on objects, and queries; others are refused with MalformedRequest. */
  runTransaction(
    requested: readonly TransactionOperation[],
    { isolation, ...options }: TransactionOptions = {},
  ): Promise<readonly TransactionResult[]> {
    return this.running.run({ operation: 'POST /v1/transaction', hasBody: true }, options, async (signal) => {
      const operations = new Operations(await jsonBody(requested, {}), this.reader)
      try {
        return await this.fd.transaction(
          async (step, _isRehearsal, between) => {
            const run = operations.begin()
            const results: TransactionResult[] = []
            for (const operation of operations.all) {
              await between()
              results.push(await run.one(operation, step(operation.number), signal))
            }
            return results
          },
          false,
          undefined,
          undefined,
          { signal, isolation },
        )
      } catch (error) {
        throw error instanceof StepFailure ? new OperationFailure(error.step, error.cause as never) : error
      }
    })
  }

  query<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions = {},
  ): Promise<Row[]> {
    return this.running.run({ operation: 'POST /v1/query', hasBody: true }, options, async (signal) => {
      return runQuery<Row>(
        this.fd,
        await jsonBody(queryBody(text, parameters, options), queryForm),
        this.reader,
        signal,
      )
    })
  }

  /** Rows are read as they are asked for. Leaving the loop ends the query. */
  queryStream<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions = {},
  ): AsyncGenerator<Row, void, undefined> {
    const { fd, reader } = this
    return this.running.stream(options.signal, async function* (until) {
      yield* streamRows<Row>(fd, await jsonBody(queryBody(text, parameters, options), queryForm), reader, until)
    })
  }

  followQuery<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions = {},
  ): AsyncGenerator<LiveEvent<Row>, never> {
    const { fd, reader } = this
    return this.running.follow(options.signal, async function* (until) {
      yield* liveEvents<Row>(fd, await jsonBody(queryBody(text, parameters, options), queryForm), reader, until)
    })
  }

  listChanges(options: ChangesOptions = {}): Promise<ChangesPage> {
    const call = { operation: 'GET /v1/changes', hasBody: false }
    return this.running.run(call, options, (signal) => changesPage(this.fd, options, this.reader, signal))
  }

  followChanges(
    options: ChangesOptions = {},
    onPosition?: (position: string) => void,
  ): AsyncGenerator<ChangeRecord, never> {
    const { fd, reader } = this
    return this.running.follow(options.signal, (until) => followedChanges(fd, options, reader, until, onPosition))
  }
}

function queryBody(
  query: string,
  parameters: QueryParameters | undefined,
  { dialect, isolation }: QueryOptions,
): QueryBody {
  return {
    query,
    ...(parameters !== undefined && { parameters }),
    ...(dialect !== undefined && { dialect }),
    ...(isolation !== undefined && { isolation }),
  }
}

/** A query for the object says what is wrong. */
function undefinedIfRefused(error: unknown): undefined {
  if (error instanceof AshlarError || error instanceof AshlarRequestError) return undefined
  throw error
}
