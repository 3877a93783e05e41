/** Bodies of lines, in pieces of any size: what their lines are, and in how many steps they are read. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { BodyLines } from '../../src/json/body-lines.ts'

const stops: (() => void)[] = []

afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function readAll(source: Readable, lineBytesMax: number) {
  const body = new BodyLines(source, lineBytesMax)
  const lines: [number, string | undefined][] = []
  let calls = 0
  for (let some = await body.next(); some !== undefined; some = await body.next()) {
    calls++
    for (const several of some) {
      for (const line of several?.toString().split('\n') ?? [undefined]) lines.push([lines.length + 1, line])
    }
  }
  return { lines, calls }
}

/** What a server is sent as it arrives over a connection. */
async function requestOf(chunked: string): Promise<IncomingMessage> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  stops.push(() => {
    socket.destroy()
    server.close()
  })
  socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`)
  const [request] = await once(server, 'request')
  return request
}

describe('Contract 2.2.9: lines of a body', () => {
  test('that comes a byte a chunk are read in few steps', async () => {
    const count = 50_000
    const request = await requestOf(`${'1\r\nx\r\n'.repeat(count)}2\r\n\ny\r\n0\r\n\r\n`)
    const { lines, calls } = await readAll(request, count)
    expect(lines).toEqual([
      [1, 'x'.repeat(count)],
      [2, 'y'],
    ])
    expect(calls).toBeLessThan(count / 50)
  })

  test.each([1, 2, 3, 7, 1_000])('are the same in pieces of %i bytes', async (piece) => {
    const text = '\ufeffone\n\n \r\ntwo is \u00fc\n12345678901\n1234567890\n3456789012345678901234567890\nend'
    const bytes = Buffer.from(text)
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece))
    const { lines } = await readAll(Readable.from(pieces, { objectMode: false }), 10)
    const isMarkKnown = piece >= 3
    expect(lines.map(([number, line]) => [number, number === 1 && !isMarkKnown ? line?.slice(1) : line])).toEqual([
      [1, 'one'],
      [2, ''],
      [3, ' \r'],
      [4, 'two is \u00fc'],
      [5, undefined],
      [6, '1234567890'],
      [7, undefined],
      [8, 'end'],
    ])
  })
})
