/** Replies of one turn of the event loop, written a few at a time. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { writeOverdue, writeTogether } from '../../src/http/write-together.ts'

afterEach(() => void vi.restoreAllMocks())

/** What the clock shows from then on, so that no load of the machine counts. */
function clockAt(nowMs: number): void {
  vi.spyOn(performance, 'now').mockReturnValue(nowMs)
}

/** Whose turn on its connection is not there yet: it is ended by one call. */
function responseNoting(written: string[]): ServerResponse {
  return { socket: null, end: (body: string) => written.push(body) } as unknown as ServerResponse
}

test('a reply is written at the end of the turn, after those before it', async () => {
  clockAt(0)
  const written: string[] = []
  for (const body of ['one', 'two', 'three']) writeTogether(responseNoting(written), body, 'utf8')
  expect(written).toEqual([])
  await nextTurn()
  expect(written).toEqual(['one', 'two', 'three'])
  writeTogether(responseNoting(written), 'of another turn', 'utf8')
  await nextTurn()
  expect(written.at(-1)).toBe('of another turn')
})

test('the eighth reply of a turn is written at once, with those before it', async () => {
  clockAt(0)
  const written: string[] = []
  for (let i = 0; i < 8; i++) {
    expect(written).toEqual([])
    writeTogether(responseNoting(written), String(i), 'utf8')
  }
  expect(written).toHaveLength(8)
  writeTogether(responseNoting(written), 'ninth', 'utf8')
  expect(written).toHaveLength(8)
  await nextTurn()
  expect(written).toHaveLength(9)
})

test('replies that take long to be made do not wait for an eighth', async () => {
  clockAt(0)
  const written: string[] = []
  writeTogether(responseNoting(written), 'first', 'utf8')
  clockAt(0.5)
  writeTogether(responseNoting(written), 'second', 'utf8')
  expect(written).toEqual(['first', 'second'])
})

test('a reply does not wait for several requests that take long', async () => {
  clockAt(0)
  const written: string[] = []
  writeTogether(responseNoting(written), 'short', 'utf8')
  clockAt(0.4)
  writeOverdue()
  expect(written).toEqual([])
  clockAt(0.5)
  writeOverdue()
  expect(written).toEqual(['short'])
  await nextTurn()
  expect(written).toEqual(['short'])
})

test('pipelined requests are answered in their order, and a connection that ends meanwhile harms no other', async () => {
  const server = createServer((request, response) => {
    response.setHeader('content-length', String(request.url?.length))
    writeTogether(response, request.url as string, 'utf8')
    // Before its reply is written.
    if (request.url === '/gone') response.socket?.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (...paths: string[]): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    const last = paths.at(-1)
    const heads = paths.map((path) => {
      return `GET ${path} HTTP/1.1\r\nHost: a\r\n${path === last ? 'Connection: close\r\n' : ''}\r\n`
    })
    socket.write(heads.join(''))
    const reply = await text(socket).catch(() => '')
    return [...reply.matchAll(/\r\n\r\n(\/[a-z]+\d*)/g)].map(([, body]) => body).join('')
  }
  try {
    const replies = await Promise.all([
      ask('/a', '/b', '/c'),
      ask('/gone'),
      ...Array.from({ length: 20 }, (_, i) => ask(`/n${i}`, `/m${i}`)),
    ])
    expect(replies).toEqual(['/a/b/c', '', ...Array.from({ length: 20 }, (_, i) => `/n${i}/m${i}`)])
  } finally {
    server.close()
  }
})
