/** Replies of rows on their way: slow readers, failures, clients that go away, a server that stops. */
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AshlarError, type QueryRequest, type RowChunk } from '@ashlar/engine'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rowStream } from '../../src/http/row-reply.ts'
import { LogLines } from './log-lines.ts'
import { openServer } from './open-server.ts'
import { chunksOf, makeGate, rowChunk, stubQuery } from './stub-query.ts'

interface Setting {
  readonly rows: (request: QueryRequest) => AsyncIterable<RowChunk>
  readonly accept?: string
  readonly headers?: string
}

interface Running {
  readonly socket: Socket
  readonly log: LogLines
  readonly close: () => Promise<void>
  /** Resolves once the text has arrived. */
  received(text: string): Promise<void>
  /** All that arrived, once the server has closed the connection. */
  readonly closed: Promise<string>
}

/** A query under way, on a connection of its own. */
async function run({ rows, accept = 'application/json', headers = '' }: Setting): Promise<Running> {
  const log = new LogLines()
  const { app, federatedDatabases, close } = await openServer({ onLog: log.take })
  stubQuery(federatedDatabases[0], rows)
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  log.all.length = 0
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let arrived = ''
  socket
    .on('error', () => undefined)
    .on('data', (piece) => {
      arrived += piece.toString('latin1')
    })
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(arrived)))
  const head = `POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n`
  socket.write(`${head}${headers}\r\nSHOW 1`)
  return {
    socket,
    log,
    close,
    closed,
    async received(text) {
      while (!arrived.includes(text)) await new Promise((resolve) => socket.once('data', resolve))
    },
  }
}

/** Two chunks, and what is thrown once the gate is open. */
function failingRows(error: unknown, second: string) {
  const gate = makeGate()
  const rows = async function* (): AsyncGenerator<RowChunk> {
    yield rowChunk('"first"')
    await nextTurn()
    await nextTurn()
    yield rowChunk(second)
    await gate.opened
    throw error
  }
  return { gate, rows }
}

const lastChunk = '\r\n0\r\n\r\n'

describe('a failure after the reply began', () => {
  it('breaks off the connection of a JSON reply', async () => {
    const { gate, rows } = failingRows(new AshlarError('LimitExceeded', 'too long'), '"second"')
    const { received, closed, log } = await run({ rows })
    await received('"second"')
    gate.open()
    const text = await closed
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text).toContain('["first"')
    expect(text).not.toContain(']')
    expect(text).not.toContain(lastChunk)
    expect(await log.withMessage('reply failed')).toMatchObject({ level: 30, problem: { type: 'LimitExceeded' } })
    expect(await log.withMessage('request')).toMatchObject({ status: 200, brokenOff: true })
    expect(log.all.filter(({ msg }) => msg === 'request')).toHaveLength(1)
  })

  it('is the last line of an NDJSON reply', async () => {
    const error = new AshlarError('LimitExceeded', 'too long', [], { line: 7 })
    const { gate, rows } = failingRows(error, '"second"')
    const { received, log } = await run({ rows, accept: 'application/x-ndjson' })
    await received('"second"')
    gate.open()
    const problem =
      '{"type":"LimitExceeded","title":"A limit of the server is exceeded","status":422,"message":"too long","line":7}'
    await received(`{"error":${problem}}\n`)
    await received(lastChunk)
    expect(await log.withMessage('request')).not.toHaveProperty('brokenOff')
  })

  it('has no blank line before the error', async () => {
    const lines: string[] = []
    for (const rows of [[], ['1', '2']]) {
      const stream = rowStream(failAfter(...rows), [], 'ndjson', () => '{"error":{}}')
      let text = ''
      for await (const piece of stream) text += piece
      lines.push(text)
    }
    expect(lines).toEqual(['{"error":{}}\n', '1\n2\n{"error":{}}\n'])
  })

  it.each(['application/json', 'application/x-ndjson'])('of our own is logged under an id, as %s', async (accept) => {
    const { gate, rows } = failingRows(new Error('secret /place'), '')
    const { received, closed, log, socket } = await run({ rows, accept })
    await received('"first"')
    gate.open()
    const line = await log.withMessage('request failed')
    expect(line).toMatchObject({ level: 50, errorId: expect.any(String), err: { message: 'secret /place' } })
    if (accept === 'application/x-ndjson') {
      await received(String(line.errorId))
      socket.end()
    }
    expect(await closed).not.toContain('secret')
  })

  it('breaks off a compressed reply too', async () => {
    const { gate, rows } = failingRows(new Error('secret'), '"second"')
    const { received, closed, log } = await run({ rows, headers: 'Accept-Encoding: gzip\r\n' })
    await received('content-encoding: gzip')
    gate.open()
    expect(await closed).not.toContain(lastChunk)
    await log.withMessage('request')
    expect(log.all.filter(({ level }) => Number(level) > 30).map(({ msg }) => msg)).toEqual(['request failed'])
  })
})

async function* failAfter(...texts: string[]): AsyncGenerator<RowChunk> {
  yield* chunksOf(...texts)
  throw new Error('failed')
}

