/** HTTP/2 by hand: frames as they are, on a connection of TLS, for clients that do what no library lets them do. */
import { connect, type TLSSocket } from 'node:tls'

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

export interface RawSession {
  readonly socket: TLSSocket
  readonly closed: Promise<void>
  /** The last MB that came. */
  received(): Buffer
}

/** A connection on which frames are sent as they are, after the preface and these settings. */
export async function openRawSession(port: number, ca: string, settings = Buffer.alloc(0)): Promise<RawSession> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['h2'] })
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('secureConnect', resolve))
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]).subarray(-1_000_000)
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(Buffer.concat([preface, frame(frameTypes.settings, 0, 0, settings)]))
  return { socket, closed, received: () => received }
}
