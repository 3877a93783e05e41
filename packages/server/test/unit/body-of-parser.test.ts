/** Bodies that are taken from Node's parser: in pieces, one after the other on a connection, broken off, or read as a stream after all. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { takeOfParser } from '../../src/http/body-of-parser.ts'

const servers: Server[] = []
const sockets: Socket[] = []

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

const head = (length: number): string => `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n`

async function connected(answer: RequestListener): Promise<Socket> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1')
  sockets.push(socket)
  await once(socket, 'connect')
  return socket
}

/** Answers with the body that it has received, and notes each request. */
function echo(requests: IncomingMessage[]): RequestListener {
  return (request, response) => {
    requests.push(request)
    const pieces: Buffer[] = []
    const isTaken = takeOfParser(
      request,
      (piece) => pieces.push(piece),
      () => response.end(`<${Buffer.concat(pieces)}>`),
    )
    if (!isTaken) response.end('not taken')
  }
}

async function received(socket: Socket, end: string): Promise<string> {
  let text = ''
  for await (const data of socket.iterator({ destroyOnReturn: false })) {
    text += data
    if (text.endsWith(end)) return text
  }
  return text
}

it('a body that comes in pieces is given as it comes, and the connection goes on', async () => {
  const requests: IncomingMessage[] = []
  const socket = await connected(echo(requests))
  socket.write(`${head(6)}ab`)
  await nextTurn()
  socket.write('cdef')
  expect(await received(socket, '>')).toContain('<abcdef>')
  socket.write(`${head(2)}gh`)
  expect(await received(socket, '>')).toContain('<gh>')
  // Over for Node too: it neither keeps the request for its end, nor reads what is left of it.
  expect(requests.map(({ readableEnded, complete }) => [readableEnded, complete])).toEqual([
    [true, true],
    [true, true],
  ])
  expect(requests.map((request) => request.listenerCount('end'))).toEqual([0, 0])
})

it('requests that are sent together have a body each', async () => {
  const socket = await connected(echo([]))
  socket.write(`${head(2)}ab${head(3)}cde${head(1)}f`)
  const text = await received(socket, '<f>')
  expect(text.match(/<\w+>/g)).toEqual(['<ab>', '<cde>', '<f>'])
})

it('a body that is broken off fails', async () => {
  const failed: Promise<unknown>[] = []
  let isOver = false
  const socket = await connected((request) => {
    failed.push(once(request, 'error').then(([error]) => error))
    takeOfParser(
      request,
      () => undefined,
      () => {
        isOver = true
      },
    )
    socket.destroy()
  })
  socket.write(`${head(6)}ab`)
  await once(socket, 'close')
  expect(await failed[0]).toMatchObject({ code: 'ECONNRESET' })
  expect(isOver).toBe(false)
})

it('whoever reads the stream after all has the rest of it, and its end', async () => {
  const taken: string[] = []
  const socket = await connected((request, response) => {
    const take = (piece: Buffer): void => {
      taken.push(String(piece))
      request.on('data', (rest) => taken.push(`rest: ${rest}`)).once('end', () => response.end('done'))
      socket.write('cd')
    }
    takeOfParser(request, take, () => taken.push('all'))
  })
  socket.write(`${head(4)}ab`)
  expect(await received(socket, 'done')).toContain('done')
  expect(taken).toEqual(['ab', 'rest: cd'])
})

it('what is no body of the parser, or has begun to arrive, is left to be read as a stream', async () => {
  const never = (): never => {
    throw new Error('it was taken')
  }
  expect(takeOfParser(Readable.from(['x']), never, never)).toBe(false)
  const socket = await connected(async (request, response) => {
    await nextTurn()
    const isTaken = takeOfParser(request, never, never)
    let text = ''
    for await (const data of request) text += data
    response.end(`${isTaken} ${text}`)
  })
  socket.write(`${head(2)}ab`)
  expect(await received(socket, 'ab')).toContain('false ab')
})
