/** Loads and exports through the client: lines go as they are asked for, replies come as they are made. */
import { describe, expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import { AshlarRequestError } from '../src/errors.ts'
import type { BulkLine } from '../src/index.ts'
import { streamOfLines } from '../src/line-pieces.ts'

async function connect(): Promise<AshlarClient> {
  const { app } = await openServer()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new AshlarClient({ baseUrl, fdAlias: 'default' })
  const attributes = [{ attributeName: 'year', logicalType: 'integer' }]
  await client.createClasses([{ className: 'Car', isReferenceable: true, attributes }])
  const keyAttributes = [{ attributeName: 'year' }]
  await client.createIndex({ name: 'byYear', indexedClass: 'Car', isUnique: true, keyAttributes })
  return client
}

const car = (year: unknown): BulkLine => ({ class: 'Car', attributes: { year } }) as BulkLine

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await collect(bytes)).toString()
}

describe('a load', () => {
  it('has a reply a line, and the summary as the last', async () => {
    const client = await connect()
    const replies = await collect(client.loadObjects([car(1), car(2n), car(2)], { onError: 'skip' }))
    expect(replies).toHaveLength(4)
    expect(replies[2]).toMatchObject({ error: { type: 'UniqueViolation' } })
    expect(replies[3]).toMatchObject({ summary: { created: 2, failed: 1 } })
    const upserted = await collect(client.loadObjects([car(2), car(3)], { upsertOn: 'byYear' }))
    expect(upserted.at(-1)).toMatchObject({ summary: { created: 1, updated: 1 } })
    expect(await client.query('FROM Car ORDER BY year RETURN year')).toEqual([{ year: 1 }, { year: 2 }, { year: 3 }])
  })

  it('asks for lines no faster than they are carried out, and as they come', async () => {
    const client = await connect()
    let told: ((reply: unknown) => void) | undefined
    async function* lines() {
      for (let year = 0; year < 3; year++) {
        const reply = new Promise((resolve) => {
          told = resolve
        })
        yield car(year)
        // The next line depends on the reply to this one.
        await reply
      }
    }
    let replies = 0
    for await (const _ of client.loadObjects(lines())) {
      replies++
      told?.(undefined)
    }
    expect(replies).toBe(4)
  })

  it('ends where the loop is left, with the lines that it was asked for', async () => {
    const client = await connect()
    let isEnded = false
    async function* lines() {
      try {
        for (let year = 0; ; year++) yield car(year)
      } finally {
        isEnded = true
      }
    }
    for await (const _ of client.loadObjects(lines())) break
    await expect.poll(() => isEnded).toBe(true)
  })

  it('throws what refuses all of it, and what the lines throw', async () => {
    const client = await connect()
    const refused = collect(client.loadObjects([car(1), car(1)], { isAtomic: true }))
    await expect(refused).rejects.toBeInstanceOf(AshlarRequestError)
    expect(await client.query('FROM Car RETURN COUNT() AS n')).toEqual([{ n: 0 }])
    const failing = new Error('the file cannot be read')
    const stream = streamOfLines(
      (async function* () {
        yield 1
        throw failing
      })(),
      String,
    )
    await expect(collect(stream)).rejects.toBe(failing)
  })

  it('and an export, of replies without a body, have nothing', async () => {
    const empty: typeof fetch = async () => new Response(null, { status: 200 })
    const client = new AshlarClient({ baseUrl: 'http://127.0.0.1', token: 'ash_x', fetch: empty })
    expect(await collect(client.loadObjects([car(1)]))).toEqual([])
    expect(await collect(client.export())).toEqual([])
  })

  it('sends lines in pieces', async () => {
    const long = 'x'.repeat(50_000)
    const pieces = await collect(streamOfLines([long, long, long], (line) => line))
    expect(pieces.map(({ length }) => length)).toEqual([100_002, 50_001])
  })
})

describe('an export', () => {
  it('is the bytes of a file', async () => {
    const client = await connect()
    await client.createObject('Car', { year: 7 })
    expect(JSON.parse(await textOf(client.export({ class: 'Car' })))).toMatchObject({ __class__: 'Car', year: 7 })
    expect(await textOf(client.export({ class: 'Car', format: 'csv', columns: ['year'] }))).toBe('year\n7\n')
    for await (const bytes of client.export()) {
      expect(bytes.length).toBeGreaterThan(0)
      break
    }
  })
})
