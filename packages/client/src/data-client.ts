/** The part of the client for objects, queries and changes, which is all that the typed interface needs. */
import type { ChangeRecord, ChangesPage } from './change-types.ts'
import { AshlarConnectionError, AshlarRequestError } from './errors.ts'
import { type LiveEvent, readEvents } from './live-query.ts'
import type {
  CallOptions,
  ChangesOptions,
  ClientOptions,
  FollowOptions,
  MatchOptions,
  QueryOptions,
  TransactionOptions,
} from './options.ts'
import { readRows } from './rows.ts'
import { type Sending, Transport } from './transport.ts'
import type {
  Attributes,
  CreateObjectBody,
  ObjectCreated,
  ObjectRepresentation,
  Oid,
  QueryBody,
  QueryParameters,
  TransactionOperation,
  TransactionResult,
  UpdateObjectBody,
} from './wire.ts'

/** Base of `AshlarClient`, for whose methods and errors see there. */
export class DataClient {
  protected readonly transport: Transport
  protected readonly key: string | undefined

  constructor(options: ClientOptions, key?: string, transport = new Transport(options)) {
    this.key = key
    this.transport = transport
  }

  /** Creates an object, and returns its OID as `__identifier__`. */
  createObject(className: string, attributes: Attributes, options: CallOptions = {}): Promise<ObjectCreated> {
    const body: CreateObjectBody = { class: className, attributes }
    return this.request('POST', '/v1/object', { ...options, body })
  }

  /** Creates all of the objects in one commit, or none. The replies have the order of the objects. */
  createObjects(objects: readonly CreateObjectBody[], options: CallOptions = {}): Promise<readonly ObjectCreated[]> {
    return this.request('POST', '/v1/object', { ...options, body: objects })
  }

  /** Returns an object with its attributes. */
  async readObject(oid: Oid, options: CallOptions = {}): Promise<ObjectRepresentation> {
    return this.transport.revive(await this.request<ObjectRepresentation>('GET', objectPath(oid), options))
  }

  /** Returns an object and its entity tag, which changes with each update; see `MatchOptions`. */
  async readObjectWithEtag(
    oid: Oid,
    options: CallOptions = {},
  ): Promise<{ readonly object: ObjectRepresentation; readonly etag: string }> {
    return this.transport.respond('GET', objectPath(oid), options, async (response) => {
      const object = this.transport.parse(await response.text()) as ObjectRepresentation
      return { object: this.transport.revive(object), etag: response.headers.get('etag') ?? '' }
    })
  }

  /** Updates the given attributes. With `ifMatch`, fails with PreconditionFailed if the object has changed since it was read. */
  updateObject(oid: Oid, attributes: Attributes, options: MatchOptions = {}): Promise<void> {
    const body: UpdateObjectBody = { attributes }
    return this.request('PUT', objectPath(oid), { ...matchRequest(options), body })
  }

  /** Deletes an object. With `ifMatch`, fails with PreconditionFailed if the object has changed since it was read. */
  deleteObject(oid: Oid, options: MatchOptions = {}): Promise<void> {
    return this.request('DELETE', objectPath(oid), matchRequest(options))
  }

  /** Runs all operations in one commit, or none of them. */
  async runTransaction(
    operations: readonly TransactionOperation[],
    { isolation, ...options }: TransactionOptions = {},
  ): Promise<readonly TransactionResult[]> {
    const sending = { ...options, parameters: { isolation }, body: operations }
    return this.transport.revive(await this.request<readonly TransactionResult[]>('POST', '/v1/transaction', sending))
  }

