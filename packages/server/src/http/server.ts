/** The HTTP server over a set of federated databases, not yet listening. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AshlarError, type FederatedDatabase, noteRequest, noteRest, readAnew, shareReads } from '@ashlar/engine'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Logger } from 'pino'
import { type AuditLog, requestIdSent } from '../audit/audit-log.ts'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import { HostNames, isLoopback, type Reachability } from '../browsers/host-names.ts'
import { Origins } from '../browsers/origins.ts'
import type { ProxySettings } from '../config/config.ts'
import { Router } from '../dispatch/router.ts'
import { ServerError } from '../errors/server-errors.ts'
import { FederatedDatabases } from '../federated-databases.ts'
import { type Limits, pathParameterCharactersMax } from '../limits.ts'
import type { ReadMetric } from '../metrics/metric.ts'
import { ProcessNumbers } from '../metrics/process-numbers.ts'
import { readProcess } from '../metrics/read-process.ts'
import { RequestCounts } from '../metrics/request-counts.ts'
import { operations, resources } from '../operations/table.ts'
import { noPeers, type Peers } from '../peers/peers.ts'
import type { Authenticator } from '../security/authenticator.ts'
import { everyone, nobody } from '../security/caller.ts'
import type { Security } from '../security/security.ts'
import { BrokenOffReplies } from '../statements/broken-off.ts'
import { ChangeFollowers } from '../statements/change-followers.ts'
import { MemoryShares } from '../statements/memory-shares.ts'
import { readersOf } from '../statements/readers.ts'
import { SlowQueries } from '../statements/slow-queries.ts'
import { type StreamedReply, watchReplies } from '../statements/stalled-replies.ts'
import { Statements } from '../statements/statements.ts'
import type { TlsMaterial } from '../tls/certificate-files.ts'
import type { Place } from '../tools/boot-file.ts'
import { ToolRuns } from '../tools/tool-runs.ts'
import type { RequestTraces } from '../tracing/request-traces.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { serveByAddress } from './arrivals.ts'
import { auditRequest } from './audit-requests.ts'
import { type Bodies, limitBodies } from './bodies-under-way.ts'
import { answerBrokenRequest, refuseTunnels } from './broken-request.ts'
import { arrivalTimes, ConnectionCounts, countNamedRequest, limitConnections } from './connections.ts'
import { answerHalfClosed } from './half-closed.ts'
import { registerHealth } from './health.ts'
import type { Http2Sessions } from './http2-sessions.ts'
import { identified, identify } from './identify.ts'
import { type BodyType, readContentType } from './negotiate.ts'
import { beginByTurns } from './pipelining.ts'
import { readProxyHeaders } from './proxy-protocol.ts'
import { bodyReader } from './read-body.ts'
import { registerReferencePage } from './reference-page.ts'
import { requestLog, statusOf } from './request-log.ts'
import { doneAfterCount, RequestRates } from './request-rates.ts'
import { withoutHost } from './request-target.ts'
import { answerUnrouted, registerOperations } from './routes.ts'
import type { ClientCertificates, SecureServers } from './secure-server.ts'
import { sendProblem } from './send-problem.ts'
import { sendReply } from './send-reply.ts'
import { type RequestsUnderWay, stopInOrder } from './stopping.ts'
import { TrustedProxies } from './trusted-proxies.ts'
import { writeOverdue } from './write-together.ts'

export interface ServerOptions {
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly defaultAlias: string | undefined
  /** Where they are, by alias, as the configuration has it; without it their stores tell. */
  readonly places?: ReadonlyMap<string, Place>
  readonly limits: Limits
  readonly isShutdownAllowed: boolean
  readonly logger: Logger
  /** Who may ask from a browser; pages of the server itself alone, on loopback, where it is not said. */
  readonly browsers?: Browsers
  /** Those that name the clients of requests or connections. */
  readonly proxies?: ProxySettings | undefined
  /** Told of requests that change something, or are refused. */
  readonly audit?: AuditLog
  /** Where the configuration says where backups are kept. */
  readonly backups?: BackupSchedule
  readonly webhooks?: Webhooks
  /** Where requests come encrypted. */
  readonly tls?: TlsOptions
  /** How many processes answer on the port when none is missing; this one alone where it is not said. */
  readonly processes?: number
  /** Other processes on the same port, if any. */
  readonly peers?: Peers
  /** Tells who sends a request; where it is left out, everyone may do everything. */
  readonly authenticator?: Authenticator
  /** Where authentication is on; its authenticator is then the server's. */
  readonly security?: Security
  /** Where an SDK of OpenTelemetry is registered. */
  readonly traces?: RequestTraces | undefined
  /** Asked for by POST /shutdown. */
  onStop(): void
  /** From then on new requests are refused. */
  isStopping(): boolean
}

