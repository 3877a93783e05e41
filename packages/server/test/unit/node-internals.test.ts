/** What is read of Node that it does not document behaves as `node-internals.ts` expects. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { allowHalfOpen, bytesAccepted, bytesUntaken, hasHalfOpen } from '../../src/node-internals.ts'

it('the bytes of one write that the operating system has taken, and those that it has not', async () => {
  const server = createTcpServer()
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  const [socket] = await accepted
  onTestFinished(() => void socket.destroy())
  const bytes = 64 * 2 ** 20
  socket.write(Buffer.alloc(bytes))
  expect(bytesUntaken(socket)).toBeGreaterThan(0)
  expect(bytesAccepted(socket)).toBeLessThan(bytes)
  client.resume()
  await expect.poll(() => bytesUntaken(socket), { timeout: 10_000 }).toBe(0)
  expect(bytesAccepted(socket)).toBe(bytes)
  client.destroy()
})

it('a client that closes its side after its request gets the reply', async () => {
  let answer = (): void => undefined
  const server = createServer((_request, response) => {
    answer = () => response.end('late')
  })
  onTestFinished(() => void server.close().closeAllConnections())
  expect(hasHalfOpen(server)).toBe(true)
  allowHalfOpen(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const requested = once(server, 'request')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1')
  client.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  let reply = ''
  client.on('data', (text: string) => {
    reply += text
  })
  const ended = once(server, 'connection')
  await Promise.all([requested, ended])
  setImmediate(() => setImmediate(() => answer()))
  await once(client, 'close')
  expect(reply).toMatch(/^HTTP\/1\.1 200 .*late$/s)
})
