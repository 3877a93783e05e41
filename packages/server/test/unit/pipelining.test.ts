/** Requests that a client sends before it has the replies to those before them (pipelining), and clients that go away meanwhile. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CancelSignal, FederatedDatabase } from '@ashlar/engine'
import { beforeEach, expect, it, vi } from 'vitest'
import { type OpenServer, openServer } from './open-server.ts'
import { type Gate, makeGate, rowChunk, stubQuery } from './stub-query.ts'

const query =
  'POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nSHOW 1'
const limits = { bodyBytesMax: 200_000, bodiesBytesMax: 200_000, bodyWaitMsMax: 50 }

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

it('a statement ends when its client goes away, and the next one, whose turn has not come, does not begin', async () => {
  const socket = await send(`${query}${query}`, 2)
  await expect.poll(() => signals.length).toBe(1)
  await hangUp(socket)
  gate.open()
  await expect.poll(() => requestLines().length).toBe(1)
  await nextTurn()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect(requestLines()).toEqual([[499, true]])
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
  expect(most).toBeLessThanOrEqual(2)
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

it('what is not HTTP is answered once the requests before it are, in their order', async () => {
  const broken = once(server.app.server, 'clientError')
  const socket = await send(`${query}${query}GET /v1/fd HTTP/1.1\r\nhost: localhost\r\n\r\nthis is not HTTP\r\n\r\n`, 3)
  let arrived = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    arrived += text
  })
  await broken
  // Told of again by Node, and no reason for another reply.
  const again = once(server.app.server, 'clientError')
  socket.write('nor is this\r\n\r\n')
  await again
  expect(arrived).toBe('')
  gate.open()
  await once(socket, 'close')
  expect(arrived.match(/HTTP\/1\.1 \d+/g)).toEqual([200, 200, 200, 400].map((status) => `HTTP/1.1 ${status}`))
  expect(arrived.slice(arrived.lastIndexOf('HTTP/1.1'))).toMatch(/connection: close.*"MalformedRequest"/is)
  expect(requestLines()).toEqual(Array(3).fill([200, undefined]))
})

it('a body that breaks off as no HTTP is refused in its turn', async () => {
  const head = 'PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n'
  const broken = once(server.app.server, 'clientError')
  const socket = await send(`${query}${head}no length\r\n`, 2)
  let arrived = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    arrived += text
  })
  await broken
  expect(arrived).toBe('')
  gate.open()
  await once(socket, 'close')
  expect(arrived.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
})

/** What became of a request for a statement behind the text, which ends the connection. */
async function statementsBehind(text: string): Promise<{ readonly statuses: unknown; begun: number }> {
  // Node itself hands over no request behind one that asks for the end.
  const socket = await send(text, 1)
  let arrived = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    arrived += piece
  })
  gate.open()
  await once(socket, 'close')
  expect(await connectionCount()).toBe(0)
  return { statuses: arrived.match(/HTTP\/1\.\d \d+/g), begun: signals.length }
}

const read = 'GET /v1/fd HTTP/1.1\r\nhost: localhost\r\n'

it.each([
  ['that asks for its end', `${read}connection: close\r\n\r\n`, 200],
  ['of HTTP/1.0', 'GET /v1/fd HTTP/1.0\r\n\r\n', 200],
  ['whose host is refused', 'GET /v1/fd HTTP/1.1\r\nhost: evil.example\r\n\r\n', 421],
])('a statement behind a request %s is not carried out', async (_, text, status) => {
  expect(await statementsBehind(`${text}${query}`)).toEqual({ statuses: [`HTTP/1.1 ${status}`], begun: 0 })
})

it('a statement behind a body that is refused is not carried out, also while the rest of that body is let in', async () => {
  const length = limits.bodyBytesMax + 1
  const head = `POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n`
  const socket = await send(head, 1)
  await once(socket, 'data')
  const closed = once(socket, 'close')
  socket.write(Buffer.concat([Buffer.alloc(length, ' '), Buffer.from(query)]))
  await closed
  gate.open()
  expect(signals).toEqual([])
})

it('requests that are refused before their routes neither hold up nor let pass those behind them', async () => {
  const expecting = 'POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\nexpect: 100-continue\r\n'
  const texts = [
    query,
    'POST /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n[]',
    'DELETE /v1/query HTTP/1.1\r\nhost: localhost\r\n\r\n',
    'HEAD /v1/fd HTTP/1.1\r\nhost: localhost\r\n\r\n',
    `${expecting}content-length: 6\r\n\r\nSHOW 1`,
    'PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\nexpect: tea\r\ncontent-length: 2\r\n\r\n[]',
    query,
    'GET /v1/fd HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  ]
  const socket = await send(texts.join(''), 2)
  let arrived = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    arrived += text
  })
  await expect.poll(() => signals.length).toBe(1)
  gate.open()
  // A client that closes its side gets what it has asked for.
  socket.end()
  await once(socket, 'close')
  expect(arrived.match(/(?<=HTTP\/1\.1 )\d+/g)?.map(Number)).toEqual([200, 404, 405, 200, 100, 200, 417, 200, 200])
  expect(signals.length).toBe(3)
})