export interface TlsOptions {
  readonly material: TlsMaterial
  readonly clientCertificates: ClientCertificates
  /** Called once, with what takes other certificates for connections that come from then on. */
  onServers(exchange: (material: TlsMaterial) => void): void
}

export interface Browsers extends Reachability {
  /** Origins whose pages may do everything. */
  readonly cors: readonly string[]
}

/** For a year. */
const strictTransport = ['strict-transport-security', 'max-age=31536000']

const onLoopback: Browsers = { host: '127.0.0.1', hosts: undefined, cors: [] }

/** Routes have no schemas: bodies are checked by `dispatch/validate-body.ts`. So the compilers of the framework are not loaded. */
const noCompilers = { compilersFactory: { buildValidator: neverCalled, buildSerializer: neverCalled } }

/** `stopInOrder` refuses requests and keeps the time. After ten seconds, the framework would end the process with an uncaught error. */
const stoppedByServer = { return503OnClosing: false, pluginTimeout: 0 }

function neverCalled(): never {
  throw new Error('a route has a schema')
}

export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const { limits, peers = noPeers, security } = options
  const counts = new ConnectionCounts()
  const servers = await secureServersOf(options, counts)
  const http2 = servers?.sessions
  const app = fastify({
    ...(servers !== undefined && { serverFactory: servers.serverFactory }),
    bodyLimit: limits.bodyBytesMax,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: pathParameterCharactersMax },
    schemaController: noCompilers,
    // A request without Host is refused below, with a body.
    http: httpOptions(limits),
    rewriteUrl: withoutHost,
    requestTimeout: limits.requestMsMax,
    ...stoppedByServer,
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, limits, servers?.constantHeaders ?? []),
    frameworkErrors: (error, request, reply) => {
      noteRest(request.raw.socket)
      sendProblem(error, request, reply)
    },
  })
  serveHttp1(app.server, servers?.constantHeaders ?? [])
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))
  const router = new Router(operations)
  const bodies = limitBodies(limits)
  const withBody = bodyReader(app, limits, bodies)
  answerUnrouted(app, router, withBody)
  const followers = followersOf(app, limits)
  const underWay = stopInOrder(app, limits, http2)
  const requests = new RequestCounts()
  receiveFromClients(app, options, { underWay, requests, counts, http2 })
  refuseExpectations(app, http2)
  const toolRuns = toolRunsOf(app, options)
  const statements = new Statements(limits, new BrokenOffReplies(options.logger), slowQueriesOf(options))
  const replies = { connections: underWay.connections, streamed: () => http2?.responses() ?? [] }
  lookAfterReplies(app, options, replies, statements)
  for (const ended of security === undefined ? [] : [statements, followers])
    endInTime(ended, security as Security, options.logger)
  const startedAt = (peers.upSince ?? Date.now()) - performance.timeOrigin
  const counted = { requests, underWay, statements, followers, bodies, counts }
  const processMetrics = metricsOf(app, options, startedAt, counted)
  answerPeers(peers, toolRuns, statements, processMetrics, options.federatedDatabases)
  const fds = new FederatedDatabases(options.federatedDatabases, options.defaultAlias, options.places)
  registerOperations(
    app,
    {
      federatedDatabases: fds,
      limits,
      startedAt,
      resources,
      toolRuns,
      peers,
      statements,
      memoryShares: new MemoryShares(limits),
      followers,
      processMetrics,
      router,
      security,
      ...configuredParts(options),
      unknownCaller: options.authenticator === undefined && security === undefined ? everyone : nobody,
      stop: options.onStop,
    },
    router,
    identified(withBody, options.authenticator ?? security?.authenticator),
    requests,
  )
  registerHealth(app, fds, options)
  registerReferencePage(app)
  return app
}

