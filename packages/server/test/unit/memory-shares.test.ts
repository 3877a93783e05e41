/** Who takes all the memory for requests that one may take leaves enough for the others. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { MemoryShares } from '../../src/statements/memory-shares.ts'
import { serverPair } from '../certificates.ts'
import { rule } from '../contract/rule.ts'
import { ask } from './open-secure.ts'
import { openSecureServer } from './open-secure-server.ts'
import type { ServerSetting, TestServer } from './open-server.ts'

const mebibyte = 2 ** 20

/** Listens; two callers, one of whom is greedy, and an object with a text of so many characters. */
async function openForTwo(setting: ServerSetting, characters: number) {
  const { app, token } = await openSecureServer(setting)
  const greedy = await token({ name: 'greedy', roles: ['admin'] })
  const other = await token({ name: 'other', roles: ['admin'] })
  const headers = { authorization: other }
  const attributes = [{ attributeName: 'a', logicalType: 'string' }]
  const classes = [{ className: 'Text', isReferenceable: true, attributes }]
  await app.inject({ method: 'PUT', url: '/v1/schema', headers, payload: classes })
  const payload = { class: 'Text', attributes: { a: 'x'.repeat(characters) } }
  const made = await app.inject({ method: 'POST', url: '/v1/object', headers, payload })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return { app, greedy, other, port, path: made.json().uri as string }
}

/** As the server's own metrics tell it. */
async function heldBytes(app: TestServer, authorization: string): Promise<number> {
  const { body } = await app.inject({ url: '/metrics', headers: { authorization } })
  return Number(/^ashlar_held_bytes (\d+)$/m.exec(body)?.[1])
}

function counted(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

rule(
  '1.5.21',
  'a client of HTTP/1.1 that reads none of its replies keeps none of another from being answered',
  async () => {
    const limits = { statementsBytesMax: 100 * mebibyte }
    const { app, greedy, other, port, path } = await openForTwo({ limits }, 12 * mebibyte)
    const statusUnread = async (line: string, more = ''): Promise<number> => {
      const socket = connect({ port, host: '127.0.0.1' })
      onTestFinished(() => void socket.destroy())
      socket.write(`${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${greedy}\r\n${more}`)
      await once(socket, 'readable')
      return Number(String(socket.read(12)).slice(-3))
    }
    const unread: number[] = []
    for (let i = 0; i < 10; i++) unread.push(await statusUnread(`GET ${path}`, '\r\n'))
    expect(counted(unread)).toEqual({ 200: 6, 429: 4 })
    // Statements are refused where replies are.
    const text = `LET x = 'abcdefgh'; ${'LET x = $x + $x; '.repeat(17)}SHOW 1`
    const ofText = `content-type: text/plain\r\ncontent-length: ${text.length}\r\n\r\n${text}`
    expect(await statusUnread('POST /v1/query', ofText)).toBe(429)
    const others: number[] = []
    for (let i = 0; i < 10; i++) {
      const read = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: other } })
      expect((await read.arrayBuffer()).byteLength).toBeGreaterThan(12 * mebibyte)
      const headers = { authorization: other, 'content-type': 'text/plain' }
      const query = await fetch(`http://127.0.0.1:${port}/v1/query`, { method: 'POST', headers, body: text })
      await query.arrayBuffer()
      others.push(read.status, query.status)
    }
    expect(counted(others)).toEqual({ 200: 20 })
    expect(await heldBytes(app, other)).toBeGreaterThan(72 * mebibyte)
  },
)

rule('1.5.21', 'a client of HTTP/2 that opens no window, on one connection or several, neither', async () => {
  const tls = { material: serverPair, clientCertificates: 'none', onServers: () => undefined } as const
  const limits = { statementsBytesMax: 20 * mebibyte }
  const { app, greedy, other, port, path } = await openForTwo({ limits, tls }, mebibyte)
  const open = async (initialWindowSize: number): Promise<ClientHttp2Session> => {
    const settings = { initialWindowSize }
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: serverPair.cert, settings })
    onTestFinished(() => session.destroy())
    session.on('error', () => undefined)
    await once(session, 'connect')
    return session
  }
  const statusUnread = async (session: ClientHttp2Session): Promise<number> => {
    const stream = session.request({ ':path': path, authorization: greedy })
    stream.on('error', () => undefined)
    const [headers] = await once(stream, 'response')
    return Number(headers[':status'])
  }
  const statusesUnread = (session: ClientHttp2Session): Promise<number[]> =>
    Promise.all(Array.from({ length: 50 }, () => statusUnread(session)))
  const unread = [await open(0), await open(0)] as const
  // A half of all on one connection; three quarters for all of its connections.
  expect(counted(await statusesUnread(unread[0]))).toEqual({ 200: 9, 429: 41 })
  expect(counted(await statusesUnread(unread[1]))).toEqual({ 200: 5, 429: 45 })
  const reader = await open(2 ** 24)
  for (let i = 0; i < 20; i++) {
    const { status, body } = await ask(reader, 'GET', path, undefined, { authorization: other })
    expect([status, body.length > mebibyte]).toEqual([200, true])
  }
  for (const session of unread) session.destroy()
  await expect.poll(() => heldBytes(app, other)).toBe(0)
})

rule('1.5.21', 'a share is of what others leave, and the only request of a caller has none', () => {
  const limits = { statementsBytesMax: 1_000, memoryPercentPerCallerMax: 75, memoryPercentPerConnectionMax: 50 }
  const shares = new MemoryShares(limits)
  const of = (caller: string, connection: object = {}) => shares.holder(() => caller, connection)
  const [first, second] = [of('a'), of('a')]
  first.take(900)
  expect(() => second.take(1)).toThrow(/of the caller .* 75 percent .*memoryPercentPerCallerMax/)
  first.giveBack(500)
  second.take(350)
  expect(() => second.take(1)).toThrow(/memoryPercentPerCallerMax/)
  // However many take all that they may, the next one may have three quarters of what is left.
  for (const [name, room] of [
    ['b', 187],
    ['c', 47],
    ['d', 12],
  ] as const) {
    of(name).take(1)
    const more = of(name)
    expect(() => more.take(room)).toThrow(/memoryPercentPerCallerMax/)
    more.take(room - 1)
  }
  const connection = {}
  const [one, other, third] = [of('e', connection), of('e', connection), of('e', {})]
  one.take(1)
  expect(() => other.take(2)).toThrow(/of the connection .* 50 percent .*memoryPercentPerConnectionMax/)
  third.take(1)
  expect(shares.size).toBe(5)
  for (const holder of [one, third]) holder.giveBack(1)
  first.giveBack(400)
  second.giveBack(350)
  expect(shares.size).toBe(3)
})
