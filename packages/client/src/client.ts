/** A client with one method an operation. Needs nothing but `fetch`. */

import type { ChangeRecord, ChangesPage, DeadLetter, DeadLetterSummary, WebhookRecord } from './change-types.ts'
import { AshlarRequestError, readError } from './errors.ts'
import { newIdempotencyKey } from './idempotency-key.ts'
import { type LiveEvent, readEvents } from './live-query.ts'
import type {
  AlterationOptions,
  BulkLine,
  ChangesOptions,
  ClientOptions,
  ExplainOptions,
  ExportOptions,
  Fetch,
  FetchBody,
  FetchInit,
  FetchResponse,
  LoadOptions,
  MatchOptions,
  QueryOptions,
} from './options.ts'
import { retryDelayMs } from './retry.ts'
import { readBytes, readRows, streamOfLines } from './rows.ts'
import { SecurityClient } from './security-client.ts'
import type {
  Attributes,
  BulkReply,
  BulkSummary,
  ClassAlteration,
  ClassDescription,
  ClassesDefined,
  ClassRepresentation,
  CreateObjectBody,
  FederatedDatabaseRecord,
  IndexCreated,
  IndexRecord,
  IndexRequest,
  NamespaceEntry,
  NamespaceRepresentation,
  ObjectCreated,
  ObjectRepresentation,
  Oid,
  QueryBody,
  QueryParameters,
  ResourceList,
  SchemaReport,
  ServiceRoot,
  StatementRecord,
  ToolBody,
  ToolRecord,
  ToolReply,
  TransactionOperation,
  TransactionResult,
  UpdateObjectBody,
} from './wire.ts'

/** Reply of GET /health/ready. */
export interface Readiness {
  readonly status: 'ready'
  readonly federatedDatabases: readonly string[]
}

interface RequestOptions {
  readonly body?: unknown
  readonly accept?: string
  /** Parameters of the URL beside `fdAlias`. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly prefer?: string
  readonly ifMatch?: string | undefined
}

const retriesDefault = 3

export class AshlarClient {
  /** Users, tokens, sessions and roles. */
  readonly security: SecurityClient
  private readonly baseUrl: string
  private readonly fdAlias: string | undefined
  private readonly retriesMax: number
  private readonly send: Fetch
  private readonly parseJson: (text: string) => unknown
  private readonly options: ClientOptions
  private readonly key: string | undefined

  /** `key`: see `withKey`. */
  constructor(options: ClientOptions, key?: string) {
    this.options = options
    this.key = key
    this.baseUrl = options.baseUrl.replace(/\/$/, '')
    this.fdAlias = options.fdAlias
    this.retriesMax = options.retriesMax ?? retriesDefault
    this.send = options.fetch ?? fetch
    this.parseJson = options.parseJson ?? JSON.parse
    this.security = new SecurityClient((...asked) => this.request(...asked))
  }

  /**
   * The same client for one change, which gets this Idempotency-Key (1 to 255 visible characters): sent again with it within 24
   * hours, also by another process, the change is not made again and has the same reply. Without it each change gets a key
   * of its own.
   */
  withKey(key: string): AshlarClient {
    return new AshlarClient(this.options, key)
  }

  getService(): Promise<ServiceRoot> {
    return this.request('GET', '/')
  }

  /** Aliases of the federated databases, once the server takes requests for them; AshlarRequestError (503) before that. */
  getReadiness(): Promise<Readiness> {
    return this.request('GET', '/health/ready')
  }

  listResources(): Promise<ResourceList> {
    return this.request('GET', '/v1')
  }

  getFederatedDatabase(): Promise<FederatedDatabaseRecord> {
    return this.request('GET', '/v1/fd')
  }

  /** Asks the server to stop; only where it was started with shutdown allowed. */
  shutDown(): Promise<void> {
    return this.request('POST', '/v1/shutdown')
  }

  listClasses(): Promise<readonly ClassRepresentation[]> {
    return this.request('GET', '/v1/schema')
  }

  /** By full name or class number. */
  getClass(nameOrNumber: string): Promise<ClassRepresentation> {
    return this.request('GET', classPath(nameOrNumber))
  }

  /** Creates classes; every one must be new. */
  createClasses(descriptions: readonly ClassDescription[]): Promise<ClassesDefined> {
    return this.request('POST', '/v1/schema', descriptions)
  }

