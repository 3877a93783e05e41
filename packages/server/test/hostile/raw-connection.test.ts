/** What arrives on the wire and is no proper request: answered clearly where it can be, and never a fault. */
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defineGadget, openServer } from '../unit/open-server.ts'

/** Sends the text on a connection of its own; what comes back until the server closes it. */
async function exchange(port: number, message: string, { isHalfClosed = false } = {}): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // A refusal may arrive, and the connection end, before all is sent.
  socket.on('error', () => undefined)
  if (isHalfClosed) socket.end(message)
  else socket.write(message)
  await closed
  return answer
}

async function listen(
  onLog?: (line: string) => void,
): Promise<{ port: number; server: Awaited<ReturnType<typeof openServer>> }> {
  const server = await openServer(onLog === undefined ? {} : { onLog })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  return { port: (server.app.server.address() as AddressInfo).port, server }
}

describe('on the wire', () => {
  it('too large headers are answered by 431', async () => {
    const { port } = await listen()
    const answer = await exchange(port, `GET /v1 HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(17_000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ type: 'HeadersTooLarge', status: 431 })
  })

  it('headers within the limit are taken', async () => {
    const { port } = await listen()
    const answer = await exchange(
      port,
      `GET /v1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx: ${'a'.repeat(15_000)}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  it.each(['nonsense\r\n\r\n', '\u0000\u0001\u0002\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'GET /v1 HTTP/1.1\r\n\r\n'])(
    '%j is answered by 400',
    async (message) => {
      const { port } = await listen()
      expect(await exchange(port, message)).toMatch(/^HTTP\/1\.1 400 /)
    },
  )

  it.each([
    ['GET /v1 HTTP/1.1\r\nhost: localhost\r\n\r\n', [200]],
    ['GET /v1 HTTP/1.0\r\nhost: localhost\r\n\r\n', [200]],
    [
      'GET /v1/object/3-3-1-1x HTTP/1.1\r\nhost: localhost\r\n\r\nGET /v1 HTTP/1.1\r\nhost: localhost\r\n\r\n',
      [400, 200],
    ],
    [
      'POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 18\r\n\r\n{"query":"SHOW 1"}',
      [200],
    ],
    [
      'POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 18\r\n\r\n{',
      [400],
    ],
  ])('a client that closes its side after its requests is answered: %j', async (message, statuses) => {
    const { port } = await listen()
    const answer = await exchange(port, message, { isHalfClosed: true })
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))).toEqual(statuses)
  })

  it('a body that breaks off is no fault, and changes nothing', async () => {
    const log: Record<string, unknown>[] = []
    const { port, server } = await listen((line) => log.push(JSON.parse(line)))
    await defineGadget(server.app)
    const { server: http } = server.app
    const seen = new Promise((resolve) => http.once('request', resolve))
    const closed = new Promise((resolve) => http.once('connection', (socket) => socket.once('close', resolve)))
    const socket = connect(port, '127.0.0.1')
    socket.write('POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"class":"Shop.Gadget"}')
    await seen
    socket.destroy()
    await closed
    expect(log.filter(({ level }) => Number(level) >= 50)).toEqual([])
    expect((await server.app.inject('/v1/object/3-3-1-1')).statusCode).toBe(404)
  })
})
