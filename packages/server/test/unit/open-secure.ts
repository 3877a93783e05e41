/** A server in this process that answers by HTTPS, and clients of it that speak HTTP/2. */

import { type ClientHttp2Session, connect, type OutgoingHttpHeaders, type SecureClientSessionOptions } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TlsOptions } from '../../src/http/server.ts'
import type { TlsMaterial } from '../../src/tls/certificate-files.ts'
import { serverPair } from '../certificates.ts'
import { openRawSession, type RawSession } from '../http2-frames.ts'
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

/** Frames are sent as they are, after the preface and empty settings. */
export async function rawSession(port: number): Promise<RawSession> {
  const made = await openRawSession(port, serverPair.cert)
  onTestFinished(() => void made.socket.destroy())
  return made
}
