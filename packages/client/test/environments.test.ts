/** Environments whose fetch is not that of Node: one that checks its receiver, and streams no request bodies, as those of Firefox and Safari. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import type { BulkLine, BulkReply, BulkSummary, ClientOptions, FetchInit, LoadOptions } from '../src/index.ts'
import { atomicCharactersMax } from '../src/load-objects.ts'

const nodeFetch = globalThis.fetch

/** Bodies of the requests that were sent. */
function likeFirefox(): string[] {
  const sent: string[] = []
  class RequestWithoutDuplex {
    readonly headers = new Headers({ 'content-type': 'text/plain;charset=UTF-8' })
  }
  vi.stubGlobal('Request', RequestWithoutDuplex)
  vi.stubGlobal('fetch', function (this: unknown, url: string, init: RequestInit) {
    if (this !== undefined && this !== globalThis) {
      return Promise.reject(new TypeError("'fetch' called on an object that does not implement interface Window."))
    }
    // A stream becomes `[object ReadableStream]`.
    const body = init.body === undefined ? undefined : String(init.body)
    if (body !== undefined) sent.push(body)
    return nodeFetch(url, { ...init, ...(body !== undefined && { body }) })
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  return sent
}

async function connect(options: Partial<ClientOptions> = {}): Promise<AshlarClient> {
  const { app } = await openServer()
  const client = new AshlarClient({ baseUrl: await app.listen({ host: '127.0.0.1', port: 0 }), ...options })
  await client.query(`UPDATE SCHEMA { CREATE CLASS Car { year: Integer, note: String, uri: String, next: Reference{Referenced: Car} } };
    CREATE UNIQUE INDEX byYear ON Car (year)`)
  return client
}

async function load(
  client: AshlarClient,
  lines: AsyncIterable<BulkLine> | Iterable<BulkLine>,
  options?: LoadOptions,
): Promise<{ replies: BulkReply[]; summary: BulkSummary['summary'] | undefined }> {
  const replies: BulkReply[] = []
  let summary: BulkSummary['summary'] | undefined
  for await (const reply of client.loadObjects(lines, options)) {
    if ('summary' in reply) summary = reply.summary
    else replies.push(reply)
  }
  return { replies, summary }
}

const long = 'x'.repeat(500_000)
const car = (year: number, more: object = {}): BulkLine => ({ class: 'Car', attributes: { year, ...more } })
/** Four lines fill a chunk. */
const longCar = (year: number, more: object = {}): BulkLine => car(year, { note: long, ...more })

describe('without request streams', () => {
  it('every other call works as it is', async () => {
    const sent = likeFirefox()
    const client = await connect()
    await client.createObject('Car', { year: 1 })
    expect(await client.query('FROM Car RETURN year')).toEqual([{ year: 1 }])
    expect(sent).toHaveLength(3)
  })

  it('a load is sent in chunks of whole lines, numbered throughout, with one summary', async () => {
    const sent = likeFirefox()
    const client = await connect()
    sent.length = 0
    const lines = Array.from({ length: 10 }, (_, year) => longCar(year))
    const { replies, summary } = await load(client, lines)
    expect(replies.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(summary).toEqual({ created: 10, updated: 0, failed: 0 })
    expect(sent.length).toBeGreaterThan(1)
    for (const body of sent) expect([body.endsWith('\n'), body.length < 3_000_000]).toEqual([true, true])
    expect(
      sent
        .join('')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).attributes.year),
    ).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const deleted: BulkLine[] = replies.map(({ __identifier__ = '' }) => ({
      method: 'delete',
      uri: `/v1/object/${__identifier__}`,
    }))
    expect((await load(client, deleted)).summary).toEqual({ created: 0, updated: 0, deleted: 10, failed: 0 })
    expect((await load(client, [])).summary).toEqual({ created: 0, updated: 0, failed: 0 })
  })

  it('lines refer to objects of earlier chunks, as values and in addresses', async () => {
    likeFirefox()
    const client = await connect()
    const first = '$' + '{first}'
    const lines: BulkLine[] = [
      { ...longCar(1), id: 'first' },
      ...[2, 3, 4, 5].map((year) => longCar(year)),
      car(6, { next: first, note: `$${first}`, uri: `/v1/object/${first}` }),
      { method: 'put', uri: `/v1/object/${first}`, body: { attributes: { year: 100 } } },
      car(7, { next: '$' + '{nobody}' }),
    ]
    const { replies, summary } = await load(client, lines)
    expect(replies.at(-1)).toMatchObject({ line: 8, error: { type: 'InvalidReference' } })
    expect(summary).toEqual({ created: 6, updated: 1, failed: 1 })
    const text = 'FROM Car WHERE year = 6 RETURN next.year AS year, note, uri'
    expect(await client.query(text)).toEqual([{ year: 100, note: first, uri: `/v1/object/${first}` }])
  })

  it('the first line that fails ends the load, and no further chunk is sent; unless it is left out', async () => {
    const sent = likeFirefox()
    const client = await connect()
    const lines = [1, 2, 2, 3, 4, 5, 6].map((year) => longCar(year))
    sent.length = 0
    const stopped = await load(client, lines)
    expect([stopped.replies.at(-1)?.line, stopped.summary, sent.length]).toEqual([
      3,
      { created: 2, updated: 0, failed: 1 },
      1,
    ])
    const skipped = await load(client, lines, { onError: 'skip', upsertOn: 'byYear' })
    expect(skipped.summary).toEqual({ created: 4, updated: 3, failed: 0 })
  })

  it('replies come while lines depend on them, and leaving the loop ends the lines', async () => {
    likeFirefox()
    const client = await connect()
    let replied: (() => void) | undefined
    let isEnded = false
    async function* lines(): AsyncGenerator<BulkLine> {
      try {
        for (let year = 0; ; year++) {
          const reply = new Promise<void>((resolve) => {
            replied = resolve
          })
          yield car(year)
          await reply
        }
      } finally {
        isEnded = true
      }
    }
    let replies = 0
    for await (const _ of client.loadObjects(lines())) {
      replied?.()
      if (++replies === 3) break
    }
    await expect.poll(() => isEnded).toBe(true)
  })

  it('a signal ends a load whose lines do not come', async () => {
    likeFirefox()
    const client = await connect()
    const ending = new AbortController()
    async function* lines(): AsyncGenerator<BulkLine> {
      yield car(1)
      await new Promise(() => undefined)
    }
    const loading = (async () => {
      for await (const _ of client.loadObjects(lines(), { signal: ending.signal })) ending.abort(new Error('enough'))
    })()
    await expect(loading).rejects.toThrow('enough')
    expect(await client.query('FROM Car RETURN year')).toEqual([{ year: 1 }])
  })

  it('an atomic load is one request, up to a bound that is said', async () => {
    const sent = likeFirefox()
    const client = await connect()
    sent.length = 0
    const lines = Array.from({ length: 10 }, (_, year) => longCar(year))
    const refused = load(client, [...lines, car(9)], { isAtomic: true })
    await expect(refused).rejects.toMatchObject({
      type: 'UniqueViolation',
      message: expect.stringMatching(/^Line 11:/),
    })
    expect(sent).toHaveLength(1)
    expect((await load(client, lines, { isAtomic: true })).summary).toEqual({ created: 10, updated: 0, failed: 0 })
    let given = 0
    function* endless(): Generator<BulkLine> {
      for (;;) yield longCar(100 + given++)
    }
    await expect(load(client, endless(), { isAtomic: true })).rejects.toThrow(
      /^An atomic load is one request\. .* 33554432 /,
    )
    expect(given).toBeLessThan(atomicCharactersMax / long.length + 2)
    expect(sent).toHaveLength(2)
  })

  it('what the lines throw, and what refuses a load, is thrown', async () => {
    likeFirefox()
    const client = await connect()
    const failure = new Error('the file cannot be read')
    function* lines(): Generator<BulkLine> {
      yield car(1)
      throw failure
    }
    await expect(load(client, lines())).rejects.toBe(failure)
    await expect(load(client, [car(1)], { upsertOn: 'nothing' })).rejects.toMatchObject({ type: 'IndexNotFound' })
  })
})

it('with request streams, what the lines throw is thrown as well', async () => {
  const client = await connect()
  const failure = new Error('the file cannot be read')
  async function* lines(): AsyncGenerator<BulkLine> {
    yield car(1)
    throw failure
  }
  await expect(load(client, lines())).rejects.toBe(failure)
})

/** What a client with these options passes to its fetch. */
async function sentInit(
  options: Partial<ClientOptions>,
  call: (client: AshlarClient) => Promise<unknown>,
): Promise<FetchInit | undefined> {
  let sent: FetchInit | undefined
  const client = new AshlarClient({
    baseUrl: 'http://x',
    async fetch(_url, init) {
      sent = init
      return new Response('{"summary":{"created":0,"updated":0,"failed":0}}')
    },
    ...options,
  })
  await call(client)
  return sent
}

it('requests are streamed where they can be, or where it is asked for', async () => {
  const isStreamed = async (options: Partial<ClientOptions>): Promise<boolean> => {
    return typeof (await sentInit(options, (client) => load(client, [])))?.body === 'object'
  }
  expect(await isStreamed({})).toBe(true)
  expect(await isStreamed({ requestStreams: false })).toBe(false)
  vi.stubGlobal('document', {})
  onTestFinished(() => void vi.unstubAllGlobals())
  expect(await isStreamed({})).toBe(false)
  expect(await isStreamed({ requestStreams: true })).toBe(true)
  vi.unstubAllGlobals()
  vi.stubGlobal('Request', undefined)
  expect(await isStreamed({})).toBe(false)
})

it('credentials are included unless the client has its own', async () => {
  const credentialsOf = async (options: Partial<ClientOptions>): Promise<unknown> => {
    return (await sentInit(options, (client) => client.getService()))?.credentials
  }
  expect(await credentialsOf({})).toBe('include')
  expect(await credentialsOf({ token: 'ash_x' })).toBeUndefined()
  expect(await credentialsOf({ user: { name: 'a', password: 'b' } })).toBeUndefined()
})
