/** The head of a usual reply is, byte for byte, what Node would have written; any other is left to Node. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { writeUsualHead } from '../../src/http/usual-head.ts'

const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly type: string | undefined
}

/** What is received for a request that is answered so; `isWritten`: whether the head was written here. */
async function received(reply: Reply, request: string, prepare?: (response: ServerResponse) => void, isByNode = false) {
  let isWritten = false
  const answer = (_request: IncomingMessage, response: ServerResponse): void => {
    prepare?.(response)
    const { status, headers, type } = reply
    isWritten = !isByNode && writeUsualHead(response, status, headers, type, 4)
    if (!isWritten) {
      const typed = type === undefined ? [] : ['content-type', type]
      const head = ['x-content-type-options', 'nosniff', ...typed, ...Object.entries(headers).flat()]
      response.writeHead(status, [...head, 'content-length', '4'])
    }
    response.end('body')
  }
  const server = createServer({ keepAliveTimeout: 72_000 }, answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject).on('close', () => resolve())
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (text.endsWith('\r\n\r\nbody') || (request.startsWith('HEAD') && text.endsWith('\r\n\r\n'))) socket.destroy()
    })
    socket.write(request)
  })
  return { isWritten, text: text.replace(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/m, 'Date: now\r') }
}

function writeByItself(response: ServerResponse): void {
  const { writeHead } = response
  response.writeHead = (status: number, ...given: unknown[]) => {
    const head = given.at(-1) as unknown[]
    head.push('strict-transport-security', 'max-age=1')
    return writeHead.call(response, status, head as never)
  }
}

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const json: Reply = { status: 200, headers: {}, type: 'application/json; charset=utf-8' }

it.each<[string, Reply]>([
  ['rows', { ...json, headers: { 'statement-id': '9b0f' } }],
  ['an object', { ...json, headers: { etag: '"7"', location: '/v1/object/3-3-1-40' } }],
  ['what was created', { ...json, status: 201 }],
  ['an error', { ...json, status: 409, type: 'application/problem+json' }],
  ['no type', { ...json, type: undefined }],
])('of %s is as Node writes it', async (_what, reply) => {
  const own = await received(reply, get)
  expect(own.isWritten).toBe(true)
  expect(own.text).toContain('Date: now\r\nConnection: keep-alive\r\nKeep-Alive: timeout=72\r\n\r\nbody')
  expect(own.text).toBe((await received(reply, get, undefined, true)).text)
})

it.each<[string, string, ((response: ServerResponse) => void)?]>([
  ['to a client that ends the connection', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ['to HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
  ['to HEAD, which has no body', 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['with headers that were set before', get, (response) => response.setHeader('vary', 'origin')],
  ['that ends the connection', get, (response) => response.setHeader('connection', 'close')],
  ['whose class writes heads by itself', get, writeByItself],
])('is left to Node in a reply %s', async (_what, request, prepare) => {
  const { isWritten, text } = await received(json, request, prepare)
  expect(isWritten).toBe(false)
  expect(text).toBe((await received(json, request, prepare, true)).text)
})

it('is left to Node where a value could end the header', async () => {
  const reply = { ...json, headers: { etag: 'a\tb' } }
  expect((await received(reply, get)).isWritten).toBe(false)
})
