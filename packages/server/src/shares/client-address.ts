/** The address of the client of a request: that of the connection, or what a trusted proxy says. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'

const namedAddress = Symbol('client address')

/** A request or connection from a client. */
export interface FromClient {
  readonly socket: Socket
  /** Set if a trusted proxy has named the client. */
  [namedAddress]?: string
}

/** A request as far as it has arrived before its body. */
export interface ArrivedMessage extends FromClient {
  readonly headers: IncomingHttpHeaders
}

export function clientAddressOf(request: FromClient): string {
  return request[namedAddress] ?? request.socket.remoteAddress ?? ''
}

/** To be called before `clientAddressOf`. */
export function nameClient(request: FromClient, address: string): void {
  request[namedAddress] = address
}

/** Whether the request came through a proxy that named its client. */
export function isClientNamed(request: FromClient): boolean {
  return request[namedAddress] !== undefined
}