  /** Creates the classes that do not exist, and adds the listed attributes to those that do. */
  defineClasses(descriptions: readonly ClassDescription[]): Promise<ClassesDefined> {
    return this.request('PUT', '/v1/schema', descriptions)
  }

  /** Renames a class, or changes its attributes. By full name or class number. */
  alterClass(
    nameOrNumber: string,
    alteration: ClassAlteration,
    options: AlterationOptions = {},
  ): Promise<ClassesDefined> {
    return this.request('PUT', classPath(nameOrNumber), alteration, flags(options))
  }

  /** What the change would do: nothing is done. */
  previewAlteration(
    nameOrNumber: string,
    alteration: ClassAlteration,
    options: AlterationOptions = {},
  ): Promise<SchemaReport> {
    return this.request('PUT', classPath(nameOrNumber), alteration, { ...flags(options), dryRun: 'true' })
  }

  /** Only a class without objects and subclasses that nothing embeds. */
  deleteClass(nameOrNumber: string): Promise<void> {
    return this.request('DELETE', classPath(nameOrNumber))
  }

  listNamespaces(): Promise<readonly NamespaceEntry[]> {
    return this.request('GET', '/v1/schema/namespace')
  }

  /** null = the default namespace. */
  getNamespace(name: string | null): Promise<NamespaceRepresentation> {
    return this.request('GET', `/v1/schema/namespace/${encodeURIComponent(name ?? 'null')}`)
  }

  createObject(className: string, attributes: Attributes): Promise<ObjectCreated> {
    const body: CreateObjectBody = { class: className, attributes }
    return this.request('POST', '/v1/object', body)
  }

  /** All of them in one commit, or none; the replies in the same order. */
  createObjects(objects: readonly CreateObjectBody[]): Promise<readonly ObjectCreated[]> {
    return this.request('POST', '/v1/object', objects)
  }

  /**
   * Creates, changes and deletes objects, a line each, as many as there are: in batches that are committed as they come, or all as one with
   * `isAtomic`. Yields a reply a line, in order, as soon as it is committed, and last the summary. Lines are read no faster than they are carried
   * out, and are not sent again by themselves. Leaving the loop ends the load. What ends it before is thrown as AshlarRequestError.
   */
  async *loadObjects(
    lines: AsyncIterable<BulkLine> | Iterable<BulkLine>,
    options: LoadOptions = {},
  ): AsyncGenerator<BulkReply | BulkSummary, void, undefined> {
    const { onError, isAtomic, upsertOn, signal } = options
    const url = this.urlOf('/v1/object', {
      parameters: {
        ...(onError === undefined ? {} : { onError }),
        ...(isAtomic === undefined ? {} : { atomic: String(isAtomic) }),
        ...(upsertOn === undefined ? {} : { upsertOn }),
      },
    })
    const head = initOf('POST', { accept: 'application/x-ndjson', signal }, undefined, this.authorization())
    const headers = { ...head.headers, 'content-type': 'application/x-ndjson' }
    const ending = new AbortController()
    const init = { ...head, headers, body: streamOfLines(lines, toJson, ending.signal), duplex: 'half' as const }
    try {
      const response = await this.attempt(url, init, async (streamed) => streamed)
      if (response.body !== null) yield* readRows<BulkReply | BulkSummary>(response.body, this.parseJson)
    } finally {
      ending.abort()
    }
  }

  /**
   * Objects of a class, rows of a query, or everything, as the bytes of a file, while the server reads them. Leaving the loop ends the export. Where
   * it fails on the way, NDJSON has `{"error": …}` as its last line, and the bytes of other formats break off.
   */
  async *export(options: ExportOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const { columns, escapeFormulas, signal, ...texts } = options
    const parameters = {
      ...texts,
      ...(columns === undefined ? {} : { columns: columns.join(',') }),
      ...(escapeFormulas === undefined ? {} : { escapeFormulas: String(escapeFormulas) }),
    }
    const sending = { accept: '*/*', parameters, signal }
    const response = await this.respond('GET', '/v1/export', sending, async (streamed) => streamed)
    if (response.body !== null) yield* readBytes(response.body)
  }

  readObject(oid: Oid): Promise<ObjectRepresentation> {
    return this.request('GET', objectPath(oid))
  }