  /** Runs the statements, and returns all rows of the last one. */
  async query<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions = {},
  ): Promise<Row[]> {
    const sending = queryRequest(text, parameters, options)
    return this.transport.revive(await this.request<Row[]>('POST', '/v1/query', sending))
  }

  /**
   * Like `query`, for results of any size: rows are streamed, and memory use is constant. Leaving the loop or aborting `signal` stops the query. A query that
   * fails on the way throws AshlarRequestError.
   */
  async *queryStream<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions = {},
  ): AsyncGenerator<Row, void, undefined> {
    const { transport, key } = this
    const sending = { ...queryRequest(text, parameters, options), accept: 'application/x-ndjson', key }
    const body = await transport.open('POST', '/v1/query', sending)
    for await (const row of readRows<Row>(body, transport.parse)) yield transport.revive(row)
  }

  /**
   * Follows a query: yields its rows, and then each row that enters the result, changes in it or leaves it, without an end. `LiveRows` keeps the rows up to date
   * from these events. After a lost connection it reconnects, for as long as necessary; the event `begin` then says whether the rows are sent again. Throws
   * AshlarRequestError if the query cannot be followed, AshlarConnectionError if no server has ever replied, and the reason of `signal` when that is aborted.
   */
  followQuery<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions & FollowOptions = {},
  ): AsyncGenerator<LiveEvent<Row>, never> {
    const { transport } = this
    const sending = { ...queryRequest(text, parameters, options), accept: 'text/event-stream', key: false as const }
    let position: string | undefined
    return transport.repeat(options, async function* (progress) {
      const headers = position === undefined ? undefined : { 'last-event-id': position }
      const body = await transport.open('POST', '/v1/query', { ...sending, headers })
      for await (const event of readEvents<Row>(body, transport.parse)) {
        if (event.event === 'error') throw new AshlarRequestError(event.problem.status, event.problem)
        progress()
        // Between two positions, only a part of a commit may have arrived, at which a query cannot resume.
        position = event.event === 'position' ? event.position : undefined
        yield transport.revive(event)
      }
      throw new AshlarConnectionError(transport.baseUrl, 'The stream of events has ended.')
    })
  }

  /** Returns a page of the changes after `since`, and the position to continue from. */
  async listChanges(options: ChangesOptions = {}): Promise<ChangesPage> {
    const { since, className, attributes, where, include, limit, wait, signal } = options
    const { timeoutMs = this.transport.options.timeoutMs } = options
    const parameters = { since, class: className, attributes: attributes?.join(), where, include, limit, wait }
    const limitMs = timeoutMs === undefined ? undefined : timeoutMs + 1_000 * (wait ?? 0)
    const sending = { parameters, signal, timeoutMs: limitMs }
    const page = await this.request<ChangesPage>('GET', '/v1/changes', sending)
    for (const { before, after } of page.changes) this.transport.revive([before, after])
    return page
  }

  /**
   * Yields every change after `since`, and then each further change as it happens, without an end. After a lost connection it reconnects, for as long as
   * necessary. `onPosition` is called with each new position, even if there was no change; store it together with the result of processing the changes, and
   * pass it as `since` to continue. Throws AshlarRequestError, for example if the position is no longer kept, AshlarConnectionError if no server has ever
   * replied, and the reason of `signal` when that is aborted.
   */
  followChanges(
    options: ChangesOptions = {},
    onPosition?: (position: string) => void,
  ): AsyncGenerator<ChangeRecord, never> {
    let { since } = options
    const next = (): Promise<ChangesPage> =>
      this.listChanges({ wait: 20, ...options, ...(since !== undefined && { since }) })
    return this.transport.repeat(options, async function* (progress) {
      const page = await next()
      progress()
      yield* page.changes
      since = page.position
      onPosition?.(since)
    })
  }

  protected request<T>(method: string, path: string, sending: Sending = {}): Promise<T> {
    return this.transport.request(method, path, this.key === undefined ? sending : { ...sending, key: this.key })
  }
}

export function queryRequest(
  text: string,
  parameters: QueryParameters | undefined,
  { dialect, isolation, signal, timeoutMs }: QueryOptions,
): Sending {
  const body: QueryBody = {
    query: text,
    ...(parameters === undefined ? {} : { parameters }),
    ...(dialect === undefined ? {} : { dialect }),
    ...(isolation === undefined ? {} : { isolation }),
  }
  return { body, signal, timeoutMs }
}

export function matchRequest({ ifMatch, ...options }: MatchOptions): Sending {
  return { ...options, headers: ifMatch === undefined ? undefined : { 'if-match': ifMatch } }
}

export function objectPath(oid: Oid): string {
  return `/v1/object/${encodeURIComponent(oid)}`
}
