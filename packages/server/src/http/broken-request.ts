/** Answers invalid HTTP, which reaches no route: unparsable requests, headers that are too large, requests that do not arrive. */

import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { makeProblem, type Problem } from '../errors/problem.ts'
import type { ServerLimits } from '../limits.ts'
import type { RequestQueues } from './pipelining.ts'

const handshakeError = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/

type BrokenRequest = Error & { readonly code?: string }

/** Sockets whose last reply is decided: Node reports each further piece of an unreadable request. */
const ending = new WeakSet<Socket>()

/**
 * Replies to invalid requests, also after a route has begun. Complete earlier requests on the connection are answered first (contract 1.1.15).
 * `constantHeaders`: alternating names and values for every reply.
 */
export function answerBrokenRequest(
  error: BrokenRequest,
  socket: Socket,
  requests: RequestQueues,
  limits: ServerLimits,
  constantHeaders: readonly string[],
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || ending.has(socket)) return
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isSlowUpload(socket)) return
  // A client without agreed encryption cannot be sent anything.
  if (error.code !== undefined && handshakeError.test(error.code)) {
    socket.destroy()
    return
  }
  ending.add(socket)
  afterCompleteRequests(requests, socket, (isBehindOthers) => {
    // A second reply would be read as a part of the first.
    if (requests.responseOn(socket)?.headersSent === true) socket.destroy()
    // The late request may have arrived meanwhile, and gets its reply then.
    else if (isBehindOthers && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroySoon()
    else answerAndEnd(socket, problemOfBroken(error, limits), constantHeaders)
  })
}

/** Calls back once all complete requests are answered; never if the connection closes before. */
function afterCompleteRequests(
  requests: RequestQueues,
  socket: Socket,
  onIdle: (isBehindOthers: boolean) => void,
  isBehind = false,
): void {
  const response = requests.responseOn(socket)
  if (response?.req.complete !== true) {
    onIdle(isBehind)
    return
  }
  response.once('close', () => {
    // Once all its listeners have run, the next request of the connection is the current one.
    process.nextTick(() => {
      if (!socket.destroyed) afterCompleteRequests(requests, socket, onIdle, true)
    })
  })
}

/** Refuses CONNECT, which reaches no route: Node would close the connection without a reply. */
export function refuseTunnels(server: Server, requests: RequestQueues, constantHeaders: readonly string[]): void {
  server.on('connect', ({ socket }: IncomingMessage) => {
    // It would be read as the reply to an earlier request.
    if (requests.responseOn(socket) !== undefined) socket.destroy()
    else answerAndEnd(socket, problemOfTunnel(), constantHeaders)
  })
}

export function problemOfTunnel(): Problem {
  return makeProblem('MethodNotAllowed', 'CONNECT is not supported.')
}

function answerAndEnd(socket: Socket, problem: Problem, constantHeaders: readonly string[]): void {
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...constantHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${constantHeaders[at + 1]}`] : [])),
  ]
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}

export function problemOfBroken({ code }: Pick<BrokenRequest, 'code'>, limits: ServerLimits): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `The headers of the request are larger than ${limits.requestHeaderBytesMax} bytes (requestHeaderBytesMax).`
    return makeProblem('HeadersTooLarge', message)
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const { headersMsMax, requestMsMax } = limits
    const message = `The request took too long to arrive: its headers must arrive within ${headersMsMax} ms (headersMsMax), all of it within ${requestMsMax} ms (requestMsMax).`
    return makeProblem('RequestTimeout', message)
  }
  return makeProblem('MalformedRequest', 'The request is not valid HTTP.')
}

const slow = new WeakSet<object>()
/** HTTP/1.1: the request whose body arrives, by connection. */
const arriving = new WeakMap<object, IncomingMessage>()

/** Call for a body whose reader limits the time of its arrival. */
export function mayArriveSlowly(request: IncomingMessage): void {
  if (request.httpVersionMajor === 2) slow.add(request)
  else arriving.set(request.socket, request)
}

/** HTTP/2: whether the body may arrive slowly. */
export function maySendSlowly(request: object): boolean {
  return slow.has(request)
}

/** HTTP/1.1: whether such a body arrives on the connection when its `requestTimeout` expires. */
function isSlowUpload(socket: object): boolean {
  return arriving.get(socket)?.complete === false
}
