/** Bulk loads whose client takes no replies, and those by HTTP/2 (contract 2.2.24). */
import { once } from 'node:events'
import type { ClientHttp2Stream } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, vi } from 'vitest'
import type { Limits } from '../../src/limits.ts'
import { LogLines } from '../unit/log-lines.ts'
import { ask, openSecure } from '../unit/open-secure.ts'
import { defineGadget, type OpenServer, openServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

const asLines = { 'content-type': 'application/x-ndjson' }

const gadget = (name: string) =>
  `${JSON.stringify({ class: 'Shop.Gadget', attributes: { name, size: 1, isNew: true } })}\n`

/** Of which the reply is longer by far. */
const refused = `${'x'.repeat(20)}\n`
const piece = Buffer.from(refused.repeat(3_000))
/** 63 MB of lines, whose replies are far more than those that wait and what the operating system takes without a reader have room for. */
const piecesMax = 1_000

interface Sender {
  write(bytes: Buffer): boolean
  once(event: 'drain', listener: () => void): unknown
}

/** Sends until nothing more is taken for a while; how many pieces were. */
async function sendUntilSlowed(sender: Sender): Promise<number> {
  for (let sent = 1; sent < piecesMax; sent++) {
    if (sender.write(piece)) continue
    const isTaken = await Promise.race([
      new Promise<boolean>((resolve) => sender.once('drain', () => resolve(true))),
      delay(2_000, false),
    ])
    if (!isTaken) return sent
  }
  return piecesMax
}

async function statements({ app }: OpenServer): Promise<readonly { readonly state: string }[]> {
  return (await app.inject({ method: 'GET', url: '/v1/statement' })).json()
}

async function readers({ app }: OpenServer): Promise<{ oldestSnapshotMs: number; repliesBrokenOff: number }> {
  return (await app.inject({ method: 'GET', url: '/v1/fd' })).json().readers
}

async function count({ app }: OpenServer): Promise<number> {
  const payload = { query: 'FROM Shop.Gadget RETURN COUNT(*) AS n' }
  return (await app.inject({ method: 'POST', url: '/v1/query', payload })).json()[0].n
}

/** A load by HTTP/1.1 whose client reads nothing. */
async function unreadLoad({ app }: OpenServer): Promise<Sender> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined).pause()
  socket.write('POST /v1/object?onError=skip HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n')
  socket.write('Transfer-Encoding: chunked\r\n\r\n')
  const chunk = (bytes: Buffer): boolean => {
    socket.write(`${bytes.length.toString(16)}\r\n`)
    socket.write(bytes)
    return socket.write('\r\n')
  }
  return { write: chunk, once: (event, listener) => socket.once(event, listener) }
}

/** A load by HTTP/2 whose client reads nothing. */
async function unreadStream(secure: Awaited<ReturnType<typeof openSecure>>): Promise<ClientHttp2Stream> {
  const session = await secure.session()
  const stream = session.request({ ':method': 'POST', ':path': '/v1/object?onError=skip', ...asLines })
  stream.on('error', () => undefined).pause()
  return stream
}

/** A load whose client reads nothing is slowed, holds no snapshot, and ends by the limit; what others do goes on. */
async function expectSlowedAndEnded(server: OpenServer, sender: Sender): Promise<void> {
  sender.write(Buffer.from(gadget('first')))
  expect(await sendUntilSlowed(sender)).toBeLessThan(piecesMax)
  expect(await count(server)).toBe(1)
  await vi.waitFor(async () => expect(await statements(server)).toEqual([]))
  // A request that has not ended yet, as this one, may have a snapshot that is a moment old.
  await expect.poll(() => readers(server)).toEqual({ oldestSnapshotMs: 0, repliesBrokenOff: 1 })
}

const limits: Partial<Limits> = { replyStallMsMax: 4_000 }

rule(['2.2.24', '1.5.16'], 'whoever sends lines and reads no reply is slowed, and broken off in time', async () => {
  const server = await openServer({ limits })
  await defineGadget(server.app)
  await expectSlowedAndEnded(server, await unreadLoad(server))
})

rule(['2.2.24', '9.5.3'], 'so it is by HTTP/2', async () => {
  const secure = await openSecure({ limits })
  await defineGadget(secure.app)
  await expectSlowedAndEnded(secure, await unreadStream(secure))
})

rule(['2.2.24', '9.5.3'], 'by HTTP/2 lines are acknowledged while others are still to come', async () => {
  const secure = await openSecure()
  await defineGadget(secure.app)
  const session = await secure.session()
  const stream = session.request({ ':method': 'POST', ':path': '/v1/object', ...asLines })
  let seen = ''
  stream.on('data', (bytes: Buffer) => {
    seen += bytes.toString()
  })
  const replies = () =>
    seen
      .trimEnd()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  for (const [i, name] of ['a', 'b', 'c'].entries()) {
    stream.write(gadget(name))
    await vi.waitFor(() => expect(replies().at(-1)).toMatchObject({ line: i + 1, __identifier__: expect.any(String) }))
    expect(await count(secure)).toBe(i + 1)
    expect((await ask(session, 'GET', '/v1')).status).toBe(200)
  }
  const ended = once(stream, 'close')
  stream.end()
  await ended
  expect(replies().at(-1)).toEqual({ summary: { created: 3, updated: 0, failed: 0 } })
})

rule(['2.2.24', '9.5.3'], 'a stream that is reset leaves what was acknowledged, and no part of a line', async () => {
  const secure = await openSecure()
  await defineGadget(secure.app)
  const session = await secure.session()
  const stream = session.request({ ':method': 'POST', ':path': '/v1/object', ...asLines })
  stream.on('error', () => undefined)
  stream.write(gadget('a'))
  await once(stream, 'data')
  stream.write(gadget('b').slice(0, -3))
  stream.close(8)
  await vi.waitFor(async () => expect(await statements(secure)).toEqual([]))
  expect(await count(secure)).toBe(1)
  expect((await ask(session, 'GET', '/v1')).status).toBe(200)
})

rule('2.2.24', 'a client that goes away amid its load is no failure of the server', async () => {
  const log = new LogLines()
  const { app } = await openServer({ onLog: log.take })
  await defineGadget(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('POST /v1/object HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n')
  const line = gadget('first')
  socket.write(`Transfer-Encoding: chunked\r\n\r\n${line.length.toString(16)}\r\n${line}\r\n`)
  let told = ''
  while (!told.includes('__identifier__')) told += String((await once(socket, 'data'))[0])
  log.all.length = 0
  socket.destroy()
  expect(await log.withMessage('request')).toMatchObject({ url: '/v1/object', aborted: true })
  for (let turn = 0; turn < 10; turn++) await delay(1)
  expect(log.all.map(({ level, msg }) => [level, msg])).toEqual([[30, 'request']])
})
