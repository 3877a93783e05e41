/** Requests sent before the replies to earlier ones on the same connection (HTTP/1.1 pipelining). */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipelinedMax } from '../limits.ts'

type Arrived = readonly [IncomingMessage, ServerResponse]

interface Connection {
  /** The response to the oldest request that has not been answered. */
  current: ServerResponse | undefined
  /** The following requests, in order. None has begun, so they can be dropped when the connection closes. */
  readonly waiting: Arrived[]
  isPaused: boolean
}

/**
 * Executes the requests of a connection one by one (contract 1.1.15). Each begins in a separate turn of the event loop, so that a thousand in one
 * packet do not delay other connections.
 */
export class RequestQueues {
  private readonly connections = new WeakMap<Socket, Connection>()
  private readonly begin: RequestListener

  constructor(begin: RequestListener) {
    this.begin = begin
  }

  /** The response to the oldest request on the connection that has not been answered. */
  responseOn(socket: Socket): ServerResponse | undefined {
    return this.connections.get(socket)?.current
  }

  /** Begins or queues the request. Call `ended` when the response has closed. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const connection = this.connections.get(socket) ?? this.newConnection(socket)
    if (connection.current === undefined) {
      connection.current = response
      this.begin(request, response)
      return
    }
    connection.waiting.push([request, response])
    if (connection.isPaused || connection.waiting.length < pipelinedMax) return
    connection.isPaused = true
    socket.pause()
  }

  /** Call when a response has closed. */
  ended({ req: { socket } }: ServerResponse): void {
    const connection = this.connections.get(socket)
    if (connection === undefined) return
    const next = connection.waiting.shift()
    connection.current = next?.[1]
    if (next === undefined) return
    if (connection.isPaused && connection.waiting.length <= pipelinedMax / 2) {
      connection.isPaused = false
      socket.resume()
    }
    setImmediate(() => {
      // After a reply that ends the connection no further request is executed: its client could not learn the outcome (RFC 9112, 9.6).
      if (socket.writable) this.begin(...next)
    })
  }

  private newConnection(socket: Socket): Connection {
    const connection: Connection = { current: undefined, waiting: [], isPaused: false }
    this.connections.set(socket, connection)
    // Node resumes it for each body that is read or discarded.
    socket.on('resume', () => {
      if (connection.isPaused) socket.pause()
    })
    return connection
  }
}
