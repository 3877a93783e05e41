/** A client with one method for each operation of the REST interface. It needs only `fetch`. */

import type { ChangeRecord, ChangesPage, DeadLetter, DeadLetterSummary, WebhookRecord } from './change-types.ts'
import { AshlarConnectionError, AshlarRequestError } from './errors.ts'
import { type LiveEvent, readEvents } from './live-query.ts'
import { loadObjects } from './load-objects.ts'
import type {
  AlterationOptions,
  BackgroundAlterationOptions,
  BulkLine,
  CallOptions,
  ChangesOptions,
  ClientOptions,
  ExplainOptions,
  ExportOptions,
  LoadOptions,
  MatchOptions,
  QueryOptions,
  TransactionOptions,
} from './options.ts'
import { readBytes, readRows } from './rows.ts'
import { SecurityClient } from './security-client.ts'
import { delayUnlessAborted, type Sending, Transport } from './transport.ts'
import type {
  Attributes,
  BulkReply,
  BulkSummary,
  ClassAlteration,
  ClassDescription,
  ClassesDefined,
  ClassRepresentation,
  CreateObjectBody,
  DeletionReport,
  FederatedDatabaseRecord,
  IndexCreated,
  IndexRecord,
  IndexRequest,
  NamespaceEntry,
  NamespaceRepresentation,
  ObjectCreated,
  ObjectRepresentation,
  Oid,
  Problem,
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

/** Between two requests for the progress of a change in the background. */
const progressDelayMsFirst = 100
const progressDelayMsMax = 2_000

/** Reply of GET /health/ready. */
export interface Readiness {
  readonly status: 'ready'
  readonly federatedDatabases: readonly string[]
}

/**
 * Each method throws `AshlarRequestError` if the server refuses the request, `AshlarConnectionError` if no server is reached or the connection is lost,
 * `AshlarTimeoutError` after `timeoutMs`, and the reason of `signal` if that is aborted.
 */
export class AshlarClient {
  /** Users, tokens, sessions and roles. */
  readonly security: SecurityClient
  private readonly transport: Transport
  private readonly key: string | undefined

  /** `key` and `transport` are for `withKey`. Throws TypeError if `baseUrl` is not the address of a server. */
  constructor(options: ClientOptions, key?: string, transport = new Transport(options)) {
    this.key = key
    this.transport = transport
    this.security = new SecurityClient(transport)
  }

  /**
   * Returns a client for one change, which is sent with this Idempotency-Key (1 to 255 visible characters). If the change is sent again with the same key within
   * 24 hours, also by another process, it is not made again and gets the same reply. Without `withKey`, each change gets a new key.
   */
  withKey(key: string): AshlarClient {
    return new AshlarClient(this.transport.options, key, this.transport)
  }

  /** Returns how long the server has been running, and the versions of its interface. */
  getService(options: CallOptions = {}): Promise<ServiceRoot> {
    return this.request('GET', '/', options)
  }

  /** Returns the aliases of the federated databases once the server accepts requests for them. Before that: AshlarRequestError with status 503. */
  getReadiness(options: CallOptions = {}): Promise<Readiness> {
    return this.request('GET', '/health/ready', options)
  }

  /** Lists the resources of the interface. */
  listResources(options: CallOptions = {}): Promise<ResourceList> {
    return this.request('GET', '/v1', options)
  }

  /** Returns the name, limits and counts of the federated database. */
  getFederatedDatabase(options: CallOptions = {}): Promise<FederatedDatabaseRecord> {
    return this.request('GET', '/v1/fd', options)
  }

  /** Stops the server, if it was started with `--allow-shutdown`. */
  shutDown(options: CallOptions = {}): Promise<void> {
    return this.request('POST', '/v1/shutdown', options)
  }

  /** Lists all classes with their attributes. */
  listClasses(options: CallOptions = {}): Promise<readonly ClassRepresentation[]> {
    return this.request('GET', '/v1/schema', options)
  }

  /** Returns a class, by its full name or class number. */
  getClass(nameOrNumber: string, options: CallOptions = {}): Promise<ClassRepresentation> {
    return this.request('GET', classPath(nameOrNumber), options)
  }

  /** Creates classes. Fails if one of them exists. */
  createClasses(descriptions: readonly ClassDescription[], options: CallOptions = {}): Promise<ClassesDefined> {
    return this.request('POST', '/v1/schema', { ...options, body: descriptions })
  }

  /**
   * Creates classes that do not exist, and adds missing attributes to existing ones. An existing reference that is listed with an inverse attribute
   * which the same call adds gets that inverse; with `allowLoss`, references that do not fit it are cleared.
   */
  defineClasses(
    descriptions: readonly ClassDescription[],
    options: Omit<AlterationOptions, 'cascade' | 'validate'> = {},
  ): Promise<ClassesDefined> {
    return this.request('PUT', '/v1/schema', alterationRequest(descriptions, options))
  }

  /** Renames a class or changes its attributes, by its full name or class number. */
  alterClass(
    nameOrNumber: string,
    alteration: ClassAlteration,
    options: AlterationOptions = {},
  ): Promise<ClassesDefined> {
    return this.request('PUT', classPath(nameOrNumber), alterationRequest(alteration, options))
  }

  /**
   * Like `alterClass`, but no request lasts as long as the change: the server makes it in the background, and is asked for its progress. Resolves when the
   * change is made. If it fails, throws AshlarRequestError (status 409) with the type and message of the failure. `timeoutMs` limits each request; `signal`
   * ends the waiting, not the change.
   */
  async alterClassInBackground(
    nameOrNumber: string,
    alteration: ClassAlteration,
    { onProgress, ...options }: BackgroundAlterationOptions = {},
  ): Promise<ClassesDefined> {
    const sending = { ...alterationRequest(alteration, options), headers: { prefer: 'respond-async' }, key: this.key }
    const { isRunning, defined } = await this.transport.respond(
      'PUT',
      classPath(nameOrNumber),
      sending,
      async (reply) => {
        return { isRunning: reply.status === 202, defined: this.transport.parse(await reply.text()) as ClassesDefined }
      },
    )
    // The change, or another one, may rename the class.
    if (isRunning) await alterationEnd(this, defined.classNumbers[0] as string, options, onProgress)
    return defined
  }

  /** Returns what `alterClass` would change and lose, without changing anything. */
  previewAlteration(
    nameOrNumber: string,
    alteration: ClassAlteration,
    options: AlterationOptions = {},
  ): Promise<SchemaReport> {
    const sending = alterationRequest(alteration, options)
    const parameters = { ...sending.parameters, dryRun: true }
    return this.request('PUT', classPath(nameOrNumber), { ...sending, parameters })
  }

  /** Deletes a class that has no objects and no subclasses, and that no other class embeds. */
  deleteClass(nameOrNumber: string, options: CallOptions = {}): Promise<void> {
    return this.request('DELETE', classPath(nameOrNumber), options)
  }

  /** Lists the namespaces of the classes. */
  listNamespaces(options: CallOptions = {}): Promise<readonly NamespaceEntry[]> {
    return this.request('GET', '/v1/schema/namespace', options)
  }

  /** Returns a namespace with its classes; null is the default namespace. */
  getNamespace(name: string | null, options: CallOptions = {}): Promise<NamespaceRepresentation> {
    return this.request('GET', `/v1/schema/namespace/${encodeURIComponent(name ?? 'null')}`, options)
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

  /**
   * Creates, updates and deletes any number of objects, one for each line, in several commits; with `isAtomic`, in one. Yields a reply for each line as soon as
   * it is committed, in order, and finally the summary. Lines are requested no faster than they are committed. Leaving the loop ends the load. A load is not
   * retried.
   *
   * Where request bodies cannot be streamed, as in browsers, the lines are sent in chunks of up to 2 MiB. The replies are the same; only references to later
   * lines (`${id}`) have to be in the same chunk. An atomic load is one request, so it is limited to 32 Mi characters there (RangeError).
   */
  loadObjects(
    lines: AsyncIterable<BulkLine> | Iterable<BulkLine>,
    options: LoadOptions = {},
  ): AsyncGenerator<BulkReply | BulkSummary, void, undefined> {
    return loadObjects(this.transport, lines, options)
  }

  /**
   * Streams an export (a class, a query, or the whole database) as bytes. Leaving the loop ends it. If the export fails on the way, the last line of NDJSON is
   * `{"error": …}`; in other formats, the connection breaks, and AshlarConnectionError is thrown.
   */
  async *export(options: ExportOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const { signal, timeoutMs, ...others } = options
    const parameters = { ...others, columns: options.columns?.join(',') }
    yield* readBytes(await this.transport.open('GET', '/v1/export', { accept: '*/*', parameters, signal, timeoutMs }))
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

  /** Returns which further objects and references `deleteObject` would delete or clear, without changing anything. */
  previewObjectDeletion(oid: Oid, options: MatchOptions = {}): Promise<DeletionReport> {
    return this.request('DELETE', objectPath(oid), { ...matchRequest(options), parameters: { dryRun: true } })
  }

  /** Runs all operations in one commit, or none of them. */
  async runTransaction(
    operations: readonly TransactionOperation[],
    { isolation, ...options }: TransactionOptions = {},
  ): Promise<readonly TransactionResult[]> {
    const sending = { ...options, parameters: { isolation }, body: operations }
    return this.transport.revive(await this.request<readonly TransactionResult[]>('POST', '/v1/transaction', sending))
  }

  /** Creates an index, and resolves when it is built. */
  createIndex(index: IndexRequest, options: CallOptions = {}): Promise<IndexCreated> {
    return this.request('POST', '/v1/index', { ...options, body: index })
  }

  /** Creates an index without waiting for it to be built. `getIndex` returns the progress. */
  startIndex(index: IndexRequest, options: CallOptions = {}): Promise<IndexCreated> {
    return this.request('POST', '/v1/index', { ...options, body: index, headers: { prefer: 'respond-async' } })
  }

  /** Lists all indexes. */
  listIndexes(options: CallOptions = {}): Promise<readonly IndexRecord[]> {
    return this.request('GET', '/v1/index', options)
  }

  /** Returns an index and the state of its build. */
  getIndex(name: string, options: CallOptions = {}): Promise<IndexRecord> {
    return this.request('GET', `/v1/index/${encodeURIComponent(name)}`, options)
  }

  /** Deletes an index. */
  deleteIndex(name: string, options: CallOptions = {}): Promise<void> {
    return this.request('DELETE', `/v1/index/${encodeURIComponent(name)}`, options)
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
    options: QueryOptions = {},
  ): AsyncGenerator<LiveEvent<Row>, never> {
    const { transport } = this
    const sending = { ...queryRequest(text, parameters, options), accept: 'text/event-stream', key: false as const }
    let position: string | undefined
    return transport.repeat(options.signal, async function* (progress) {
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

  /** Returns the plan of each statement. Nothing is executed; with `isAnalyzed`, the statements are executed and their changes undone. */
  explain(
    text: string,
    parameters?: QueryParameters,
    options: ExplainOptions = {},
  ): Promise<Record<string, unknown>[]> {
    return this.request('POST', '/v1/query', explainRequest(text, parameters, options))
  }

  /** Like `explain`, as an indented text for people. */
  explainAsText(text: string, parameters?: QueryParameters, options: ExplainOptions = {}): Promise<string> {
    const sending = explainRequest(text, parameters, options)
    const asText = { ...sending, accept: 'text/plain', parameters: { ...sending.parameters, format: 'text' } }
    return this.transport.respond('POST', '/v1/query', asText, (response) => response.text())
  }

  /** Lists running statements of all clients and databases. */
  listStatements(options: CallOptions = {}): Promise<readonly StatementRecord[]> {
    return this.request('GET', '/v1/statement', options)
  }

  /** Stops a running statement. Its client gets StatementStopped. */
  stopStatement(id: string, options: CallOptions = {}): Promise<void> {
    return this.request('DELETE', `/v1/statement/${encodeURIComponent(id)}`, options)
  }

  /** Lists the webhooks of this database. */
  listWebhooks(options: CallOptions = {}): Promise<readonly WebhookRecord[]> {
    return this.request('GET', '/v1/webhook', options)
  }

  /** Re-enables a disabled webhook, or retries a waiting one now. */
  resumeWebhook(name: string, options: CallOptions = {}): Promise<void> {
    return this.request('POST', `${webhookPath(name)}/resume`, options)
  }

  /** Returns up to 100 dead letters, oldest first. For the next page, pass the last number as `after`. */
  listDeadLetters(name: string, after = 0, options: CallOptions = {}): Promise<readonly DeadLetterSummary[]> {
    return this.request('GET', `${webhookPath(name)}/dead-letter`, { ...options, parameters: { after } })
  }

  /** Returns a dead letter with its body. */
  getDeadLetter(name: string, number: number, options: CallOptions = {}): Promise<DeadLetter> {
    return this.request('GET', `${webhookPath(name)}/dead-letter/${number}`, options)
  }

  /** Sends a dead letter again now, and deletes it if the receiver accepts it. */
  redeliverDeadLetter(name: string, number: number, options: CallOptions = {}): Promise<void> {
    return this.request('POST', `${webhookPath(name)}/dead-letter/${number}/redeliver`, options)
  }

  /** Deletes a dead letter. */
  dropDeadLetter(name: string, number: number, options: CallOptions = {}): Promise<void> {
    return this.request('DELETE', `${webhookPath(name)}/dead-letter/${number}`, options)
  }

  /** Lists the tools of the server and their flags. */
  listTools(options: CallOptions = {}): Promise<readonly ToolRecord[]> {
    return this.request('GET', '/v1/tool', options)
  }

  /** Runs a tool, such as Verify or Statistics. */
  runTool(
    tool: string,
    flags: Readonly<Record<string, string | number | boolean>> = {},
    options: CallOptions = {},
  ): Promise<ToolReply> {
    const body: ToolBody = { tool, flags }
    return this.request('POST', '/v1/tool', { ...options, body })
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
    return this.transport.repeat(options.signal, async function* (progress) {
      const page = await next()
      progress()
      yield* page.changes
      since = page.position
      onPosition?.(since)
    })
  }

  private request<T>(method: string, path: string, sending: Sending = {}): Promise<T> {
    return this.transport.request(method, path, this.key === undefined ? sending : { ...sending, key: this.key })
  }
}

function queryRequest(
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

function explainRequest(text: string, parameters: QueryParameters | undefined, options: ExplainOptions): Sending {
  const explain = options.isAnalyzed === true ? 'analyze' : true
  return { ...queryRequest(text, parameters, options), parameters: { explain } }
}

function alterationRequest(
  body: ClassAlteration | readonly ClassDescription[],
  { signal, timeoutMs, ...parameters }: AlterationOptions,
): Sending {
  return { body, parameters, signal, timeoutMs }
}

/** Resolves when the class shows no change in the background. Throws AshlarRequestError with the failure of the change. */
async function alterationEnd(
  client: AshlarClient,
  classNumber: string,
  { signal, timeoutMs }: CallOptions,
  onProgress: BackgroundAlterationOptions['onProgress'],
): Promise<void> {
  for (let delayMs = progressDelayMsFirst; ; delayMs = Math.min(2 * delayMs, progressDelayMsMax)) {
    const { validation } = await client.getClass(classNumber, { signal, timeoutMs })
    if (validation === undefined) return
    const { progress, failure } = validation
    if (failure !== undefined) throw new AshlarRequestError(409, failure as Partial<Problem>)
    if (progress !== undefined) onProgress?.(progress)
    await delayUnlessAborted(delayMs, signal)
  }
}

function matchRequest({ ifMatch, ...options }: MatchOptions): Sending {
  return { ...options, headers: ifMatch === undefined ? undefined : { 'if-match': ifMatch } }
}

function classPath(nameOrNumber: string): string {
  return `/v1/schema/${encodeURIComponent(nameOrNumber)}`
}

function webhookPath(name: string): string {
  return `/v1/webhook/${encodeURIComponent(name)}`
}

function objectPath(oid: Oid): string {
  return `/v1/object/${encodeURIComponent(oid)}`
}
