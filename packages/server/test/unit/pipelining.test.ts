/** Requests that a client sends before it has the replies to those before them (pipelining), and clients that go away meanwhile. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { CancelSignal, FederatedDatabase } from '@ashlar/engine'
import { beforeEach, expect, it, vi } from 'vitest'
import { type OpenServer, openServer } from './open-server.ts'
import { type Gate, makeGate, rowChunk, stubQuery } from './stub-query.ts'

const query =
  'POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nSHOW 1'
const body = Buffer.from(JSON.stringify({ class: 'Text', attributes: { a: 'x'.repeat(150_000) } }))
const limits = { bodyBytesMax: 200_000, bodiesBytesMax: 200_000, bodyTurnMsMax: 50 }

let server: OpenServer
let log: Record<string, unknown>[]
/** Of the statements, in their order. */
let signals: CancelSignal[]
let gate: Gate
/** As the server has them. */
let sockets: Socket[]

beforeEach(async () => {
  log = []
  signals = []
  gate = makeGate()
  sockets = []
  server = await openServer({ limits, onLog: (line) => log.push(JSON.parse(line)) })
  server.app.server.on('connection', (socket: Socket) => sockets.push(socket))
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  stubQuery(server.federatedDatabases[0], async ({ signal }) => {
    if (signal !== undefined) signals.push(signal)
    await gate.opened
    return (async function* () {
      yield rowChunk('1')
    })()
  })
})

/** A connection on which the text was sent, once the server has seen so many requests of it. */
async function send(text: string | Buffer, requests: number): Promise<Socket> {
  const { port } = server.app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const seen = makeGate()
  let left = requests
  const count = ({ socket: its }: IncomingMessage): void => {
    if (its.remotePort === socket.localPort && --left === 0) seen.open()
  }
  server.app.server.on('request', count)
  socket.write(text)
  await seen.opened
  server.app.server.off('request', count)
  return socket
}

function connectionCount(): Promise<number> {
  return new Promise((resolve) => server.app.server.getConnections((_error, count) => resolve(count)))
}

function requestLines(): unknown[] {
  return log.filter(({ msg }) => msg === 'request').map(({ status, aborted }) => [status, aborted])
}

/** Resolves once the server has noticed. */
async function hangUp(socket: Socket): Promise<void> {
  expect(await connectionCount()).toBe(1)
  const noticed = sockets.map((its) => new Promise<void>((resolve) => its.once('close', () => resolve())))
  socket.destroy()
  await Promise.all(noticed)
}

it('what a body took is given back when its client goes away before the request has its turn to be answered', async () => {
  const head = `POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
  const length = `content-length: ${body.length}\r\n\r\n`
  const socket = await send(Buffer.concat([Buffer.from(`${query}${head}${length}`), body.subarray(0, -1)]), 2)
  await hangUp(socket)
  gate.open()
  for (let i = 0; i < 2; i++) {
    const reply = await fetch(`http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}/v1/object`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect([reply.status, ((await reply.json()) as { type: string }).type]).toEqual([422, 'UnknownClass'])
  }
})

it('a statement ends when its client goes away, and the next one, whose turn has not come, does not begin', async () => {
  const socket = await send(`${query}${query}`, 2)
  await expect.poll(() => signals.length).toBe(1)
  await hangUp(socket)
  gate.open()
  await expect.poll(() => requestLines().length).toBe(2)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect(requestLines()).toEqual([
    [499, true],
    [499, true],
  ])
})

it('requests that are sent before their replies are answered in their order', async () => {
  const socket = await send(`${query}GET /v1/fd HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`, 2)
  let arrived = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    arrived += text
  })
  gate.open()
  await once(socket, 'close')
  expect(arrived.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  expect(arrived.indexOf('[1]')).toBeLessThan(arrived.indexOf('"limits"'))
  expect(requestLines()).toEqual([
    [200, undefined],
    [200, undefined],
  ])
})

it('requests that wait on one connection for those before them add no listeners to it, of which Node would warn', async () => {
  const few = await send(query.repeat(3), 3)
  const many = await send(query.repeat(30), 30)
  const listeners = (client: Socket): number | undefined => {
    return sockets.find(({ remotePort }) => remotePort === client.localPort)?.listenerCount('close')
  }
  expect(listeners(few)).toBeGreaterThan(0)
  expect(listeners(many)).toBe(listeners(few))
  await Promise.all([few, many].map((socket) => once(socket.destroy(), 'close')))
  gate.open()
})

it('requests that arrive as one piece begin by turns of the event loop, and are answered in their order', async () => {
  let [begun, most, isOver] = [0, 0, false]
  const count = (): void => {
    most = Math.max(most, begun)
    begun = 0
    if (!isOver) setImmediate(count)
  }
  vi.spyOn(server.federatedDatabases[0] as FederatedDatabase, 'readObject').mockImplementation(() => {
    begun++
    return Buffer.from('{}')
  })
  count()
  const requests = 500
  const [asked, last] = ['GET /v1/object/1-1-1-1 HTTP/1.1\r\nhost: localhost\r\n', 'connection: close\r\n']
  const socket = await send(`${`${asked}\r\n`.repeat(requests - 1)}${asked}${last}\r\n`, requests)
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  await once(socket, 'close')
  isOver = true
  expect(answer.split('HTTP/1.1 200 ').length - 1).toBe(requests)
  expect(most).toBeLessThanOrEqual(18)
})

it('no more is read from a connection while very many of its replies wait', async () => {
  const requests = 20_000
  const { port } = server.app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  let seen = 0
  server.app.server.on('request', () => {
    seen++
  })
  socket.write(query.repeat(requests))
  await expect.poll(() => signals.length).toBeGreaterThan(0)
  let before = -1
  await expect
    .poll(
      () => {
        const isSteady = before === seen
        before = seen
        return isSteady
      },
      { interval: 200 },
    )
    .toBe(true)
  // What is read at once has some hundred.
  expect(seen).toBeLessThan(requests / 4)
  gate.open()
  socket.resume()
  await hangUp(socket)
})
