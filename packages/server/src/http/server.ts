/** The HTTP server over a set of federated databases, not yet listening. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AshlarError, type FederatedDatabase, noteRequest, readAnew, shareReads } from '@ashlar/engine'
import type { Logger } from 'pino'
import { type AuditLog, requestIdSent } from '../audit/audit-log.ts'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import { HostNames, isLoopback, type Reachability } from '../browsers/host-names.ts'
import { AllowedOrigins } from '../browsers/origins.ts'
import type { ProxySettings } from '../config/config.ts'
import type { ServiceContext } from '../dispatch/operation.ts'
import { Router } from '../dispatch/router.ts'
import { ServerError } from '../errors/server-errors.ts'
import { FederatedDatabases } from '../federated-databases.ts'
import { keepAliveMs, type Limits } from '../limits.ts'
import type { ReadMetric } from '../metrics/metric.ts'
import { readProcess } from '../metrics/process-metrics.ts'
import { ProcessNumbers } from '../metrics/process-numbers.ts'
import { RequestCounts } from '../metrics/request-counts.ts'
import { operations, resources } from '../operations/table.ts'
import { noPeers, type Peers } from '../peers/peers.ts'
import type { Authenticator } from '../security/authenticator.ts'
import { everyone, nobody } from '../security/caller.ts'
import type { Security } from '../security/security.ts'
import { AbortedReplies, readersOf } from '../statements/aborted-replies.ts'
import { ChangeFollowers } from '../statements/change-followers.ts'
import { MemoryShares } from '../statements/memory-shares.ts'
import { SlowQueries } from '../statements/slow-queries.ts'
import { type StreamedReply, watchReplies } from '../statements/stalled-replies.ts'
import { Statements } from '../statements/statements.ts'
import type { TlsMaterial } from '../tls/certificate-files.ts'
import type { Place } from '../tools/boot-file.ts'
import { ToolRuns } from '../tools/tool-runs.ts'
import type { RequestTraces } from '../tracing/request-traces.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { scheduleByAddress } from './arrivals.ts'
import { auditRequest } from './audit-requests.ts'
import { flushOverdue } from './batched-replies.ts'
import { answerBrokenRequest, refuseTunnels } from './broken-request.ts'
import { answerHalfClosed, arrivalTimes, ConnectionCounts, countNamedRequest, limitConnections } from './connections.ts'
import { registerHealth } from './health.ts'
import { type Handle, HttpRequest, type Route, withoutHost } from './http-request.ts'
import { HttpServer } from './http-server.ts'
import type { Http2Sessions } from './http2-sessions.ts'
import { identified, identify } from './identify.ts'
import { type Bodies, limitBodies } from './in-flight-bodies.ts'
import { type BodyType, readContentType } from './negotiate.ts'
import { RequestQueues } from './pipelining.ts'
import { readProxyHeaders } from './proxy-protocol.ts'
import { bodyReader, handleRequest } from './read-body.ts'
import { registerReferencePage } from './reference-page.ts'
import { requestLog, statusOf } from './request-log.ts'
import { doneAfterCount, RequestRates } from './request-rates.ts'
import { registerOperations, unroutedHandle } from './routes.ts'
import type { CertificatePolicy, SecureServers } from './secure-server.ts'
import { sendProblem } from './send-problem.ts'
import { sendReply } from './send-reply.ts'
import { type ActiveRequests, stopInOrder } from './stopping.ts'
import { TrustedProxies } from './trusted-proxies.ts'

export interface ServerOptions {
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly defaultAlias: string | undefined
  /** Configured locations by alias; by default the locations of the stores. */
  readonly places?: ReadonlyMap<string, Place> | undefined
  readonly limits: Limits
  readonly isShutdownAllowed: boolean
  readonly logger: Logger
  /** Allowed origins and host names. By default, only pages of the server itself on loopback. */
  readonly browsers?: Browsers | undefined
  readonly proxies?: ProxySettings | undefined
  /** Records requests that change something or are refused. */
  readonly audit?: AuditLog | undefined
  readonly backups?: BackupSchedule | undefined
  readonly webhooks?: Webhooks | undefined
  readonly tls?: TlsOptions | undefined
  /** Processes that serve the port when all are running; by default only this one. */
  readonly processes?: number | undefined
  /** Other processes on the same port, if any. */
  readonly peers?: Peers | undefined
  /** Identifies the callers; without it, all callers may do everything. */
  readonly authenticator?: Authenticator | undefined
  /** With authentication; replaces `authenticator`. */
  readonly security?: Security | undefined
  readonly traces?: RequestTraces | undefined
  /** Called by POST /shutdown. */
  onStop(): void
  /** If true, new requests are refused. */
  isStopping(): boolean
}

