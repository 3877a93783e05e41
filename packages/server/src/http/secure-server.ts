/** HTTPS: one port on which clients negotiate HTTP/2 or HTTP/1.1 by ALPN. */
import { constants, randomBytes } from 'node:crypto'
import type { RequestListener, ServerOptions } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { keepAliveMs, type ServerLimits } from '../limits.ts'
import type { TlsMaterial } from '../tls/certificate-files.ts'
import { arrivalTimes, type ConnectionCounts } from './connections.ts'
import { Http2Sessions } from './http2-sessions.ts'

/** Only ciphers with forward secrecy and authenticated encryption, TLS 1.3 first. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Settings that do not depend on the certificate. */
const fixed: SecureContextOptions = { minVersion: 'TLSv1.2', ciphers, secureOptions: constants.SSL_OP_NO_RENEGOTIATION }

/** The key size of node:tls. */
const ticketKeyBytes = 48

export interface SecureServers {
  createServer(handle: RequestListener): Server
  readonly sessions: Http2Sessions
  exchange(material: TlsMaterial): void
}

/** Whether client certificates are requested, and whether clients without one are refused. */
export type CertificatePolicy = 'none' | 'optional' | 'required'

export function secureServers(
  material: TlsMaterial,
  limits: ServerLimits,
  options: ServerOptions,
  clientCertificates: CertificatePolicy,
  counts: ConnectionCounts,
): SecureServers {
  const servers: Server[] = []
  let handleOf: RequestListener = () => undefined
  const sessions = new Http2Sessions(limits, counts, (request, response) => handleOf(request, response))
  let current = material
  return {
    sessions,
    createServer(handle) {
      handleOf = handle
      const server = createServer(
        {
          ...options,
          ...arrivalTimes(limits),
          ...fixed,
          ...current,
          ALPNProtocols: ['h2', 'http/1.1'],
          handshakeTimeout: limits.headersMsMax,
          requestCert: clientCertificates !== 'none',
          rejectUnauthorized: clientCertificates === 'required',
        },
        handle,
      )
      server.keepAliveTimeout = keepAliveMs
      choose(server, sessions)
      servers.push(server)
      return server
    },
    exchange(next) {
      current = next
      for (const server of servers) {
        server.setSecureContext({ ...fixed, ...next })
        // Resumed sessions are not verified again: without new keys, they would still trust removed authorities.
        server.setTicketKeys(randomBytes(ticketKeyBytes))
      }
    },
  }
}

/** Clients that have negotiated HTTP/2 are not served by HTTP/1.1. */
function choose(server: Server, sessions: Http2Sessions): void {
  const serving = server.listeners('secureConnection')
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') sessions.serve(socket as Socket)
    else for (const listener of serving) listener.call(server, socket)
  })
}