  /** With its entity tag, by which a change can be made to depend on it. */
  async readObjectWithEtag(oid: Oid): Promise<{ readonly object: ObjectRepresentation; readonly etag: string }> {
    return this.respond('GET', objectPath(oid), {}, async (response) => {
      const object = await this.jsonOf<ObjectRepresentation>(response)
      return { object, etag: response.headers.get('etag') ?? '' }
    })
  }

  /** Attributes left out stay as they are. With `ifMatch`: PreconditionFailed where the object has another entity tag. */
  updateObject(oid: Oid, attributes: Attributes, options: MatchOptions = {}): Promise<void> {
    const body: UpdateObjectBody = { attributes }
    return this.request('PUT', objectPath(oid), body, {}, options)
  }

  /** With `ifMatch`: PreconditionFailed where the object has another entity tag. */
  deleteObject(oid: Oid, options: MatchOptions = {}): Promise<void> {
    return this.request('DELETE', objectPath(oid), undefined, {}, options)
  }

  /** All operations are committed together, or none is. */
  runTransaction(operations: readonly TransactionOperation[]): Promise<readonly TransactionResult[]> {
    return this.request('POST', '/v1/transaction', operations)
  }

  createIndex(index: IndexRequest): Promise<IndexCreated> {
    return this.request('POST', '/v1/index', index)
  }

  /** Replies at once: `getIndex` tells how far the build is. */
  async startIndex(index: IndexRequest): Promise<IndexCreated> {
    return this.respond('POST', '/v1/index', { body: index, prefer: 'respond-async' }, (response) =>
      this.jsonOf<IndexCreated>(response),
    )
  }

  listIndexes(): Promise<readonly IndexRecord[]> {
    return this.request('GET', '/v1/index')
  }

  getIndex(name: string): Promise<IndexRecord> {
    return this.request('GET', `/v1/index/${encodeURIComponent(name)}`)
  }

  deleteIndex(name: string): Promise<void> {
    return this.request('DELETE', `/v1/index/${encodeURIComponent(name)}`)
  }