export interface TlsOptions {
  readonly material: TlsMaterial
  readonly clientCertificates: CertificatePolicy
  /** Called once, with a function that replaces the certificate for new connections. */
  onServers(exchange: (material: TlsMaterial) => void): void
}

export interface Browsers extends Reachability {
  /** Origins whose pages are unrestricted. */
  readonly cors: readonly string[]
}

/** Headers of every reply, as alternating names and values. */
function constantHeadersOf({ tls, browsers = onLoopback }: ServerOptions): readonly string[] {
  // On loopback, a browser would then use HTTPS for all servers of its machine.
  return tls === undefined || isLoopback(browsers.host) ? [] : ['strict-transport-security', 'max-age=31536000']
}

const onLoopback: Browsers = { host: '127.0.0.1', hosts: undefined, cors: [] }

export async function buildServer(options: ServerOptions): Promise<HttpServer> {
  const { limits, peers = noPeers, security, logger, federatedDatabases } = options
  const counts = new ConnectionCounts()
  const secure = await secureServersOf(options, counts)
  const http2 = secure?.sessions
  let receive: RequestListener = () => undefined
  const queues = new RequestQueues((raw, response) => receive(raw, response))
  const handle: RequestListener = (raw, response) => {
    if (raw.httpVersionMajor === 1) queues.add(raw, response)
    else receive(raw, response)
  }
  const server = secure === undefined ? createServer(httpOptions(limits), handle) : secure.createServer(handle)
  const constantHeaders = constantHeadersOf(options)
  serveHttp1(server, queues, limits, constantHeaders)
  refuseExpectations(server, http2, handle)
  const routes = new Router<Route>(operations)
  const bodies = limitBodies(limits)
  const withBody = bodyReader(limits, bodies)
  const followers = new ChangeFollowers(limits)
  const inProgress = stopInOrder(server, limits, http2)
  const requests = new RequestCounts()
  const { proxies, refusalOf, closeUnnamed } = limitClients(server, options, counts, http2)
  receive = receiver(options, routes, unroutedHandle(routes, withBody), {
    inProgress,
    requests,
    counts,
    queues,
    proxies,
    refusalOf,
    constantHeaders,
  })
  const toolRuns = new ToolRuns(limits, (err) => logger.error({ err }, 'a tool failed'), options.backups?.settings)
  const statements = new Statements(limits, new AbortedReplies(logger), slowQueriesOf(options))
  const watch = watchStalled(options, { inProgress, queues, http2 }, statements)
  for (const ended of security === undefined ? [] : [statements, followers])
    endInTime(ended, security as Security, logger)
  const startedAt = (peers.upSince ?? Date.now()) - performance.timeOrigin
  const numbers = new ProcessNumbers()
  const processMetrics = metricsOf(options, startedAt, numbers, {
    requests,
    inProgress,
    statements,
    followers,
    bodies,
    counts,
  })
  answerPeers(peers, toolRuns, statements, processMetrics, federatedDatabases)
  const fds = new FederatedDatabases(federatedDatabases, options.defaultAlias, options.places)
  const service = serviceOf(options, {
    fds,
    startedAt,
    toolRuns,
    statements,
    followers,
    processMetrics,
    router: routes,
  })
  registerOperations(routes, service, identified(withBody, options.authenticator ?? security?.authenticator), requests)
  registerHealth(routes, fds, options)
  registerReferencePage(routes)
  return new HttpServer(server, handle, [
    () => closeUnnamed?.(),
    // Followers are requests in progress that would not end by themselves.
    () => followers.stop(),
    () => inProgress.stop(),
    () => toolRuns.stop(),
    () => clearInterval(watch),
    () => numbers.stop(),
  ])
}

interface ServiceParts
  extends Pick<ServiceContext, 'startedAt' | 'toolRuns' | 'statements' | 'followers' | 'processMetrics' | 'router'> {
  readonly fds: FederatedDatabases
}

