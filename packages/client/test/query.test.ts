/** Queries through the client, over rows of the test's own making. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AshlarError, type QueryRequest } from '@ashlar/engine'
import { describe, expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { chunksOf, makeGate, rowChunk, stubQuery } from '../../server/test/unit/stub-query.ts'
import { AshlarClient } from '../src/client.ts'
import { AshlarRequestError } from '../src/errors.ts'
import { readRows } from '../src/rows.ts'

async function connect(rows: Parameters<typeof stubQuery>[1]) {
  const { app, federatedDatabases } = await openServer()
  const asked = stubQuery(federatedDatabases[0], rows)
  const client = new AshlarClient({ baseUrl: await app.listen({ host: '127.0.0.1', port: 0 }), fdAlias: 'default' })
  return { client, asked }
}

async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const row of rows) all.push(row)
  return all
}

const problem = { type: 'LimitExceeded', title: 't', status: 422, message: 'too long' }

describe('query', () => {
  it('gives all rows, and sends parameters', async () => {
    const { client, asked } = await connect(() => chunksOf('{"n":1}', '{"n":2}'))
    const rows = await client.query<{ n: number }>('FROM A RETURN n', { a: 2n ** 60n, b: [1] })
    expect(rows.map(({ n }) => n)).toEqual([1, 2])
    expect(asked[0]).toMatchObject({ text: 'FROM A RETURN n', parameters: { a: 2n ** 60n, b: [1] } })
    expect(asked[0]).toMatchObject({ explain: undefined })
  })

  it('may ask for a dialect', async () => {
    const { client, asked } = await connect(() => chunksOf('1'))
    await client.query('SHOW 1', undefined, { dialect: 'objectivity' })
    await collect(client.queryStream('SHOW 1', {}, { dialect: 'ashlar' }))
    await client.explain('SHOW 1', undefined, { dialect: 'objectivity' })
    await client.query('SHOW 1')
    expect(asked.map(({ dialect }) => dialect)).toEqual(['objectivity', 'ashlar', 'objectivity', undefined])
  })

  it('may ask for the plan as text', async () => {
    const { client } = await connect(() => chunksOf('1'))
    expect(await client.explainAsText('SHOW 1', undefined, { isAnalyzed: true })).toContain('1')
  })

  it('throws where in the text the fault is', async () => {
    const place = { line: 1, column: 6, text: 'x', expected: ['a name'] }
    const { client } = await connect(() => Promise.reject(new AshlarError('QuerySyntaxError', 'no', [], place)))
    const refused = await client.query('FROM x').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(AshlarRequestError)
    expect(refused).toMatchObject({ status: 400, type: 'QuerySyntaxError', line: 1, column: 6, expected: ['a name'] })
  })

  it('throws where the reply breaks off', async () => {
    const { client } = await connect(async function* () {
      yield rowChunk('1')
      await nextTurn()
      await nextTurn()
      throw new AshlarError('LimitExceeded', 'too long')
    })
    await expect(client.query('SHOW 1')).rejects.toThrow()
  })
})

describe('explain', () => {
  it('asks for the plan', async () => {
    const { client, asked } = await connect(() => chunksOf('{"plan":"scan"}'))
    expect(await client.explain('FROM A RETURN *', { a: 1 })).toEqual([{ plan: 'scan' }])
    expect(asked[0]).toMatchObject({ explain: { isAnalyzed: false, format: 'json' }, parameters: { a: 1 } })
    await client.explain('FROM A RETURN *', {}, { isAnalyzed: true })
    expect(asked[1]).toMatchObject({ explain: { isAnalyzed: true, format: 'json' } })
  })
})

describe('queryStream', () => {
  it('gives rows while others are still to come', async () => {
    const gate = makeGate()
    const { client, asked } = await connect(async function* () {
      yield rowChunk('{"n":1}', '{"n":2}')
      await gate.opened
      yield rowChunk('{"n":3}')
    })
    const rows: number[] = []
    for await (const { n } of client.queryStream<{ n: number }>('FROM A RETURN n', { a: 1 })) {
      rows.push(n)
      gate.open()
    }
    expect(rows).toEqual([1, 2, 3])
    expect(asked[0]).toMatchObject({ parameters: { a: 1 } })
  })

  it('gives nothing for no rows', async () => {
    const { client } = await connect(() => chunksOf())
    expect(await collect(client.queryStream('FROM A RETURN *'))).toEqual([])
  })

  it('throws what fails before the rows, and on the way', async () => {
    const { client } = await connect(() => Promise.reject(new AshlarError('QueryError', 'no')))
    await expect(collect(client.queryStream('x'))).rejects.toMatchObject({ type: 'QueryError', status: 422 })
    const { client: other } = await connect(async function* () {
      yield rowChunk('1')
      await nextTurn()
      await nextTurn()
      throw new AshlarError('LimitExceeded', 'too long')
    })
    const rows: unknown[] = []
    const reading = (async () => {
      for await (const row of other.queryStream<number>('x')) rows.push(row)
    })()
    await expect(reading).rejects.toMatchObject({ type: 'LimitExceeded', status: 422, message: 'too long' })
    expect(rows).toEqual([1])
  })

  it('ends the query where the loop is left, or the signal aborted', async () => {
    for (const leaves of [true, false]) {
      const ended = makeGate()
      const { client } = await connect(async function* ({ signal }: QueryRequest) {
        try {
          while (signal?.aborted !== true) {
            yield rowChunk('1')
            await nextTurn()
          }
        } finally {
          ended.open()
        }
      })
      const controller = new AbortController()
      const reading = (async () => {
        for await (const _ of client.queryStream('x', undefined, { signal: controller.signal })) {
          if (leaves) break
          controller.abort()
        }
      })()
      if (leaves) await reading
      else await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
      await ended.opened
    }
  })
})

describe('rows by line', () => {
  const streamOf = (...pieces: Uint8Array[]) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    })
  const read = (text: string) => collect(readRows(streamOf(Buffer.from(text))))

  it('may come in pieces of any size', async () => {
    const text = Buffer.from('{"a":"é€😀"}\n[1]\nnull\n"x"')
    const bytes = Array.from(text, (_byte, i) => text.subarray(i, i + 1))
    expect(await collect(readRows(streamOf(...bytes)))).toEqual([{ a: 'é€😀' }, [1], null, 'x'])
  })

  it('tell a failure by a problem alone in the last line', async () => {
    const failure = JSON.stringify({ error: problem })
    await expect(read(`1\n${failure}\n`)).rejects.toMatchObject({ type: 'LimitExceeded', status: 422 })
    await expect(read(`${failure}\n${failure}`)).rejects.toMatchObject({ message: 'too long' })
    const rows = [
      { error: problem },
      { error: problem, n: 1 },
      { error: 'x' },
      { error: null },
      { error: { type: 'x' } },
    ]
    expect(await read(rows.map((row) => JSON.stringify(row)).join('\n'))).toEqual(rows)
  })
})