/** By whichever proxies there are. To be called once all others listen for connections. */
function receiveFromClients(
  app: FastifyInstance,
  options: ServerOptions,
  { http2, counts, ...others }: Omit<Received, 'proxies'> & { readonly http2: Http2Sessions | undefined },
): void {
  const { limits } = options
  const proxies = options.proxies && new TrustedProxies(options.proxies)
  const isProxy = (address: string): boolean => proxies?.isTrusted(address) === true
  const refusalOf = refusals(limitConnections(app, limits, counts, isProxy), http2)
  receiveRequests(app, options, { ...others, counts, proxies }, refusalOf)
  if (proxies?.header !== 'proxy-protocol') return
  const closeUnnamed = readProxyHeaders(app.server, isProxy, limits.headersMsMax)
  app.addHook('preClose', async () => closeUnnamed())
}

/** `constantHeaders`: names and values in turns, of every reply. */
function serveHttp1(server: Server, constantHeaders: readonly string[]): void {
  for (const serveAs of [serveByAddress, beginByTurns, answerHalfClosed]) serveAs(server)
  refuseTunnels(server, constantHeaders)
}

/** What a server has where its configuration says so. */
function configuredParts({
  audit,
  backups,
  webhooks,
  traces,
  isShutdownAllowed,
}: ServerOptions): Pick<ServerOptions, 'audit' | 'backups' | 'webhooks' | 'traces' | 'isShutdownAllowed'> {
  return {
    isShutdownAllowed,
    ...(audit && { audit }),
    ...(backups && { backups }),
    ...(webhooks && { webhooks }),
    ...(traces && { traces }),
  }
}

/** To be called before `stopInOrder`: it is stopped before the requests under way are waited for. */
function followersOf(app: FastifyInstance, limits: Limits): ChangeFollowers {
  const followers = new ChangeFollowers(limits)
  app.addHook('preClose', async () => followers.stop())
  return followers
}

function slowQueriesOf({ limits: { slowQueryMs }, logger }: ServerOptions): SlowQueries | undefined {
  return slowQueryMs === 0 ? undefined : new SlowQueries(slowQueryMs, logger)
}

function toolRunsOf(app: FastifyInstance, { limits, logger, backups }: ServerOptions): ToolRuns {
  const toolRuns = new ToolRuns(limits, (err) => logger.error({ err }, 'a tool failed'), backups?.settings)
  app.addHook('onClose', () => toolRuns.stop())
  return toolRuns
}

interface Counted {
  readonly requests: RequestCounts
  readonly underWay: RequestsUnderWay
  readonly statements: Statements
  readonly followers: ChangeFollowers
  readonly bodies: Bodies
  readonly counts: ConnectionCounts
}

function metricsOf(
  app: FastifyInstance,
  { audit, federatedDatabases, processes: processesExpected = 1 }: ServerOptions,
  startedAtMs: number,
  { requests, underWay, statements, followers, bodies, counts }: Counted,
): () => ReadMetric[] {
  const numbers = new ProcessNumbers()
  app.addHook('onClose', async () => numbers.stop())
  return () =>
    readProcess({
      requests,
      requestsInProgress: () => underWay.count,
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
    if (question.about === 'readers') return readersOf(fds, statements.brokenOff)
    return statements.stop(question.statement, question.whose) ? [true] : []
  })
}

interface Replies {
  readonly connections: Iterable<Socket>
  streamed(): Iterable<StreamedReply>
}

function lookAfterReplies(
  app: FastifyInstance,
  { federatedDatabases: fds, limits }: ServerOptions,
  { connections, streamed }: Replies,
  statements: Statements,
): void {
  const fileBytes = (): number => fds.reduce((sum, { store }) => sum + (store.fileBytes?.() ?? 0), 0)
  const isSlotWanted = (response: object): boolean => statements.isSlotWanted(response)
  const { stalled } = statements.brokenOff
  const watch = watchReplies(connections, streamed, limits, fileBytes, isSlotWanted, stalled)
  app.addHook('onClose', async () => clearInterval(watch))
}

