/** Frames of HTTP/2 by which a client could cost the server more than itself. Others are answered meanwhile, and memory does not grow. */
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect, vi } from 'vitest'
import { rule } from '../contract/rule.ts'
import { endHeaders, frame, frameTypes, getHeaders } from '../http2-frames.ts'
import { ask, openSecure, rawSession, type Secure } from '../unit/open-secure.ts'

const endStream = 0x1
const manyFrames = 100_000

/** Writes until all is sent, or the server has ended the connection. */
async function flood(socket: TLSSocket, closed: Promise<void>, pieces: Iterable<Buffer>): Promise<void> {
  let isOver = false
  void closed.then(() => {
    isOver = true
  })
  for (const piece of pieces) {
    if (isOver || socket.destroyed) return
    if (socket.write(piece)) continue
    await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
  }
}

function* repeated(frames: number, runToEnd: number, make: (i: number) => Buffer): Iterable<Buffer> {
  for (let from = 0; from < frames; from += runToEnd) {
    yield Buffer.concat(Array.from({ length: runToEnd }, (_, i) => make(from + i)))
  }
}

/** The flood ends with its connection, and another client has been served meanwhile. */
async function endsByItself(secure: Secure, pieces: Iterable<Buffer>): Promise<void> {
  const other = await secure.session()
  const { socket, closed } = await rawSession(secure.port)
  const flooded = flood(socket, closed, pieces)
  expect((await ask(other, 'GET', '/v1')).status).toBe(200)
  await flooded
  await closed
  expect((await ask(other, 'GET', '/v1')).status).toBe(200)
}

rule('9.5.7', 'requests that are abandoned as they are made (rapid reset, CVE-2023-44487)', async () => {
  const secure = await openSecure()
  const make = (i: number): Buffer => {
    const stream = 2 * i + 1
    const cancel = Buffer.from([0, 0, 0, 8])
    return Buffer.concat([
      frame(frameTypes.headers, endHeaders | endStream, stream, getHeaders),
      frame(frameTypes.reset, 0, stream, cancel),
    ])
  }
  await endsByItself(secure, repeated(manyFrames, 100, make))
  const served = secure.lines.filter(({ msg }) => msg === 'request').length
  expect(served).toBeLessThan(2_000)
})

rule('9.5.7', 'requests that the server has to give up for their frames (CVE-2025-8671)', async () => {
  const secure = await openSecure()
  // A window update by nothing is an error of the stream alone.
  const make = (i: number): Buffer => {
    const stream = 2 * i + 1
    return Buffer.concat([
      frame(frameTypes.headers, endHeaders, stream, getHeaders),
      frame(frameTypes.window, 0, stream, Buffer.alloc(4)),
    ])
  }
  await endsByItself(secure, repeated(manyFrames, 100, make))
})

rule('9.5.7', 'headers that never end (CONTINUATION, CVE-2024-27316)', async () => {
  const secure = await openSecure()
  const never = frame(frameTypes.continuation, 0, 1, Buffer.alloc(0))
  const first = frame(frameTypes.headers, 0, 1, getHeaders)
  await endsByItself(
    secure,
    repeated(manyFrames, 100, (i) => (i === 0 ? first : never)),
  )
})

rule('9.5.7', 'headers beyond requestHeaderBytesMax, by few bytes that stand for many', async () => {
  const secure = await openSecure()
  const name = Buffer.from('x-long')
  const value = Buffer.alloc(4_000, 97)
  const length = Buffer.from([0x7f, ...varint(value.length - 127)])
  // Entered into the table once, and named by a byte afterwards.
  const entered = Buffer.concat([Buffer.from([0x40, name.length]), name, length, value])
  const headers = Buffer.concat([getHeaders, entered, Buffer.alloc(5_000, 0x80 | 62)])
  const other = await secure.session()
  const { socket, received } = await rawSession(secure.port)
  for (let stream = 1; stream < 100; stream += 2)
    socket.write(frame(frameTypes.headers, endHeaders | endStream, stream, headers))
  await vi.waitFor(() => expect(received().length).toBeGreaterThan(100))
  expect((await ask(other, 'GET', '/v1')).status).toBe(200)
  expect(secure.lines.filter(({ url, status }) => url === '/v1' && status === 200).length).toBeLessThanOrEqual(1)
})

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
}

