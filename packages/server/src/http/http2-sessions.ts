/** HTTP/2 in addition to HTTP/1.1: open sessions, their requests, and limits per client and connection. */

import type { IncomingMessage, RequestListener } from 'node:http'
import { constants, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { AshlarError } from '@ashlar/engine'
import {
  http2ControlFramesMax,
  http2ControlWindowMs,
  http2HeaderPairsMax,
  http2ResetsMax,
  http2ResetsPerSecond,
  http2SessionMegabytesMax,
  http2StreamsMax,
  keepAliveMs,
  type ServerLimits,
} from '../limits.ts'
import { isClientNamed } from '../shares/client-address.ts'
import { TokenBucket } from '../shares/token-bucket.ts'
import { maySendSlowly, problemOfBroken, problemOfTunnel } from './broken-request.ts'
import type { ConnectionCounts } from './connections.ts'
import { Http2Request, Http2Response, socketOfSession } from './http2-messages.ts'
import { contentTypeOf } from './negotiate.ts'

type SessionLimits = Pick<
  ServerLimits,
  | 'connectionsMax'
  | 'connectionsPerAddressMax'
  | 'headersMsMax'
  | 'requestMsMax'
  | 'requestHeaderBytesMax'
  | 'replyStallMsMax'
>

interface Session {
  readonly session: ServerHttp2Session
  readonly socket: Socket
  readonly address: string
  readonly responses: Set<Http2Response>
  /** Starts of requests that arrived while another was processed. */
  readonly waiting: (() => void)[]
  /** The end of the last request, or the start of the session. */
  idleSinceMs: number
  hasRequested: boolean
  /** Limits aborted streams; refills over time. */
  readonly resets: TokenBucket
  controlFrames: number
  controlSinceMs: number
  /** Bytes sent, and the number of checks since then at which frames were waiting without progress. */
  sentBytes: number
  stalledChecks: number
}

export class Http2Sessions {
  /** Serves sockets passed to it; does not listen itself. */
  private readonly server: Http2Server
  private readonly limits: SessionLimits
  private readonly open = new Map<ServerHttp2Session, Session>()
  private readonly timer: NodeJS.Timeout
  private readonly counts: ConnectionCounts
  /** Requests that began during another one on their session. */
  private readonly further = new WeakSet<object>()
  private readonly stalledChecksMax: number
  private arriving: Socket | undefined

  constructor(limits: SessionLimits, counts: ConnectionCounts, handle: RequestListener) {
    this.limits = limits
    this.counts = counts
    this.server = createServer({
      Http2ServerRequest: Http2Request as never,
      Http2ServerResponse: Http2Response as never,
      maxHeaderListPairs: http2HeaderPairsMax,
      maxSessionMemory: http2SessionMegabytesMax,
      settings: {
        enablePush: false,
        maxConcurrentStreams: http2StreamsMax,
        maxHeaderListSize: limits.requestHeaderBytesMax,
      },
    })
    this.server.on('request', (request, response) => this.begin(request as never, response as never, handle))
    this.server.on('connect', (_request, response) => refuseTunnel(response as never))
    this.server.on('session', (session) => this.opened(session))
    const shortestMs = Math.min(limits.headersMsMax, limits.requestMsMax, limits.replyStallMsMax)
    const intervalMs = Math.ceil(shortestMs / 10)
    // Twice as long, so that an unread reply is aborted first, which is logged.
    this.stalledChecksMax = Math.ceil((2 * limits.replyStallMsMax) / intervalMs)
    this.timer = setInterval(() => this.check(), intervalMs).unref()
  }

  /** `socket`: a TLS connection that has negotiated HTTP/2. */
  serve(socket: Socket): void {
    // The session is reported within this call.
    this.arriving = socket
    this.server.emit('connection', socket)
    this.arriving = undefined
  }

  /** Called for requests with `Expect` other than 100-continue. */
  onExpectation(listener: (request: IncomingMessage) => void): void {
    this.server.on('checkExpectation', (request, response) => {
      listener(request as never)
      this.server.emit('request', request, response)
    })
  }

  /** Returns the refusal of a request beyond the limits, for which further requests on a session count like connections; else undefined. */
  refusalOf(request: IncomingMessage): AshlarError | undefined {
    if (!this.further.has(request)) return undefined
    const { connectionsMax, connectionsPerAddressMax } = this.limits
    if (this.counts.all > connectionsMax) return busy('The server has', connectionsMax, 'connectionsMax')
    // Through a proxy, it counts by the address of its client.
    if (isClientNamed(request)) return undefined
    if (this.counts.of(request.socket.remoteAddress ?? '') <= connectionsPerAddressMax) return undefined
    return busy('Your address has', connectionsPerAddressMax, 'connectionsPerAddressMax')
  }

  /** Replies that clients may be slow to read. */
  *responses(): Iterable<Http2Response> {
    for (const { responses } of this.open.values()) yield* responses
  }

  /** Notifies clients to send no further requests; requests already sent get replies. */
  announceEnd(): void {
    for (const { session } of this.open.values()) if (!session.destroyed) session.goaway(0, 2 ** 31 - 1)
  }

  /** Ends the sessions after the written data has been sent; resolves when all have ended. */
  async end(): Promise<void> {
    clearInterval(this.timer)
    const ended = [...this.open.values()].map(({ session, socket }) => {
      if (session.destroyed || socket.destroyed) return undefined
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      session.close()
      return closed
    })
    await Promise.all(ended)
  }

  private opened(session: ServerHttp2Session): void {
    const socket = this.arriving
    if (socket === undefined) throw new Error('a session without a socket')
    socketOfSession.set(session, socket)
    const now = performance.now()
    const one: Session = {
      session,
      socket,
      address: socket.remoteAddress ?? '',
      responses: new Set(),
      waiting: [],
      idleSinceMs: now,
      hasRequested: false,
      resets: new TokenBucket(http2ResetsMax, http2ResetsPerSecond),
      controlFrames: 0,
      controlSinceMs: now,
      sentBytes: 0,
      stalledChecks: 0,
    }
    this.open.set(session, one)
    session.once('close', () => this.open.delete(session))
    // Node ends the session; the client's error is irrelevant.
    session.on('error', () => undefined)
    const control = (): void => this.onControlFrame(one)
    session.on('ping', control).on('remoteSettings', control)
  }

  private begin(request: Http2Request, response: Http2Response, handle: RequestListener): void {
    const one = request.stream.session && this.open.get(request.stream.session as ServerHttp2Session)
    if (one === undefined) return
    one.hasRequested = true
    one.responses.add(response)
    const isFurther = one.responses.size > 1
    if (isFurther) {
      this.counts.add(one.address, 1)
      this.further.add(request)
    }
    response.once('close', () => {
      one.responses.delete(response)
      one.idleSinceMs = performance.now()
      // Regardless of the order in which they end, all but one are counted.
      if (one.responses.size > 0) this.counts.add(one.address, -1)
      if (!response.writableFinished) this.onReset(one)
    })
    const execute = (): void => {
      // A request that was reset meanwhile must not begin, since it would never be closed.
      if (one.responses.has(response) && !response.destroyed) handle(request as never, response as never)
    }
    if (isFurther) beginQueued(one, execute)
    else execute()
  }

  /** Requests aborted as fast as they are sent cost the server more than the client (CVE-2023-44487, CVE-2025-8671). */
  private onReset(one: Session): void {
    if (!one.resets.take()) endAbusive(one)
  }

  /** Each is answered immediately by a frame (CVE-2019-9512, CVE-2019-9515). */
  private onControlFrame(one: Session): void {
    const now = performance.now()
    if (now - one.controlSinceMs > http2ControlWindowMs) {
      one.controlSinceMs = now
      one.controlFrames = 0
    }
    if (++one.controlFrames > http2ControlFramesMax) endAbusive(one)
  }

  /** Ends requests that do not arrive, and idle sessions. */
  private check(): void {
    const now = performance.now()
    const { requestMsMax, headersMsMax } = this.limits
    for (const one of this.open.values()) {
      const { session, responses, idleSinceMs, hasRequested, socket } = one
      if (!hasToSend(one) || socket.bytesWritten !== one.sentBytes) {
        one.sentBytes = socket.bytesWritten
        one.stalledChecks = 0
        // Checks are counted, not time: while the event loop is blocked, nothing can be sent.
      } else if (++one.stalledChecks > this.stalledChecksMax) socket.destroy()
      for (const response of responses) {
        const isLate = !response.req.complete && now - response.beganMs > requestMsMax
        if (!isLate || response.headersSent || maySendSlowly(response.req)) continue
        answerLate(response, this.limits as ServerLimits)
      }
      if (responses.size > 0) continue
      const idleMsMax = hasRequested ? keepAliveMs : Math.min(headersMsMax, requestMsMax)
      if (now - idleSinceMs > idleMsMax + (session.closed ? headersMsMax : 0)) endIdle(session)
    }
  }
}

/**
 * Whether data other than bodies is unsent; bodies are watched individually. If a client closes the connection meanwhile, Node may neither end the
 * session nor send the next frame (https://github.com/nodejs/node/issues/55804).
 */
function hasToSend({ session, responses }: Session): boolean {
  if ((session.state.outboundQueueSize ?? 0) > 0) return true
  for (const { stream } of responses) if (stream.closed && !stream.destroyed) return true
  return false
}

/** Begins one queued request per event loop turn, so that a session does not delay other clients. */
function beginQueued({ waiting }: Session, begin: () => void): void {
  waiting.push(begin)
  if (waiting.length === 1) setImmediate(beginNext)

  function beginNext(): void {
    waiting[0]?.()
    waiting.shift()
    if (waiting.length > 0) setImmediate(beginNext)
  }
}

function busy(whose: string, max: number, limit: string): AshlarError {
  return new AshlarError('ServerBusy', `${whose} ${max} requests and connections, the maximum (${limit}).`)
}

function endAbusive({ session }: Session): void {
  if (!session.destroyed) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
}

/** Closes the session gracefully, which notifies the client, and destroys it if the client does not read. */
function endIdle(session: ServerHttp2Session): void {
  if (session.closed) session.destroy()
  else session.close()
}

function refuseTunnel(response: Http2Response): void {
  const problem = problemOfTunnel()
  response.writeHead(problem.status, ['content-type', contentTypeOf.json])
  response.end(JSON.stringify(problem))
}

/** Replies like HTTP/1.1, without reading the rest of the body. */
function answerLate(response: Http2Response, limits: ServerLimits): void {
  if (response.headersSent || response.req.complete || response.destroyed) return
  const problem = problemOfBroken({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, limits)
  const body = JSON.stringify(problem)
  response.writeHead(problem.status, ['content-type', contentTypeOf.json])
  response.end(body)
}
