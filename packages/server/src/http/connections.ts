/** Limits the number of connections, and the time in which a request must arrive. */

import type { Server as HttpServer } from 'node:http'
import type { Server, Socket } from 'node:net'
import { AshlarError } from '@ashlar/engine'
import { halfClosedMsMax, refusedConnectionsMax, type ServerLimits } from '../limits.ts'
import { allowHalfOpen } from '../node-internals.ts'
import { clientAddressOf, isClientNamed, networkOf } from '../shares/client-address.ts'
import type { HttpRequest } from './http-request.ts'

type ConnectionLimits = Pick<
  ServerLimits,
  'connectionsMax' | 'connectionsPerAddressMax' | 'headersMsMax' | 'requestMsMax'
>

/** Settings of node:http: how long headers, and whole requests, may take to arrive (contract 1.5.10). */
export function arrivalTimes({ headersMsMax, requestMsMax }: ConnectionLimits): {
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly connectionsCheckingInterval: number
} {
  const headersTimeout = Math.min(headersMsMax, requestMsMax)
  // Node checks at intervals, by which requests may exceed the limits.
  return { headersTimeout, requestTimeout: requestMsMax, connectionsCheckingInterval: Math.ceil(headersTimeout / 10) }
}

/** Counts connections; further concurrent requests on an HTTP/2 connection count like one. */
export class ConnectionCounts {
  all = 0
  private readonly byNetwork = new Map<string, number>()

  /** `address`: an IPv6 address counts by its /64. `connections`: fewer if requests on a counted connection already count for the address. */
  add(address: string, by: number, connections = by): void {
    const network = networkOf(address)
    this.all += connections
    const left = (this.byNetwork.get(network) ?? 0) + by
    if (left > 0) this.byNetwork.set(network, left)
    else this.byNetwork.delete(network)
  }

  of(address: string): number {
    return this.byNetwork.get(networkOf(address)) ?? 0
  }
}

/**
 * Limits connections. `isProxy`: clients of a trusted proxy count by their own addresses. Connections beyond the limits get a refusal for their first
 * request, which the returned function finds, and are closed; those far beyond are closed immediately.
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  counts: ConnectionCounts,
  isProxy: (address: string) => boolean,
): (socket: Socket) => AshlarError | undefined {
  const { connectionsMax, connectionsPerAddressMax } = limits
  /** Refusals by client address and port: with TLS, requests arrive on another socket than the one that was counted. */
  const refused = new Map<string, AshlarError>()
  server.maxConnections = connectionsMax + refusedConnectionsMax
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (counts.all >= connectionsMax) return refuse(socket, 'connectionsMax', connectionsMax)
    if (counts.of(remoteAddress) >= connectionsPerAddressMax && !isProxy(remoteAddress)) {
      return refuse(socket, 'connectionsPerAddressMax', connectionsPerAddressMax)
    }
    counts.add(remoteAddress, 1)
    socket.once('close', () => counts.add(remoteAddress, -1))
  })
  return (socket) => (refused.size === 0 ? undefined : refused.get(clientEnd(socket)))

  function refuse(socket: Socket, limit: keyof ConnectionLimits, max: number): void {
    const whose = limit === 'connectionsMax' ? 'The server has' : 'Your address has'
    const end = clientEnd(socket)
    refused.set(end, new AshlarError('ServerBusy', `${whose} ${max} connections, the maximum (${limit}).`))
    socket.once('close', () => refused.delete(end))
  }
}

function clientEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Counts a request through a trusted proxy as a connection of its client while it runs. Returns undefined if within the limit. */
export function countNamedRequest(
  { raw: request, response }: HttpRequest,
  { connectionsPerAddressMax: max }: ConnectionLimits,
  counts: ConnectionCounts,
): AshlarError | undefined {
  if (!isClientNamed(request)) return undefined
  const address = clientAddressOf(request)
  if (counts.of(address) >= max) {
    const message = `The address ${address} has ${max} requests in progress, the maximum (connectionsPerAddressMax).`
    return new AshlarError('ServerBusy', message)
  }
  counts.add(address, 1, 0)
  response.once('close', () => counts.add(address, -1, 0))
  return undefined
}

/**
 * Replies to clients that have closed their side of the connection. A client that has disconnected looks the same until data is sent: a connection
 * without outgoing data is closed after a while, which ends its requests. Call before there are connections.
 */
export function answerHalfClosed(server: HttpServer): void {
  allowHalfOpen(server)
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => endWhenSilent(socket))
  })
}

function endWhenSilent(socket: Socket): void {
  let sentBefore = socket.bytesWritten
  const timer = setInterval(() => {
    // Unsent data is bounded as for any client that does not read.
    if (socket.bytesWritten === sentBefore && socket.writableLength === 0) socket.destroy()
    sentBefore = socket.bytesWritten
  }, halfClosedMsMax)
  socket.once('close', () => clearInterval(timer))
}
