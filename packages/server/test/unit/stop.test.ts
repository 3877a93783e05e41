/** A server that stops while rows are on their way. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { FederatedDatabase } from '@ashlar/engine'
import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { startServer } from '../../src/start-server.ts'
import { makeGate, rowChunk, stubQuery } from './stub-query.ts'

/** A query whose first rows have arrived, and whose others come with the gate. */
async function openReply(stopMsMax: number) {
  const federatedDatabases = [{ alias: 'default', store: 'memory:' }]
  const config = mergeConfig([{ port: 0, federatedDatabases, limits: { stopMsMax } }])
  const server = await startServer(config, pino({ level: 'silent' }))
  const gate = makeGate()
  const ended = makeGate()
  stubQuery(server.federatedDatabases[0], async function* ({ signal }) {
    const aborted = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
    try {
      yield rowChunk('1')
      await Promise.race([gate.opened, aborted])
      yield rowChunk('2')
    } finally {
      ended.open()
    }
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = httpRequest(`${server.url}/v1/query`, { method: 'POST', headers: { 'content-type': 'text/plain' } })
    sent.once('response', resolve).once('error', reject).end('SHOW 1')
  })
  return { server, gate, ended, response }
}

async function readAll(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of response) text += piece
  return text
}

it('does not wait for a connection on which nothing was sent', async () => {
  const federatedDatabases = [{ alias: 'default', store: 'memory:' }]
  // So long that a test that waits for it fails.
  const config = mergeConfig([{ port: 0, federatedDatabases, limits: { stopMsMax: 1e9 } }])
  const server = await startServer(config, pino({ level: 'silent' }))
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  // Answered only after the server has taken the connection before it.
  await (await fetch(server.url)).text()
  const closed = once(socket, 'close')
  await server.stop()
  await closed
})

it('does not wait for what clients asked for that have gone away, after a body and what is no HTTP', async () => {
  const federatedDatabases = [{ alias: 'default', store: 'memory:' }]
  const config = mergeConfig([{ port: 0, federatedDatabases, limits: { stopMsMax: 1e9 } }])
  const server = await startServer(config, pino({ level: 'silent' }))
  const get = 'GET /v1/fd HTTP/1.1\r\nhost: localhost\r\n\r\n'
  const post =
    'POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n'
  // The body ends within one of the others, and requests are queued behind each other.
  for (const sent of [`${post}${get.repeat(30)}`, `${get.repeat(30)}${post}${get.repeat(30)}`, get.repeat(300)]) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(sent)
    await (await fetch(server.url)).text()
    await once(socket.destroy(), 'close')
  }
  await server.stop()
})

it('waits as long as it may, whatever time the framework gives to its own steps', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { server, gate, response } = await openReply(100_000)
  const stopped = server.stop()
  await vi.advanceTimersByTimeAsync(99_000)
  gate.open()
  expect(await readAll(response)).toBe('[1,2]')
  await stopped
})

it('closes all federated databases, also where one cannot be closed, and tells of that one', async () => {
  const federatedDatabases = ['one', 'two'].map((alias) => ({ alias, store: 'memory:' }))
  const server = await startServer(mergeConfig([{ port: 0, federatedDatabases }]), pino({ level: 'silent' }))
  const [one, two] = server.federatedDatabases as [FederatedDatabase, FederatedDatabase]
  vi.spyOn(one.store, 'close').mockRejectedValue(new Error('left open'))
  const closing = vi.spyOn(two.store, 'close')
  await expect(server.stop()).rejects.toThrow('left open')
  await server.stopped
  expect(closing).toHaveBeenCalledOnce()
})

it('tells why it cannot listen, also where a federated database cannot be closed afterwards', async () => {
  const federatedDatabases = ['one', 'two'].map((alias) => ({ alias, store: 'memory:' }))
  const first = await startServer(mergeConfig([{ port: 0, federatedDatabases }]), pino({ level: 'silent' }))
  const config = mergeConfig([{ port: Number(new URL(first.url).port), federatedDatabases }])
  const closing = vi.spyOn(FederatedDatabase.prototype, 'close').mockRejectedValueOnce(new Error('left open'))
  await expect(startServer(config, pino({ level: 'silent' }))).rejects.toThrow('is in use')
  expect(closing).toHaveBeenCalledTimes(2)
  closing.mockRestore()
  await first.stop()
})

it('lets a reply of rows come to its end', async () => {
  const { server, gate, ended, response } = await openReply(60_000)
  const stopped = server.stop()
  gate.open()
  expect(await readAll(response)).toBe('[1,2]')
  await stopped
  await ended.opened
})

it('breaks it off once the time for stopping is over', async () => {
  const { server, ended, response } = await openReply(20)
  const reading = readAll(response)
  reading.catch(() => undefined)
  await server.stop()
  await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' })
  await ended.opened
})
