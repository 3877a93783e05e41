/** A client with one method an operation. Needs nothing but `fetch`. */
import { readError } from './errors.ts'
import { retryDelayMs } from './retry.ts'
import { readRows } from './rows.ts'
import type {
  AlterationOptions,
  Attributes,
  ClassAlteration,
  ClassDescription,
  ClassesDefined,
  ClassRepresentation,
  FederatedDatabaseRecord,
  IndexCreated,
  IndexRecord,
  IndexRequest,
  NamespaceEntry,
  NamespaceRepresentation,
  ObjectCreated,
  ObjectRepresentation,
  OidText,
  QueryParameters,
  ResourceList,
  SchemaReport,
  ServiceRoot,
  ToolRecord,
  ToolReply,
  TransactionOperation,
  TransactionResult,
} from './wire.ts'

interface Sending {
  readonly body?: unknown
  readonly accept?: string
  /** Parameters of the URL beside `fdAlias`. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly prefer?: string
  readonly ifMatch?: string | undefined
}

export interface MatchOptions {
  /** The entity tag of the version that is meant. */
  readonly ifMatch?: string
}

export interface ClientOptions {
  /** Such as http://127.0.0.1:8185. */
  readonly baseUrl: string
  /** The federated database; may be left out where the server has a default one. */
  readonly fdAlias?: string
  /** How often a request is sent again of which the server says that nothing was done, and GET after any 503. Default 3. */
  readonly retriesMax?: number
  readonly fetch?: typeof fetch
}

const retriesDefault = 3