  /**
   * The rows of a query, all at once: of its last statement, where there are several. They have the form that the query
   * gives them; integers beyond 2^53 lose digits, as with JSON.parse.
   */
  query<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions = {},
  ): Promise<Row[]> {
    return this.request('POST', '/v1/query', queryBody(text, parameters, options))
  }

  /**
   * The rows of a query as the server finds them, for replies of any size: no more is held than is under way. Leaving
   * the loop, or aborting `signal`, ends the query. A failure of the query on the way is thrown as AshlarRequestError.
   */
  async *queryStream<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions & { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Row, void, undefined> {
    const { signal } = options
    const body = queryBody(text, parameters, options)
    const sending = { body, accept: 'application/x-ndjson', signal }
    const response = await this.respond('POST', '/v1/query', sending, async (streamed) => streamed)
    if (response.body !== null) yield* readRows<Row>(response.body, this.parseJson)
  }

  /**
   * The rows of a query, and what enters, changes and leaves its result, as it happens, without an end; `LiveRows` applies the events. Where the
   * server cannot be reached it tries again, for as long as it takes: `begin` then tells whether the rows are told anew. Throws
   * AshlarRequestError, as for a query that cannot be followed, and the signal's reason.
   */
  async *followQuery<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions & { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LiveEvent<Row>, never> {
    const { signal } = options
    const sending = { body: queryBody(text, parameters, options), accept: 'text/event-stream', signal }
    let lastEventId: string | undefined
    for (let failures = 0; ; ) {
      try {
        const head = initOf('POST', sending, undefined, this.authorization())
        const headers = lastEventId === undefined ? head.headers : { ...head.headers, 'last-event-id': lastEventId }
        const url = this.urlOf('/v1/query', sending)
        const response = await this.attempt(url, { ...head, headers }, async (streamed) => streamed)
        for await (const told of readEvents<Row>(response.body as FetchBody, this.parseJson)) {
          if (told.event === 'error') throw new AshlarRequestError(told.problem.status, told.problem)
          failures = 0
          // What was told behind a position is not known to be all of it.
          lastEventId = told.event === 'position' ? told.position : undefined
          yield told
        }
        throw new TypeError('The events have ended.')
      } catch (error) {
        signal?.throwIfAborted()
        const delayMs = retryDelayMs(true, error, Math.min(failures++, 10))
        if (delayMs === undefined) throw error
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        signal?.throwIfAborted()
      }
    }
  }

  /** The plan of each statement. Nothing is carried out; with `isAnalyzed` all are, and what they change is undone. */
  async explain(
    text: string,
    parameters?: QueryParameters,
    options: ExplainOptions = {},
  ): Promise<Record<string, unknown>[]> {
    const sending = explainRequest(text, parameters, options)
    return this.respond('POST', '/v1/query', sending, (response) => this.jsonOf<Record<string, unknown>[]>(response))
  }

  /** The same as an indented tree, for people. */
  async explainAsText(text: string, parameters?: QueryParameters, options: ExplainOptions = {}): Promise<string> {
    const sending = explainRequest(text, parameters, options)
    const asText = { ...sending, accept: 'text/plain', parameters: { ...sending.parameters, format: 'text' } }
    return this.respond('POST', '/v1/query', asText, (response) => response.text())
  }

  /** Those under way, of all clients and federated databases. */
  listStatements(): Promise<readonly StatementRecord[]> {
    return this.request('GET', '/v1/statement')
  }

  /** Its client gets StatementStopped. */
  stopStatement(id: string): Promise<void> {
    return this.request('DELETE', `/v1/statement/${encodeURIComponent(id)}`)
  }

  /** Of the federated database. */
  listWebhooks(): Promise<readonly WebhookRecord[]> {
    return this.request('GET', '/v1/webhook')
  }

  /** It delivers again where it was disabled, and tries at once where it waits for that. */
  resumeWebhook(name: string): Promise<void> {
    return this.request('POST', `${webhookPath(name)}/resume`)
  }

  /** A hundred at most, the oldest first: those behind `after`, the last of a reply before. */
  listDeadLetters(name: string, after = 0): Promise<readonly DeadLetterSummary[]> {
    return this.request('GET', `${webhookPath(name)}/dead-letter`, undefined, { after: String(after) })
  }

  getDeadLetter(name: string, number: number): Promise<DeadLetter> {
    return this.request('GET', `${webhookPath(name)}/dead-letter/${number}`)
  }

  /** Sends it once more, now; it is no longer kept once the receiver has taken it. */
  redeliverDeadLetter(name: string, number: number): Promise<void> {
    return this.request('POST', `${webhookPath(name)}/dead-letter/${number}/redeliver`)
  }

  dropDeadLetter(name: string, number: number): Promise<void> {
    return this.request('DELETE', `${webhookPath(name)}/dead-letter/${number}`)
  }

  listTools(): Promise<readonly ToolRecord[]> {
    return this.request('GET', '/v1/tool')
  }

  runTool(tool: string, flags: Readonly<Record<string, string | number | boolean>> = {}): Promise<ToolReply> {
    const body: ToolBody = { tool, flags }
    return this.request('POST', '/v1/tool', body)
  }

  /** What was changed behind `since`: a page, and the position from where to go on. */
  listChanges(options: ChangesOptions = {}): Promise<ChangesPage> {
    const { since, className, attributes, where, include, limit, wait, signal } = options
    const given = { since, class: className, attributes: attributes?.join(), where, include, limit, wait }
    const asked = Object.entries(given).filter(([, value]) => value !== undefined)
    const parameters = Object.fromEntries(asked.map(([name, value]) => [name, String(value)]))
    return this.respond('GET', '/v1/changes', { parameters, signal }, (response) => this.jsonOf<ChangesPage>(response))
  }

  /**
   * Every change behind `since` and every later one, as they come, without an end. Where the server cannot be reached it tries again, for as long as it
   * takes. `onPosition` is told how far it is, also where nothing was told: kept together with what became of the changes, it is the
   * `since` with which to go on another time. Throws AshlarRequestError, as for a position that is no longer kept, and the signal's reason.
   */
  async *followChanges(
    options: ChangesOptions = {},
    onPosition?: (position: string) => void,
  ): AsyncGenerator<ChangeRecord, never> {
    let { since } = options
    for (let failures = 0; ; ) {
      let page: ChangesPage
      try {
        page = await this.listChanges({ wait: 20, ...options, ...(since !== undefined && { since }) })
        failures = 0
      } catch (error) {
        options.signal?.throwIfAborted()
        const delayMs = retryDelayMs(true, error, Math.min(failures++, 10))
        if (delayMs === undefined) throw error
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        continue
      }
      yield* page.changes
      since = page.position
      onPosition?.(since)
      options.signal?.throwIfAborted()
    }
  }

  private async request<T>(
    method: string,
    path: string,
    body?: unknown,
    parameters: Readonly<Record<string, string>> = {},
    { ifMatch }: MatchOptions = {},
  ): Promise<T> {
    return this.respond(method, path, { body, parameters, ifMatch }, async (response) => {
      return response.status === 204 ? (undefined as T) : this.jsonOf<T>(response)
    })
  }

  /** `read`: the reply, as far as it is to be there before the request counts as answered. Throws what `attempt` does. */
  private async respond<T>(
    method: string,
    path: string,
    sending: RequestOptions,
    read: (response: FetchResponse) => Promise<T>,
  ): Promise<T> {
    const url = this.urlOf(path, sending)
    const key = this.keyFor(method, path)
    const init = initOf(method, sending, key, this.authorization())
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.attempt(url, init, read)
      } catch (error) {
        const isSafe = method === 'GET' || key !== undefined
        const delayMs = attempt < this.retriesMax ? retryDelayMs(isSafe, error, attempt) : undefined
        if (delayMs === undefined || sending.signal?.aborted === true) throw error
        await new Promise((resolve) => setTimeout(resolve, delayMs))
      }
    }
  }

  /** Throws AshlarRequestError; and whatever `fetch` throws where the server cannot be reached. */
  private async attempt<T>(url: string, init: FetchInit, read: (response: FetchResponse) => Promise<T>): Promise<T> {
    const response = await this.send(url, init)
    if (!response.ok) throw await readError(response)
    return read(response)
  }

  private async jsonOf<T>(response: FetchResponse): Promise<T> {
    return this.parseJson(await response.text()) as T
  }

  private authorization(): string | undefined {
    const { token, user } = this.options
    if (token !== undefined) return `Bearer ${token}`
    return user && `Basic ${base64(`${user.name}:${user.password}`)}`
  }

  private urlOf(path: string, { parameters }: RequestOptions): string {
    const alias = this.fdAlias === undefined ? {} : { fdAlias: this.fdAlias }
    const query = new URLSearchParams({ ...alias, ...parameters }).toString()
    return `${this.baseUrl}${path}${query === '' ? '' : `?${query}`}`
  }

  private keyFor(method: string, path: string): string | undefined {
    // Keys are kept by federated databases.
    if (method === 'GET' || path === '/v1/shutdown' || path.startsWith('/v1/security/')) return undefined
    if (this.key !== undefined) return this.key
    return this.options.areChangesKeyed === false ? undefined : newIdempotencyKey()
  }
}

