/** Requests that a client sends before it has the replies to earlier ones on the same connection (HTTP pipelining). */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ClientDisconnected } from '../errors/request-errors.ts'
import { pipelinedInATurnMax, pipelinedMax } from '../limits.ts'

/**
 * Whatever a request holds (room for its body, a snapshot, a statement) is freed when its response closes. When a connection closes, Node
 * closes only the response that is being sent on it, and never those queued behind it; this closes them too.
 * No more is read from a connection on which as many wait as `pipelinedMax`.
 */
function queueResponse(response: ServerResponse): void {
  const { socket } = response.req
  let queue = queues.get(socket)
  if (queue === undefined) {
    queue = new ResponseQueue(socket)
    queues.set(socket, queue)
  }
  const before = queue.newest
  if (before !== undefined) noteTurn(response, before)
  queue.add(response)
}

const queues = new WeakMap<Socket, ResponseQueue>()

/** What responses wait for, of those that do. */
const turns = new WeakMap<ServerResponse, Promise<void>>()

/** In these the order does not matter: they change nothing (RFC 9110, 9.2.1). */
const safeMethods: readonly (string | undefined)[] = ['GET', 'HEAD', 'OPTIONS']

/** `before`: the one that came before it on its connection, and is not answered. */
function noteTurn(response: ServerResponse, before: ServerResponse): void {
  const areSafe = [before, response].every(({ req: { method } }) => safeMethods.includes(method))
  const turn = areSafe ? turns.get(before) : new Promise<void>((resolve) => before.once('close', resolve))
  if (turn !== undefined) turns.set(response, turn)
}

/**
 * Resolves when the operation of a request may begin; undefined where that is at once. Those of one connection begin one after the other, unless they
 * only read (contract 1.1.15, RFC 9112, 9.3.2). Rejects with ClientDisconnected.
 */
export function turnOf(response: ServerResponse): Promise<void> | undefined {
  // The one that is being sent has a socket: those before it are answered.
  if (response.socket !== null) return undefined
  return turns.get(response)?.then(() => {
    // Behind a reply that ends the connection nothing is carried out: its client could not learn of it (RFC 9112, 9.6).
    if (response.destroyed || !response.req.socket.writable) throw new ClientDisconnected()
  })
}

/** The responses of one connection that wait for those before them. One listener of each event: Node warns of a leak where a socket has more than ten. */
class ResponseQueue {
  private readonly socket: Socket
  private readonly responses = new Set<ServerResponse>()
  private isFull = false
  private last: ServerResponse | undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.once('close', () => this.closeAll())
    // Node resumes it for each body that is read or thrown away.
    socket.on('resume', () => {
      if (this.isFull) socket.pause()
    })
  }

  /** That of the request that came last, if it is not answered: no other is kept, so that nothing of a request outlives its reply. */
  get newest(): ServerResponse | undefined {
    return this.last ?? (this.socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
  }

  add(response: ServerResponse): void {
    this.responses.add(response)
    this.last = response
    response.once('close', () => this.remove(response))
    if (this.isFull || this.responses.size < pipelinedMax) return
    this.isFull = true
    this.socket.pause()
  }

  private remove(response: ServerResponse): void {
    this.responses.delete(response)
    if (this.last === response) this.last = undefined
    if (!this.isFull || this.responses.size > pipelinedMax / 2) return
    this.isFull = false
    this.socket.resume()
  }

  private closeAll(): void {
    this.isFull = false
    for (const response of this.responses) {
      if (response.socket !== null || response.writableFinished || response.closed) continue
      response.destroy()
      // So that versions of Node that close it as well do not say so again.
      ;(response as { _closed?: boolean })._closed = true
      response.emit('close')
    }
  }
}

/**
 * To be called once the server has who handles its requests. Of those that a client has sent before it had the replies to earlier ones, as many
 * begin in a turn of the event loop as others can wait for: what arrives as one piece may be a thousand, which Node hands over one after the other.
 */
export function beginByTurns(server: Server): void {
  const handlers = server.listeners('request')
  server.removeAllListeners('request')
  const waiting: (() => void)[] = []
  let begunInTurn = 0
  let isScheduled = false
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const begin = (): void => {
      // Its connection may have closed before its turn.
      if (!response.destroyed) for (const handler of handlers) handler.call(server, request, response)
    }
    // The one that is being sent has a socket; of HTTP/2 none waits for another.
    if (response.socket !== null || request.httpVersionMajor !== 1) return begin()
    queueResponse(response)
    if (waiting.length > 0 || begunInTurn >= pipelinedInATurnMax) waiting.push(begin)
    else {
      begunInTurn++
      begin()
    }
    if (isScheduled) return
    isScheduled = true
    setImmediate(beginSome)
  })

  function beginSome(): void {
    begunInTurn = 0
    isScheduled = waiting.length > 0
    if (!isScheduled) return
    setImmediate(beginSome)
    for (const begin of waiting.splice(0, pipelinedInATurnMax)) begin()
  }
}