function serviceOf(options: ServerOptions, { fds, ...parts }: ServiceParts): ServiceContext {
  const {
    limits,
    peers = noPeers,
    security,
    authenticator,
    audit,
    backups,
    webhooks,
    traces,
    isShutdownAllowed,
    onStop,
  } = options
  return {
    ...parts,
    federatedDatabases: fds,
    limits,
    resources,
    peers,
    memoryShares: new MemoryShares(limits),
    security,
    audit,
    backups,
    webhooks,
    traces,
    isShutdownAllowed,
    unknownCaller: authenticator === undefined && security === undefined ? everyone : nobody,
    stop: onStop,
  }
}

/** Call after all other connection listeners are added: the header of the PROXY protocol precedes all other data. */
function limitClients(
  server: Server,
  { limits, proxies: settings }: ServerOptions,
  counts: ConnectionCounts,
  http2: Http2Sessions | undefined,
): Pick<Received, 'proxies' | 'refusalOf'> & { readonly closeUnnamed: (() => void) | undefined } {
  const proxies = settings && new TrustedProxies(settings)
  const isProxy = (address: string): boolean => proxies?.isTrusted(address) === true
  const refusalOf = refusals(limitConnections(server, limits, counts, isProxy), http2)
  const hasHeader = proxies?.header === 'proxy-protocol'
  const closeUnnamed = hasHeader ? readProxyHeaders(server, isProxy, limits.headersMsMax) : undefined
  return { proxies, refusalOf, closeUnnamed }
}

function slowQueriesOf({ limits: { slowQueryMs }, logger }: ServerOptions): SlowQueries | undefined {
  return slowQueryMs === 0 ? undefined : new SlowQueries(slowQueryMs, logger)
}

/** `constantHeaders`: of every reply, alternating names and values. */
function serveHttp1(server: Server, queues: RequestQueues, limits: Limits, constantHeaders: readonly string[]): void {
  server.keepAliveTimeout = keepAliveMs
  scheduleByAddress(server)
  answerHalfClosed(server)
  refuseTunnels(server, queues, constantHeaders)
  server.on('clientError', (error, socket) =>
    answerBrokenRequest(error, socket as Socket, queues, limits, constantHeaders),
  )
}

interface Counted {
  readonly requests: RequestCounts
  readonly inProgress: ActiveRequests
  readonly statements: Statements
  readonly followers: ChangeFollowers
  readonly bodies: Bodies
  readonly counts: ConnectionCounts
}

function metricsOf(
  { audit, federatedDatabases, processes: processesExpected = 1 }: ServerOptions,
  startedAtMs: number,
  numbers: ProcessNumbers,
  { requests, inProgress, statements, followers, bodies, counts }: Counted,
): () => ReadMetric[] {
  return () =>
    readProcess({
      requests,
      requestsInProgress: () => inProgress.count,
      connections: counts,
      statements,
      followers,
      bodies,
      audit,
      federatedDatabases,
      numbers,
      startedAtMs,
      processesExpected,
    })
}

function answerPeers(
  peers: Peers,
  toolRuns: ToolRuns,
  statements: Statements,
  processMetrics: () => ReadMetric[],
  fds: readonly FederatedDatabase[],
): void {
  peers.onGather((question) => {
    if (question.about === 'runs') return toolRuns.all()
    if (question.about === 'statements') return statements.records(question.whose)
    if (question.about === 'metrics') return [processMetrics()]
    if (question.about === 'readers') return readersOf(fds, statements.abortedReplies)
    return statements.stop(question.statement, question.whose) ? [true] : []
  })
}

interface Connections extends Pick<Received, 'inProgress' | 'queues'> {
  readonly http2: Http2Sessions | undefined
}

function watchStalled(
  { federatedDatabases: fds, limits }: ServerOptions,
  { inProgress, queues, http2 }: Connections,
  statements: Statements,
): NodeJS.Timeout {
  const fileBytes = (): number => fds.reduce((sum, { store }) => sum + (store.fileBytes?.() ?? 0), 0)
  const isSlotRequested = (response: object): boolean => statements.isSlotRequested(response)
  const responseOn = (socket: Socket): ServerResponse | undefined => queues.responseOn(socket)
  const streamed = (): Iterable<StreamedReply> => http2?.responses() ?? []
  const { stalled } = statements.abortedReplies
  return watchReplies(inProgress.connections, responseOn, streamed, limits, fileBytes, isSlotRequested, stalled)
}

function httpOptions(limits: Limits) {
  return {
    // A request without Host is refused by `checkHost`, with a body.
    maxHeaderSize: limits.requestHeaderBytesMax,
    requireHostHeader: false,
    ...arrivalTimes(limits),
  }
}