for (const [what, type, payload] of [
  ['PING', frameTypes.ping, Buffer.alloc(8)],
  ['SETTINGS', frameTypes.settings, Buffer.alloc(0)],
] as const) {
  rule('9.5.7', `${what} without end (CVE-2019-9512, CVE-2019-9515)`, async () => {
    const secure = await openSecure()
    await endsByItself(
      secure,
      repeated(manyFrames, 100, () => frame(type, 0, 0, payload)),
    )
  })
}

rule('9.5.7', 'bodies of empty frames (CVE-2019-9518)', async () => {
  const secure = await openSecure()
  const opened = frame(frameTypes.headers, endHeaders, 1, getHeaders)
  await endsByItself(
    secure,
    repeated(manyFrames, 100, (i) => (i === 0 ? opened : frame(frameTypes.data, 0, 1))),
  )
})

rule('9.5.7', 'more requests at once than a session may have', async () => {
  const secure = await openSecure({ limits: { replyStallMsMax: 500 } })
  const { socket, received } = await rawSession(secure.port)
  const post = Buffer.concat([Buffer.from([0x83]), getHeaders.subarray(1)])
  for (let i = 0; i < 1_000; i++) socket.write(frame(frameTypes.headers, endHeaders, 2 * i + 1, post))
  await vi.waitFor(() => expect(received().length).toBeGreaterThan(0))
  const other = await secure.session()
  expect((await ask(other, 'GET', '/v1')).status).toBe(200)
})

rule(['1.5.16', '9.5.5'], 'of clients that hang up while they are answered, nothing is left', async () => {
  const secure = await openSecure({ limits: { replyStallMsMax: 500 } })
  const post = Buffer.concat([Buffer.from([0x83]), getHeaders.subarray(1)])
  const asked = Array.from({ length: 100 }, (_, i) => frame(frameTypes.headers, endHeaders, 2 * i + 1, post))
  const connections = (): Promise<number> =>
    new Promise((resolve) => secure.app.server.getConnections((_error, count) => resolve(count)))
  for (let i = 0; i < 20; i++) {
    const { socket, received } = await rawSession(secure.port)
    for (const piece of asked) socket.write(piece)
    await vi.waitFor(() => expect(received().length).toBeGreaterThan(i * 300), { interval: 1 })
    socket.destroy()
  }
  await expect.poll(connections).toBe(0)
})

rule('9.5.7', 'requests that are reset in the packet that brought them are not executed', async () => {
  const secure = await openSecure()
  const other = await secure.session()
  const { socket } = await rawSession(secure.port)
  const pieces = Array.from({ length: 90 }, (_, i) => frame(frameTypes.headers, endHeaders, 2 * i + 1, getHeaders))
  const resets = pieces.map((_, i) => frame(frameTypes.reset, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])))
  socket.write(Buffer.concat([...pieces, ...resets]))
  await vi.waitFor(() => expect(secure.lines.some(({ url }) => url === '/v1')).toBe(true))
  expect((await ask(other, 'GET', '/nothing')).status).toBe(404)
  // The first of a session begins at once.
  expect(secure.lines.filter(({ url }) => url === '/v1').length).toBeLessThanOrEqual(2)
})

rule('9.5.7', 'what is no HTTP/2 after it was agreed on, and no TLS at all', async () => {
  const secure = await openSecure({ limits: { headersMsMax: 1_000 } })
  const { socket, closed } = await rawSession(secure.port)
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(10))
  await closed
  const plain = connect(secure.port, '127.0.0.1')
  plain.on('error', () => undefined)
  plain.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await new Promise((resolve) => plain.once('close', resolve))
  expect((await ask(await secure.session(), 'GET', '/v1')).status).toBe(200)
})