function httpOptions(limits: Limits) {
  return { maxHeaderSize: limits.requestHeaderBytesMax, requireHostHeader: false, ...arrivalTimes(limits) }
}

async function secureServersOf(
  { tls, limits, browsers = onLoopback }: ServerOptions,
  counts: ConnectionCounts,
): Promise<SecureServers | undefined> {
  if (tls === undefined) return undefined
  const { secureServers } = await import('./secure-server.ts')
  // A browser would then ask every server on its own machine by HTTPS.
  const constant = isLoopback(browsers.host) ? [] : strictTransport
  const servers = secureServers(tls.material, limits, httpOptions(limits), tls.clientCertificates, constant, counts)
  tls.onServers(servers.exchange)
  return servers
}

/** The reason why a request is not taken, by its connection, or by how many there are beside it. */
type RefusalOf = (request: IncomingMessage) => AshlarError | undefined

function refusals(
  ofConnection: (connection: Socket) => AshlarError | undefined,
  http2: Http2Sessions | undefined,
): RefusalOf {
  if (http2 === undefined) return ({ socket }) => ofConnection(socket)
  return (request) => ofConnection(request.socket) ?? http2.refusalOf(request)
}

/** Those of callers whose credential is over, or who have lost a right that they began with. */
function endInTime(statements: Pick<Statements, 'endThose'>, security: Security, logger: Logger): void {
  const reasonOf: Parameters<Statements['endThose']>[0] = (caller, alias) => security.endOf(caller, alias)
  let isLooking = false
  security.callers.onTick(() => {
    if (isLooking) return
    isLooking = true
    statements
      .endThose(reasonOf)
      .catch((err) => logger.error({ err }, 'callers of statements cannot be checked'))
      .finally(() => {
        isLooking = false
      })
  })
}

interface Received extends Pick<Counted, 'underWay' | 'requests' | 'counts'> {
  readonly proxies: TrustedProxies | undefined
}

/** What is done about every request, in one hook: it is doneAfterCount, logged, and refused where it may not go on. */
function receiveRequests(
  app: FastifyInstance,
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
  { underWay, requests, counts, proxies }: Received,
  refusalOf: RefusalOf,
): void {
  const unknownCaller = authenticator === undefined ? everyone : nobody
  const hostNames = new HostNames(browsers)
  const origins = new Origins(browsers.cors)
  const log = requestLog(logger)
  const { callerRequestsPerSecondMax: ratesMax } = limits
  const rates = ratesMax === 0 ? undefined : new RequestRates(ratesMax)
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply
    writeOverdue()
    noteRequest()
    shareReadsOf(request.raw.socket, underWay.connections.size)
    const beganMs = performance.now()
    request.log = logger
    reply.log = logger
    proxies?.nameClientOf(request.raw)
    const begun = underWay.begin(reply)
    if (audit !== undefined) auditRequest(audit, unknownCaller, request, reply)
    if (traces !== undefined) request.span = traces.beginRequest(request.method, request.headers)
    let isOver = false
    // Not `once`, whose listener takes as long to be made and removed as what this one does.
    raw.on('close', () => {
      if (isOver) return
      isOver = true
      underWay.end(begun)
      const tookMs = performance.now() - beganMs
      countRequest(requests, request, raw, tookMs, traces)
      log?.(raw, tookMs, request.audit?.requestId ?? requestIdSent(request.headers))
    })
    try {
      const refusal = refusalOf(request.raw) ?? (proxies && countNamedRequest(request, reply, limits, counts))
      if (refusal !== undefined) throw refusal
      checkFraming(request)
      checkHost(request, hostNames)
      const preflight = origins.check(request, reply)
      if (preflight !== undefined) return sendReply(reply, 204, preflight)
    } catch (error) {
      return refuseUnread(reply, error as AshlarError | ServerError, done)
    }
    if (isStopping() && request.routeOptions.url?.startsWith('/health/') !== true) {
      const error = new AshlarError('ShuttingDown', 'The server is stopping and accepts no further requests.')
      return refuseUnread(reply, error, done)
    }
    try {
      normalizeHeaders(request)
    } catch (error) {
      return done(error as ServerError)
    }
    const next = rates === undefined ? done : doneAfterCount(rates, request, reply, done)
    if (request.span === undefined) goOn(request, reply, authenticator, next)
    else traces?.within(request.span, () => goOn(request, reply, authenticator, next))
  })
}

