/**
 * The only file that uses undocumented parts of Node. A reply is aborted if its client takes no bytes (contract 1.5.16). The public counters of a
 * socket change only after a whole write, which may be hundreds of kilobytes: a slow client would be disconnected. Therefore the counter of the
 * handle is used; if a version of Node lacks it, the public counters are used. A client that closes its side of a connection after its requests gets
 * the replies (contract 1.5.16), which `http.Server` allows by an undocumented property. If a version of Node lacks it, such clients are
 * disconnected, as by any server on Node; `hasHalfOpen` reports which.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

interface Handle {
  readonly bytesWritten?: number
  readonly writeQueueSize?: number
}

interface SocketInternals {
  readonly _handle?: Handle | null
  /** For a TLS socket: the underlying connection. */
  readonly _parent?: SocketInternals | null
}

type HalfOpenServer = Server & { httpAllowHalfOpen?: boolean }

/** Increases with each byte that the operating system has taken. */
export function bytesAccepted(socket: Socket): number {
  // Encrypted data is written in pieces, which the counters of the TLS socket show only after the last one.
  const below = (socket as SocketInternals)._parent?._handle
  if (below?.bytesWritten !== undefined) return below.bytesWritten - (below.writeQueueSize ?? 0)
  return socket.bytesWritten - socket.writableLength - bytesUntaken(socket)
}

/** Bytes of the write in progress that the operating system has not taken. */
export function bytesUntaken(socket: Socket): number {
  return (socket as SocketInternals)._handle?.writeQueueSize ?? 0
}

export function hasHalfOpen(server: Server): boolean {
  return (server as HalfOpenServer).httpAllowHalfOpen !== undefined
}

/** Otherwise Node aborts requests in progress on a connection whose client has closed its side. */
export function allowHalfOpen(server: Server): void {
  if (hasHalfOpen(server)) (server as HalfOpenServer).httpAllowHalfOpen = true
}