export class AshlarClient {
  private readonly baseUrl: string
  private readonly fdAlias: string | undefined
  private readonly retriesMax: number
  private readonly send: typeof fetch

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/$/, '')
    this.fdAlias = options.fdAlias
    this.retriesMax = options.retriesMax ?? retriesDefault
    this.send = options.fetch ?? fetch
  }

  service(): Promise<ServiceRoot> {
    return this.request('GET', '/')
  }

  resources(): Promise<ResourceList> {
    return this.request('GET', '/v1')
  }

  federatedDatabase(): Promise<FederatedDatabaseRecord> {
    return this.request('GET', '/v1/fd')
  }

  /** Asks the server to stop; only where it was started with shutdown allowed. */
  shutDown(): Promise<void> {
    return this.request('POST', '/v1/shutdown')
  }

  classes(): Promise<ClassRepresentation[]> {
    return this.request('GET', '/v1/schema')
  }

  /** By full name or class number. */
  class(nameOrNumber: string): Promise<ClassRepresentation> {
    return this.request('GET', classPath(nameOrNumber))
  }

  /** Creates classes; every one must be new. */
  postSchema(descriptions: readonly ClassDescription[]): Promise<ClassesDefined> {
    return this.request('POST', '/v1/schema', descriptions)
  }

  /** Creates the classes that do not exist, and adds the listed attributes to those that do. */
  putSchema(descriptions: readonly ClassDescription[]): Promise<ClassesDefined> {
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
  planAlteration(
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

  namespaces(): Promise<NamespaceEntry[]> {
    return this.request('GET', '/v1/schema/namespace')
  }

  /** null = the default namespace. */
  namespace(name: string | null): Promise<NamespaceRepresentation> {
    return this.request('GET', `/v1/schema/namespace/${encodeURIComponent(name ?? 'null')}`)
  }

  createObject(className: string, attributes: Attributes): Promise<ObjectCreated> {
    return this.request('POST', '/v1/object', { class: className, attributes })
  }

  readObject(oid: OidText): Promise<ObjectRepresentation> {
    return this.request('GET', objectPath(oid))
  }

  /** With its entity tag, by which a change can be made to depend on it. */
  async readTagged(oid: OidText): Promise<{ readonly object: ObjectRepresentation; readonly etag: string }> {
    const response = await this.respond('GET', objectPath(oid), {})
    return { object: (await response.json()) as ObjectRepresentation, etag: response.headers.get('etag') ?? '' }
  }

  /** Attributes left out stay as they are. With `ifMatch`: PreconditionFailed where the object has another entity tag. */
  updateObject(oid: OidText, attributes: Attributes, options: MatchOptions = {}): Promise<void> {
    return this.request('PUT', objectPath(oid), { attributes }, {}, options)
  }

  /** With `ifMatch`: PreconditionFailed where the object has another entity tag. */
  deleteObject(oid: OidText, options: MatchOptions = {}): Promise<void> {
    return this.request('DELETE', objectPath(oid), undefined, {}, options)
  }

  /** All operations are committed together, or none is. */
  transaction(operations: readonly TransactionOperation[]): Promise<TransactionResult[]> {
    return this.request('POST', '/v1/transaction', operations)
  }

  createIndex(index: IndexRequest): Promise<IndexCreated> {
    return this.request('POST', '/v1/index', index)
  }

  /** Replies at once: `index` tells how the build goes. */
  async startIndex(index: IndexRequest): Promise<IndexCreated> {
    const response = await this.respond('POST', '/v1/index', { body: index, prefer: 'respond-async' })
    return (await response.json()) as IndexCreated
  }

  indexes(): Promise<IndexRecord[]> {
    return this.request('GET', '/v1/index')
  }

  index(name: string): Promise<IndexRecord> {
    return this.request('GET', `/v1/index/${encodeURIComponent(name)}`)
  }

  deleteIndex(name: string): Promise<void> {
    return this.request('DELETE', `/v1/index/${encodeURIComponent(name)}`)
  }

  /**
   * The rows of a query, all at once: of its last statement, where there are several. They have the form that the query
   * gives them; integers beyond 2^53 lose digits, as with JSON.parse.
   */
  query<Row = Record<string, unknown>>(text: string, parameters?: QueryParameters): Promise<Row[]> {
    return this.request('POST', '/v1/query', queryBody(text, parameters))
  }

  /**
   * The rows of a query as the server finds them, for replies of any size: no more is held than is under way. Leaving
   * the loop, or aborting `signal`, ends the query. A failure of the query on the way is thrown as AshlarRequestError.
   */
  async *queryStream<Row = Record<string, unknown>>(
    text: string,
    parameters?: QueryParameters,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Row, void, undefined> {
    const { signal } = options
    const body = queryBody(text, parameters)
    const response = await this.respond('POST', '/v1/query', { body, accept: 'application/x-ndjson', signal })
    if (response.body !== null) yield* readRows<Row>(response.body)
  }

  /** How the query would be carried out: nothing is. */
  async explain(text: string, parameters?: QueryParameters): Promise<Record<string, unknown>[]> {
    const sending = { body: queryBody(text, parameters), parameters: { explain: 'true' } }
    const response = await this.respond('POST', '/v1/query', sending)
    return (await response.json()) as Record<string, unknown>[]
  }

  tools(): Promise<ToolRecord[]> {
    return this.request('GET', '/v1/tool')
  }

  runTool(tool: string, flags: Readonly<Record<string, string | number | boolean>> = {}): Promise<ToolReply> {
    return this.request('POST', '/v1/tool', { tool, flags })
  }

  private async request<T>(
    method: string,
    path: string,
    body?: unknown,
    parameters: Readonly<Record<string, string>> = {},
    { ifMatch }: MatchOptions = {},
  ): Promise<T> {
    const response = await this.respond(method, path, { body, parameters, ifMatch })
    return (response.status === 204 ? undefined : await response.json()) as T
  }

  /** Throws AshlarRequestError; and whatever `fetch` throws where the server cannot be reached. */
  private async respond(method: string, path: string, sending: Sending): Promise<Response> {
    const { body, accept = 'application/json', signal } = sending
    const alias = this.fdAlias === undefined ? {} : { fdAlias: this.fdAlias }
    const query = new URLSearchParams({ ...alias, ...sending.parameters }).toString()
    const url = `${this.baseUrl}${path}${query === '' ? '' : `?${query}`}`
    const headers: Record<string, string> = { accept }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (sending.prefer !== undefined) headers.prefer = sending.prefer
    if (sending.ifMatch !== undefined) headers['if-match'] = sending.ifMatch
    const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body: toJson(body) }) }
    if (signal !== undefined) init.signal = signal
    for (let attempt = 0; ; attempt++) {
      const response = await this.send(url, init)
      if (response.ok) return response
      const error = await readError(response)
      const delayMs = attempt < this.retriesMax ? retryDelayMs(method, error) : undefined
      if (delayMs === undefined) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}

function queryBody(text: string, parameters: QueryParameters | undefined): object {
  return { query: text, ...(parameters === undefined ? {} : { parameters }) }
}

function classPath(nameOrNumber: string): string {
  return `/v1/schema/${encodeURIComponent(nameOrNumber)}`
}

function flags(options: AlterationOptions): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]))
}

function objectPath(oid: OidText): string {
  return `/v1/object/${encodeURIComponent(oid)}`
}

/** Integers beyond 2^53 are given as bigint, and go as quoted digits. */
function toJson(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
