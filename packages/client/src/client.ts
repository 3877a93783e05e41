/** A client with one method for each operation of the REST interface. It needs only `fetch`. */

import type { DeadLetter, DeadLetterSummary, WebhookRecord } from './change-types.ts'
import { DataClient, matchRequest, objectPath, queryRequest } from './data-client.ts'
import { AshlarRequestError } from './errors.ts'
import { loadObjects } from './load-objects.ts'
import type {
  AlterationOptions,
  BackgroundAlterationOptions,
  BulkLine,
  CallOptions,
  ClientOptions,
  ExplainOptions,
  ExportOptions,
  LoadOptions,
  MatchOptions,
} from './options.ts'
import { readBytes } from './rows.ts'
import { SecurityClient } from './security-client.ts'
import { delayUnlessAborted, type Sending, Transport } from './transport.ts'
import type {
  BulkReply,
  BulkSummary,
  ClassAlteration,
  ClassDescription,
  ClassesDefined,
  ClassRepresentation,
  DeletionReport,
  FederatedDatabaseRecord,
  IndexCreated,
  IndexRecord,
  IndexRequest,
  NamespaceEntry,
  NamespaceRepresentation,
  Oid,
  Problem,
  QueryParameters,
  ResourceList,
  SchemaReport,
  ServiceRoot,
  StatementRecord,
  ToolBody,
  ToolRecord,
  ToolReply,
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
export class AshlarClient extends DataClient {
  /** Users, tokens, sessions and roles. */
  readonly security: SecurityClient

  /** `key` and `transport` are for `withKey`. Throws TypeError if `baseUrl` is not the address of a server. */
  constructor(options: ClientOptions, key?: string, transport = new Transport(options)) {
    super(options, key, transport)
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

  /** Returns which further objects and references `deleteObject` would delete or clear, without changing anything. */
  previewObjectDeletion(oid: Oid, options: MatchOptions = {}): Promise<DeletionReport> {
    return this.request('DELETE', objectPath(oid), { ...matchRequest(options), parameters: { dryRun: true } })
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

function classPath(nameOrNumber: string): string {
  return `/v1/schema/${encodeURIComponent(nameOrNumber)}`
}

function webhookPath(name: string): string {
  return `/v1/webhook/${encodeURIComponent(name)}`
}
