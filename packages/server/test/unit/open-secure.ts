/** A server in this process that answers by HTTPS, and clients of it that speak HTTP/2. */

import { type ClientHttp2Session, connect, type OutgoingHttpHeaders, type SecureClientSessionOptions } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { TlsOptions } from '../../src/http/server.ts'
import type { TlsMaterial } from '../../src/tls/certificate-files.ts'
import { serverPair } from '../certificates.ts'
import { type OpenServer, openServer, type ServerSetting } from './open-server.ts'

export interface Secure extends OpenServer {
  readonly port: number
  /** Another session. */
  session(): Promise<ClientHttp2Session>
  /** Lines of the log, parsed. */
  readonly lines: readonly Record<string, unknown>[]
  exchange(material: TlsMaterial): void
}

export async function openSecure(setting: ServerSetting = {}, tls: Partial<TlsOptions> = {}): Promise<Secure> {
  const lines: Record<string, unknown>[] = []
  let exchange: Secure['exchange'] = () => undefined
  const opened = await openServer({
    ...setting,
    onLog: (line) => lines.push(JSON.parse(line)),
    tls: {
      material: serverPair,
      clientCertificates: 'none',
      onServers: (given) => {
        exchange = given
      },
      ...tls,
    },
  })
  await opened.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = opened.app.server.address() as AddressInfo
  const session = async (): Promise<ClientHttp2Session> => {
    const made = connect(`https://localhost:${port}`, {
      ca: serverPair.cert,
      lookup: toLoopback,
    } as SecureClientSessionOptions)
    onTestFinished(() => made.destroy())
    // What a test does to a session is told by what it asserts.
    made.on('error', () => undefined)
    await new Promise((resolve) => made.once('connect', resolve))
    return made
  }
  return { ...opened, port, session, lines, exchange: (material) => exchange(material) }
}

/** `localhost` may mean ::1 as well, on which the server does not listen. */
const toLoopback = (
  _name: string,
  _options: unknown,
  done: (error: null, address: { address: string; family: number }[]) => void,
): void => done(null, [{ address: '127.0.0.1', family: 4 }])

export interface StreamReply {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly body: Buffer
  readonly json: ReturnType<typeof JSON.parse>
  readonly rstCode: number
}

/** `body`: without Content-Length, unless that is among the headers. */
export function ask(
  session: ClientHttp2Session,
  method: string,
  path: string,
  body?: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): Promise<StreamReply> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const stream = session.request(
    { ':method': method, ':path': path, ...type, ...headers },
    { endStream: body === undefined },
  )
  if (body !== undefined) stream.end(body)
  return replyOf(stream)
}

export function replyOf(stream: ReturnType<ClientHttp2Session['request']>): Promise<StreamReply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let headers: Record<string, unknown> = {}
    stream.on('response', (given) => {
      headers = given
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('close', () => {
      const whole = Buffer.concat(chunks)
      const isJson = String(headers['content-type']).startsWith('application/json')
      const json =
        isJson && headers['content-encoding'] === undefined && whole.length > 0
          ? JSON.parse(whole.toString())
          : undefined
      resolve({ status: Number(headers[':status']), headers, body: whole, json, rstCode: stream.rstCode ?? 0 })
    })
  })
}

const frameHeaderBytes = 9
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
}
/** Of GET /v1, without the names of others: `:method: GET`, `:scheme: https`, `:path: /v1`, `:authority: localhost`. */
export const getHeaders = Buffer.concat([
  Buffer.from([0x82, 0x87, 0x04, 3]),
  Buffer.from('/v1'),
  Buffer.from([0x01, 9]),
  Buffer.from('localhost'),
])

/** Of POST /v1/query with a text. */
export const postText = Buffer.concat([
  Buffer.from([0x83, 0x87, 0x04, 9]),
  Buffer.from('/v1/query'),
  Buffer.from([0x01, 9]),
  Buffer.from('localhost'),
  Buffer.from([0x0f, 16, 10]),
  Buffer.from('text/plain'),
])
export const endHeaders = 0x4

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(frameHeaderBytes)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A connection on which frames are sent as they are, after the preface and empty settings. */
export async function rawSession(
  port: number,
): Promise<{ socket: TLSSocket; closed: Promise<void>; received(): Buffer }> {
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: serverPair.cert,
    ALPNProtocols: ['h2'],
  })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('secureConnect', resolve))
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]).subarray(-1_000_000)
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(Buffer.concat([preface, frame(frameTypes.settings, 0, 0)]))
  return { socket, closed, received: () => received }
}
