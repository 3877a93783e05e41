/** A client with one method an operation. Needs nothing but `fetch`. */
import { readError } from './errors.ts'
import { retryDelayMs } from './retry.ts'
import type {
  Attributes,
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
  ResourceList,
  ServiceRoot,
} from './wire.ts'

export interface ClientOptions {
  /** Such as http://127.0.0.1:8185. */
  readonly baseUrl: string
  /** The federated database; may be left out where the server has a default one. */
  readonly fdAlias?: string
  /** How often a request is sent again that the server was too busy to carry out (503). Default 3. */
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
    return this.request('GET', `/v1/schema/${encodeURIComponent(nameOrNumber)}`)
  }

  /** Creates classes; every one must be new. */
  postSchema(descriptions: readonly ClassDescription[]): Promise<ClassesDefined> {
    return this.request('POST', '/v1/schema', descriptions)
  }

  /** Creates the classes that do not exist, and adds the listed attributes to those that do. */
  putSchema(descriptions: readonly ClassDescription[]): Promise<ClassesDefined> {
    return this.request('PUT', '/v1/schema', descriptions)
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

  /** Attributes left out stay as they are. */
  updateObject(oid: OidText, attributes: Attributes): Promise<void> {
    return this.request('PUT', objectPath(oid), { attributes })
  }

  deleteObject(oid: OidText): Promise<void> {
    return this.request('DELETE', objectPath(oid))
  }

  createIndex(index: IndexRequest): Promise<IndexCreated> {
    return this.request('POST', '/v1/index', index)
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

  /** Throws AshlarRequestError; and whatever `fetch` throws where the server cannot be reached. */
  private async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const query = this.fdAlias === undefined ? '' : `?fdAlias=${encodeURIComponent(this.fdAlias)}`
    const headers: Record<string, string> = { accept: 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body: toJson(body) }) }
    for (let attempt = 0; ; attempt++) {
      const response = await this.send(`${this.baseUrl}${path}${query}`, init)
      if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T
      const error = await readError(response)
      const delayMs = attempt < this.retriesMax ? retryDelayMs(method, error) : undefined
      if (delayMs === undefined) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}

function objectPath(oid: OidText): string {
  return `/v1/object/${encodeURIComponent(oid)}`
}

/** Integers beyond 2^53 are given as bigint, and go as quoted digits. */
function toJson(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
