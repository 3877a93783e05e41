/** Large replies to reads count against what all requests hold, until their clients have taken them. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { openServer } from './open-server.ts'

it('1.5.14 a large reply is refused while others fill the room, and what they took is given back', async () => {
  const { app, federatedDatabases } = await openServer({
    // One caller may take all.
    limits: { statementsBytesMax: 100 * 2 ** 20, memoryPercentPerCallerMax: 100 },
  })
  const [fd] = federatedDatabases
  await fd?.defineClasses(
    [{ className: 'Text', isReferenceable: true, attributes: [{ attributeName: 'a', logicalType: 'string' }] }],
    'create',
  )
  const large = await fd?.createObject('Text', { a: 'x'.repeat(12_000_000) })
  const small = await fd?.createObject('Text', { a: 'x' })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const statusOf = async (oid: string | undefined): Promise<number> => {
    const reply = await fetch(`http://127.0.0.1:${port}/v1/object/${oid}`)
    await reply.arrayBuffer()
    return reply.status
  }
  // Of clients that read nothing beyond the first bytes.
  const stalled = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'))
  for (const socket of stalled) {
    socket.write(`GET /v1/object/${large} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
    await once(socket, 'readable')
  }
  expect(await statusOf(large)).toBe(503)
  expect(await statusOf(small)).toBe(200)
  await Promise.all(stalled.map(end))
  await expect.poll(() => statusOf(large)).toBe(200)
  for (let i = 0; i < 10; i++) expect(await statusOf(large)).toBe(200)
})

async function end(socket: Socket): Promise<void> {
  const closed = once(socket, 'close')
  socket.destroy()
  await closed
}