function goOn(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator | undefined,
  next: (error?: Error) => void,
): void {
  if (authenticator === undefined) next()
  else identify(request, reply, authenticator, next)
}

function countRequest(
  requests: RequestCounts,
  request: FastifyRequest,
  response: ServerResponse,
  ms: number,
  traces: RequestTraces | undefined,
): void {
  const { counts = request.routeOptions.config.counts ?? requests.others, problemType, span } = request
  const status = statusOf(response)
  counts.ended(status, ms)
  if (span !== undefined) traces?.end(span, counts.operation, status, problemType)
  if (problemType !== undefined) requests.failed(problemType)
}

/** Tells the engine whether what is read for a request may be shared with those that have arrived with it. */
function shareReadsOf(socket: Socket & { readonly encrypted?: boolean }, connections: number): void {
  if (socket.encrypted === true) readAnew()
  else shareReads(socket, connections)
}

/** The body was not read, and need not be sent. */
function refuseUnread({ raw }: FastifyReply, error: Error, done: (error: Error) => void): void {
  raw.setHeader('connection', 'close')
  done(error)
}

/** Whoever passed on the request may have seen the end of its body elsewhere (RFC 9112, 6.1). Throws MalformedRequest. */
function checkFraming({ raw, headers: { 'transfer-encoding': coding } }: FastifyRequest): void {
  if (coding === undefined || (coding.toLowerCase() === 'chunked' && raw.httpVersion !== '1.0')) return
  throw new AshlarError('MalformedRequest', 'Transfer-Encoding must be chunked and nothing else, and needs HTTP/1.1.')
}

/** Throws MalformedRequest, UnknownHost. */
function checkHost({ raw, headers: { host } }: FastifyRequest, hostNames: HostNames): void {
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

/** Node keeps the first of them; whoever passed on the request may have looked at another (RFC 9112, 3.2). */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count > 1
}

/** Node answers them itself, without a body, unless somebody listens. */
const unmetExpectations = new WeakSet<IncomingMessage>()

function refuseExpectations(app: FastifyInstance, http2: Http2Sessions | undefined): void {
  http2?.onExpectation((request) => unmetExpectations.add(request))
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmetExpectations.add(request)
    app.server.emit('request', request, response)
  })
}

/** Leaves the framework headers that it reads as we do. Throws ExpectationFailed, UnsupportedMediaType. */
function normalizeHeaders(request: FastifyRequest): void {
  const { headers, method } = request.raw
  if (headers.expect !== undefined && unmetExpectations.has(request.raw)) {
    throw new ServerError('ExpectationFailed', `The server does not support 'Expect: ${headers.expect.slice(0, 60)}'.`)
  }
  const contentType = headers['content-type']
  // Its own reading of a malformed one would refuse what is fine.
  if (contentType !== undefined && contentType !== 'application/json') {
    const type = method === 'POST' || method === 'PUT' ? bodyTypeOf(contentType, request) : 'json'
    headers['content-type'] = contentTypes[type]
  }
  // Names of encodings are the same in any case (RFC 9110, 8.4.1).
  const encoding = headers['content-encoding']
  if (encoding !== undefined) headers['content-encoding'] = encoding.trim().toLowerCase()
}

const contentTypes = { json: 'application/json', text: 'text/plain', ndjson: 'application/x-ndjson' } as const

/** Throws UnsupportedMediaType. */
function bodyTypeOf(contentType: string, request: FastifyRequest): BodyType {
  if (request.is404) return 'json'
  const { isRefused, acceptsPlainText, takesLines } = request.routeOptions.config
  return isRefused === true ? 'json' : readContentType(contentType, acceptsPlainText === true, takesLines === true)
}
