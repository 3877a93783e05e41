/** A client with one method an operation. Needs nothing but `fetch`. */
import { readError } from './errors.ts'
import { newIdempotencyKey } from './idempotency-key.ts'
import type { AlterationOptions, ClientOptions, MatchOptions, QueryOptions } from './options.ts'
import { retryDelayMs } from './retry.ts'
import { readRows } from './rows.ts'
import { SecurityClient } from './security-client.ts'
import type {
  Attributes,
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
  private readonly send: typeof fetch
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

  readObject(oid: Oid): Promise<ObjectRepresentation> {
    return this.request('GET', objectPath(oid))
  }

  /** With its entity tag, by which a change can be made to depend on it. */
  async readObjectWithEtag(oid: Oid): Promise<{ readonly object: ObjectRepresentation; readonly etag: string }> {
    return this.respond('GET', objectPath(oid), {}, async (response) => {
      const object = (await response.json()) as ObjectRepresentation
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
    return this.respond('POST', '/v1/index', { body: index, prefer: 'respond-async' }, jsonOf<IndexCreated>)
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
    if (response.body !== null) yield* readRows<Row>(response.body)
  }

  /** The plan of each statement. Nothing is carried out; with `isAnalyzed` all are, and what they change is undone. */
  async explain(
    text: string,
    parameters?: QueryParameters,
    options: QueryOptions & { readonly isAnalyzed?: boolean } = {},
  ): Promise<Record<string, unknown>[]> {
    const explain = options.isAnalyzed === true ? 'analyze' : 'true'
    const sending = { body: queryBody(text, parameters, options), parameters: { explain } }
    return this.respond('POST', '/v1/query', sending, jsonOf<Record<string, unknown>[]>)
  }

  /** Those under way, of all clients and federated databases. */
  listStatements(): Promise<readonly StatementRecord[]> {
    return this.request('GET', '/v1/statement')
  }

  /** Its client gets StatementStopped. */
  stopStatement(id: string): Promise<void> {
    return this.request('DELETE', `/v1/statement/${encodeURIComponent(id)}`)
  }

  listTools(): Promise<readonly ToolRecord[]> {
    return this.request('GET', '/v1/tool')
  }

  runTool(tool: string, flags: Readonly<Record<string, string | number | boolean>> = {}): Promise<ToolReply> {
    const body: ToolBody = { tool, flags }
    return this.request('POST', '/v1/tool', body)
  }

  private async request<T>(
    method: string,
    path: string,
    body?: unknown,
    parameters: Readonly<Record<string, string>> = {},
    { ifMatch }: MatchOptions = {},
  ): Promise<T> {
    return this.respond(method, path, { body, parameters, ifMatch }, async (response) => {
      return (response.status === 204 ? undefined : await response.json()) as T
    })
  }

  /** `read`: the reply, as far as it is to be there before the request counts as answered. Throws what `attempt` does. */
  private async respond<T>(
    method: string,
    path: string,
    sending: RequestOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const url = this.urlOf(path, sending)
    const key = this.keyFor(method, path)
    const init = initOf(method, sending, key, this.options.token)
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
  private async attempt<T>(url: string, init: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
    const response = await this.send(url, init)
    if (!response.ok) throw await readError(response)
    return read(response)
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

function initOf(
  method: string,
  { body, accept, prefer, ifMatch, signal }: RequestOptions,
  key: string | undefined,
  token: string | undefined,
): RequestInit {
  const headers: Record<string, string> = { accept: accept ?? 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (token !== undefined) headers.authorization = `Bearer ${token}`
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

async function jsonOf<T>(response: Response): Promise<T> {
  return (await response.json()) as T
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

function objectPath(oid: Oid): string {
  return `/v1/object/${encodeURIComponent(oid)}`
}

/** Integers beyond 2^53 are given as bigint, and go as quoted digits. */
function toJson(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