describe('a statement that is stopped between its first row and its reply', () => {
  it('is answered with the reason, which is no fault of the server', async () => {
    const rows = async function* ({ watch }: QueryRequest): AsyncGenerator<RowChunk> {
      // It has taken a place, as whatever works for long.
      await watch?.mayContinue?.()
      yield rowChunk('"first"')
      watch?.onEnded?.(new AshlarError('LimitExceeded', 'too old'))
      await nextTurn()
      await nextTurn()
      yield rowChunk('"second"')
    }
    const { closed, log, close } = await run({ rows, headers: 'Connection: close\r\n' })
    const text = await closed
    expect(text).toMatch(/^HTTP\/1\.1 422 /)
    expect(text).toContain('"type":"LimitExceeded"')
    expect(log.all.filter(({ msg }) => msg === 'request failed')).toEqual([])
    await close()
  })
})

describe('a client that goes away', () => {
  it.each(['', 'Accept-Encoding: gzip\r\n'])('ends the iteration and aborts the query (%j)', async (headers) => {
    const ended = makeGate()
    const aborted = makeGate()
    const rows = async function* ({ signal }: QueryRequest): AsyncGenerator<RowChunk> {
      signal?.addEventListener('abort', aborted.open)
      try {
        // Random, so that it arrives however it is compressed.
        for (;;) {
          yield rowChunk(`"${Math.random()}"`)
          await nextTurn()
        }
      } finally {
        ended.open()
      }
    }
    const { received, socket, log } = await run({ rows, headers })
    await received('HTTP/1.1 200')
    socket.destroy()
    await Promise.all([aborted.opened, ended.opened])
    expect(await log.withMessage('request')).toMatchObject({
      method: 'POST',
      url: '/v1/query',
      status: 200,
      aborted: true,
    })
    expect(log.all.map(({ msg }) => msg)).toEqual(['request'])
  })

  it('while the first rows are awaited ends the iteration too, and is logged with status 499', async () => {
    const asked = makeGate()
    const ended = makeGate()
    const rows = async function* ({ signal }: QueryRequest): AsyncGenerator<RowChunk> {
      try {
        asked.open()
        await new Promise<void>((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
        })
        yield rowChunk('1')
      } finally {
        ended.open()
      }
    }
    const { socket, log } = await run({ rows })
    await asked.opened
    socket.destroy()
    await ended.opened
    expect(await log.withMessage('request')).toMatchObject({ status: 499, aborted: true })
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    expect(log.all.map(({ msg }) => msg)).toEqual(['request'])
  })

  it('with rows that do not heed the signal: what comes too late is not sent, and the iteration ends', async () => {
    const [asked, gone, ended] = [makeGate(), makeGate(), makeGate()]
    const rows = async function* ({ signal }: QueryRequest): AsyncGenerator<RowChunk> {
      signal?.addEventListener('abort', gone.open)
      asked.open()
      try {
        await gone.opened
        for (const row of ['1', '2', '3']) {
          yield rowChunk(row)
          await nextTurn()
          await nextTurn()
        }
      } finally {
        ended.open()
      }
    }
    const { socket, log } = await run({ rows })
    await asked.opened
    socket.destroy()
    await ended.opened
    expect(await log.withMessage('request')).toMatchObject({ status: 499, aborted: true })
  })

  it('in the middle of its request is logged once', async () => {
    const { socket, log, close } = await run({ rows: () => chunksOf('1') })
    await log.withMessage('request')
    log.all.length = 0
    socket.write('POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"qu')
    socket.end()
    expect(await log.withMessage('request')).toMatchObject({ url: '/v1/query' })
    await close()
    expect(log.all.filter(({ msg }) => msg === 'request')).toHaveLength(1)
  })
})

describe('the stream of rows', () => {
  it('asks for no more than is read', async () => {
    const chunkBytes = 10_000
    let given = 0
    const rows = async function* (): AsyncGenerator<RowChunk> {
      for (; ; given++) yield rowChunk('1'.repeat(chunkBytes))
    }
    const stream = rowStream(rows(), [], 'json', () => undefined)
    onTestFinished(() => void stream.destroy())
    for (let turn = 0; turn < 40; turn++) {
      stream.read(1)
      await nextTurn()
    }
    // What a stream holds ready differs between versions of Node; of what is beyond that, one piece.
    expect(given).toBeLessThanOrEqual(Math.ceil(stream.readableHighWaterMark / chunkBytes) + 1)
  })

  it('ends the iteration where it is destroyed before it began, or in the middle', async () => {
    for (const reads of [0, 1]) {
      let ends = 0
      const iterator = {
        next: async () => ({ done: false, value: rowChunk('1') }) as const,
        return: async () => {
          ends++
          return { done: true, value: undefined } as const
        },
      }
      const stream = rowStream(iterator, [], 'json', () => undefined)
      for (let read = 0; read < reads; read++) {
        stream.read()
        await nextTurn()
      }
      stream.destroy()
      await nextTurn()
      expect(ends).toBe(1)
    }
  })
})