async function secureServersOf(
  { tls, limits }: ServerOptions,
  counts: ConnectionCounts,
): Promise<SecureServers | undefined> {
  if (tls === undefined) return undefined
  const { secureServers } = await import('./secure-server.ts')
  const servers = secureServers(tls.material, limits, httpOptions(limits), tls.clientCertificates, counts)
  tls.onServers(servers.exchange)
  return servers
}

/** Returns the error if a request is refused because of its connection, or of the number of requests. */
type RefusalOf = (request: IncomingMessage) => AshlarError | undefined

function refusals(
  socketRefusal: (connection: Socket) => AshlarError | undefined,
  http2: Http2Sessions | undefined,
): RefusalOf {
  if (http2 === undefined) return ({ socket }) => socketRefusal(socket)
  return (request) => socketRefusal(request.socket) ?? http2.refusalOf(request)
}

/** Ends requests of callers whose credential has expired or who have lost a right. */
function endInTime(statements: Pick<Statements, 'endEach'>, security: Security, logger: Logger): void {
  const endReasonOf: Parameters<Statements['endEach']>[0] = (caller, alias) => security.endOf(caller, alias)
  let isChecking = false
  security.callers.onTick(() => {
    if (isChecking) return
    isChecking = true
    statements
      .endEach(endReasonOf)
      .catch((err) => logger.error({ err }, 'callers of statements cannot be checked'))
      .finally(() => {
        isChecking = false
      })
  })
}

interface Received extends Pick<Counted, 'inProgress' | 'requests' | 'counts'> {
  readonly queues: RequestQueues
  readonly proxies: TrustedProxies | undefined
  readonly refusalOf: RefusalOf
  readonly constantHeaders: readonly string[]
}

/** Returns the listener for all requests: it counts, logs and admits them before they reach their route. */
function receiver(
  {
    isStopping,
    limits,
    browsers = onLoopback,
    logger,
    audit,
    traces,
    security,
    authenticator = security?.authenticator,
  }: ServerOptions,
  routes: Router<Route>,
  unrouted: Handle,
  { inProgress, requests, counts, queues, proxies, refusalOf, constantHeaders }: Received,
): RequestListener {
  const unknownCaller = authenticator === undefined ? everyone : nobody
  const hostNames = new HostNames(browsers)
  const origins = new AllowedOrigins(browsers.cors)
  const log = requestLog(logger)
  const proceed = authenticating(authenticator, limits, unrouted)
  return (raw, response) => {
    const beganMs = performance.now()
    flushOverdue(beganMs)
    noteRequest()
    shareReadsOf(raw.socket, inProgress.connections.size)
    proxies?.nameClientOf(raw)
    const [name, value = ''] = constantHeaders
    if (name !== undefined) response.setHeader(name, value)
    const url = withoutHost(raw)
    raw.url = url
    const request = new HttpRequest(raw, response, url, routes.findRoute(raw.method as string, url), logger)
    const active = inProgress.begin(request)
    if (audit !== undefined) auditRequest(audit, unknownCaller, request)
    if (traces !== undefined) request.span = traces.beginRequest(request.method, request.headers)
    response.once('close', () => {
      queues.ended(response)
      inProgress.end(active)
      const tookMs = performance.now() - beganMs
      countRequest(requests, request, tookMs, traces)
      log?.(response, tookMs, request.audit?.requestId ?? requestIdSent(request.headers))
    })
    try {
      const refusal = refusalOf(raw) ?? (proxies && countNamedRequest(request, limits, counts))
      if (refusal !== undefined) throw refusal
      checkFraming(request)
      checkHost(request, hostNames)
      const preflight = origins.check(request)
      if (preflight !== undefined) return sendReply(request, 204, preflight)
      if (isStopping() && request.route?.path.startsWith('/health/') !== true) {
        throw new AshlarError('ShuttingDown', 'The server is stopping and accepts no further requests.')
      }
    } catch (error) {
      // The body was not read, and need not be sent.
      request.endConnection()
      return sendProblem(error, request)
    }
    if (request.span === undefined) proceed(request)
    else traces?.within(request.span, () => proceed(request))
  }
}