function explainRequest(
  text: string,
  parameters: QueryParameters | undefined,
  options: ExplainOptions,
): RequestOptions {
  const explain = options.isAnalyzed === true ? 'analyze' : 'true'
  return { body: queryBody(text, parameters, options), parameters: { explain }, signal: options.signal }
}

function initOf(
  method: string,
  { body, accept, prefer, ifMatch, signal }: RequestOptions,
  key: string | undefined,
  authorization: string | undefined,
): FetchInit {
  const headers: Record<string, string> = { accept: accept ?? 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (authorization !== undefined) headers.authorization = authorization
  if (prefer !== undefined) headers.prefer = prefer
  if (ifMatch !== undefined) headers['if-match'] = ifMatch
  if (key !== undefined) headers['idempotency-key'] = key
  return {
    method,
    headers,
    ...(body === undefined ? {} : { body: toJson(body) }),
    ...(signal === undefined ? {} : { signal }),
  }
}

function queryBody(text: string, parameters: QueryParameters | undefined, { dialect }: QueryOptions): QueryBody {
  return {
    query: text,
    ...(parameters === undefined ? {} : { parameters }),
    ...(dialect === undefined ? {} : { dialect }),
  }
}

function classPath(nameOrNumber: string): string {
  return `/v1/schema/${encodeURIComponent(nameOrNumber)}`
}

function flags(options: AlterationOptions): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]))
}

function webhookPath(name: string): string {
  return `/v1/webhook/${encodeURIComponent(name)}`
}

function objectPath(oid: Oid): string {
  return `/v1/object/${encodeURIComponent(oid)}`
}

/** Of the UTF-8 of a text. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

/** Integers beyond 2^53 are given as bigint, and go as quoted digits. */
function toJson(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