/** Returns the next step after admission: authentication, rate limits, and the route. */
function authenticating(
  authenticator: Authenticator | undefined,
  { callerRequestsPerSecondMax: ratesMax }: Limits,
  unrouted: Handle,
): (request: HttpRequest) => void {
  const rates = ratesMax === 0 ? undefined : new RequestRates(ratesMax)
  return (request) => {
    const done = (error?: Error): void => {
      if (error === undefined) execute(request, unrouted)
      else sendProblem(error, request)
    }
    try {
      normalizeHeaders(request)
    } catch (error) {
      sendProblem(error, request)
      return
    }
    const next = rates === undefined ? done : doneAfterCount(rates, request, done)
    if (authenticator === undefined) next()
    else identify(request, authenticator, next)
  }
}

/** Runs a request that has passed the checks that need no body. */
function execute(request: HttpRequest, unrouted: Handle): void {
  const { route } = request
  if (route?.checks !== undefined) {
    try {
      for (const check of route.checks) check(request)
    } catch (error) {
      // The body was not read.
      if (!request.raw.complete) request.endConnection()
      sendProblem(error, request)
      return
    }
  }
  handleRequest(route?.handle ?? unrouted, request)
}

function countRequest(
  requests: RequestCounts,
  request: HttpRequest,
  ms: number,
  traces: RequestTraces | undefined,
): void {
  const { counts = request.route?.counts ?? requests.others, problemType, span } = request
  const status = statusOf(request.response)
  counts.ended(status, ms)
  if (span !== undefined) traces?.end(span, counts.operation, status, problemType)
  if (problemType !== undefined) requests.failed(problemType)
}

/** Reports to the engine whether reads for a request may be shared with requests that arrived in the same turn. */
function shareReadsOf(socket: Socket & { readonly encrypted?: boolean }, connections: number): void {
  if (socket.encrypted === true) readAnew()
  else shareReads(socket, connections)
}

/** Refuses ambiguous framing: a proxy may have seen the end of the body elsewhere (RFC 9112, 6.1). Throws MalformedRequest. */
function checkFraming({ raw, headers: { 'transfer-encoding': coding } }: HttpRequest): void {
  if (coding === undefined || (coding.toLowerCase() === 'chunked' && raw.httpVersion !== '1.0')) return
  throw new AshlarError('MalformedRequest', 'Transfer-Encoding must be chunked and nothing else, and needs HTTP/1.1.')
}

function checkHost({ raw, headers: { host } }: HttpRequest, hostNames: HostNames): void {
  if (host === undefined) {
    if (raw.httpVersion === '1.0') return
    throw new AshlarError('MalformedRequest', `An HTTP/${raw.httpVersion} request must have a Host header.`)
  }
  if (hasSeveralHosts(raw)) throw new AshlarError('MalformedRequest', 'A request must have one Host header.')
  if (hostNames.take(host, raw.socket)) return
  throw new ServerError(
    'UnknownHost',
    `The server does not accept the host name '${host.slice(0, 100)}'; its operator can allow it with --host-name.`,
  )
}

/** Node keeps the first Host header; a proxy may have used another (RFC 9112, 3.2). */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count > 1
}

/** Without a listener, Node replies without a body. */
const unmetExpectations = new WeakSet<IncomingMessage>()

function refuseExpectations(server: Server, http2: Http2Sessions | undefined, handle: RequestListener): void {
  http2?.onExpectation((request) => unmetExpectations.add(request))
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmetExpectations.add(request)
    handle(request, response)
  })
}

/** Normalizes headers that are compared later. Throws ExpectationFailed, UnsupportedMediaType. */
function normalizeHeaders(request: HttpRequest): void {
  const { headers, method } = request
  if (headers.expect !== undefined && unmetExpectations.has(request.raw)) {
    throw new ServerError('ExpectationFailed', `The server does not support 'Expect: ${headers.expect.slice(0, 60)}'.`)
  }
  const contentType = headers['content-type']
  if (contentType !== undefined && contentType !== 'application/json') {
    const type = method === 'POST' || method === 'PUT' ? bodyTypeOf(contentType, request) : 'json'
    headers['content-type'] = contentTypes[type]
  }
  // Names of encodings are case-insensitive (RFC 9110, 8.4.1).
  const encoding = headers['content-encoding']
  if (encoding !== undefined) headers['content-encoding'] = encoding.trim().toLowerCase()
}

const contentTypes = { json: 'application/json', text: 'text/plain', ndjson: 'application/x-ndjson' } as const

/** Throws UnsupportedMediaType. */
function bodyTypeOf(contentType: string, { route }: HttpRequest): BodyType {
  if (route === undefined) return 'json'
  return readContentType(contentType, route.acceptsPlainText === true, route.takesLines === true)
}
