/** POST /v1/query: what it takes, and in which form it answers; the rows are the test's own. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { AshlarError, type QueryRequest, type RowChunk } from '@ashlar/engine'
import type { InjectOptions } from 'light-my-request'
import { describe, expect, it } from 'vitest'
import { openServer, type TestServer } from './open-server.ts'
import { chunksOf, rowChunk, stubQuery } from './stub-query.ts'

type Rows = Parameters<typeof stubQuery>[1]

async function open(rows: Rows = () => chunksOf('1')): Promise<{ app: TestServer; asked: QueryRequest[] }> {
  const { app, federatedDatabases } = await openServer()
  return { app, asked: stubQuery(federatedDatabases[0], rows) }
}

function ask(app: TestServer, options: Partial<InjectOptions> & { payload?: unknown } = {}) {
  const payload = { query: 'SHOW 1;' }
  return app.inject({ method: 'POST', url: '/v1/query', payload, ...options } as InjectOptions)
}

const text = { 'content-type': 'text/plain' }

describe('the body of a query', () => {
  it('is JSON with query, language and parameters', async () => {
    const { app, asked } = await open()
    const parameters = { a: [1, 'x'], b: null }
    for (const language of ['do', 'DO', 'Do']) {
      expect((await ask(app, { payload: { query: 'SHOW $a', language, parameters } })).json()).toEqual([1])
    }
    expect((await ask(app)).statusCode).toBe(200)
    expect(asked[2]).toMatchObject({ text: 'SHOW $a', parameters })
    expect(asked[2]?.explain).toBeUndefined()
    expect(asked[3]?.parameters).toBeUndefined()
  })

  it('may have a dialect, in the body or in the URL', async () => {
    const { app, asked } = await open()
    await ask(app, { payload: { query: 'SHOW 1', dialect: 'objectivity' } })
    await ask(app, { url: '/v1/query?dialect=Objectivity', payload: 'SHOW 1', headers: text })
    await ask(app, { url: '/v1/query?dialect=ashlar', payload: { query: 'SHOW 1', dialect: 'ASHLAR' } })
    await ask(app)
    expect(asked.map(({ dialect }) => dialect)).toEqual(['objectivity', 'objectivity', 'ashlar', undefined])
    for (const parameter of ['dialect=sql', 'dialect=', 'dialect=ashlar&dialect=ashlar', 'dialect=ashlar']) {
      const payload = { query: 'SHOW 1', ...(parameter === 'dialect=ashlar' ? { dialect: 'objectivity' } : {}) }
      const reply = await ask(app, { url: `/v1/query?${parameter}`, payload })
      expect(reply.json()).toMatchObject({ status: 400, message: expect.stringMatching(/dialect/) })
    }
    expect(asked).toHaveLength(4)
  })

  it('keeps integers of parameters exact', async () => {
    const { app, asked } = await open()
    await ask(app, { payload: '{"query":"SHOW $n","parameters":{"n":18446744073709551615}}' })
    expect(asked[0]?.parameters).toEqual({ n: 2n ** 64n - 1n })
  })

  it.each([
    [{ query: 'SHOW 1', language: 'sql' }, 'MalformedRequest', /sql/],
    [{ query: 'SHOW 1', language: null }, 'MalformedRequest', /language/],
    [{ query: 'SHOW 1', dialect: 'sql' }, 'MalformedRequest', /There is no dialect 'sql': it is ashlar or objectivity/],
    [{ query: 'SHOW 1', dialect: '' }, 'MalformedRequest', /dialect/],
    [{ query: 'SHOW 1', dialect: null }, 'MalformedRequest', /dialect/],
    [{ query: 'SHOW 1', dialect: ['ashlar'] }, 'MalformedRequest', /dialect/],
    [{ query: 'SHOW 1', parameters: [] }, 'MalformedRequest', /parameters/],
    [{ query: 'SHOW 1', parameters: null }, 'MalformedRequest', /parameters/],
    [{ query: 'SHOW 1', explain: true }, 'UnknownField', /explain/],
    [{ query: 5 }, 'MalformedRequest', /query/],
    [{ query: '' }, 'MalformedRequest', /query/],
    [{ language: 'do' }, 'MalformedRequest', /query/],
    [[], 'MalformedRequest', /object/],
  ])('%j is refused', async (payload, type, words) => {
    const { app, asked } = await open()
    const reply = await ask(app, { payload })
    expect(reply.json()).toMatchObject({ status: 400, type, message: expect.stringMatching(words) })
    expect(asked).toEqual([])
  })

  it('is the statement as text', async () => {
    const { app, asked } = await open()
    for (const contentType of ['text/plain', 'TEXT/PLAIN; charset=utf-8']) {
      const reply = await ask(app, { headers: { 'content-type': contentType }, payload: "SHOW 'é{';" })
      expect(reply.json()).toEqual([1])
    }
    await ask(app, { headers: text, payload: '\uFEFFSHOW 2' })
    await ask(app, { headers: { ...text, 'content-encoding': 'gzip' }, payload: gzipSync('SHOW 3') })
    expect(asked.map((request) => request.text)).toEqual(["SHOW 'é{';", "SHOW 'é{';", 'SHOW 2', 'SHOW 3'])
  })

  it('as text is not empty, and UTF-8', async () => {
    const { app, asked } = await open()
    for (const payload of ['', '\uFEFF', Buffer.from([0xff])]) {
      expect((await ask(app, { headers: text, payload })).json()).toMatchObject({ status: 400 })
    }
    const headers = { 'content-type': 'text/plain; charset=iso-8859-1' }
    expect((await ask(app, { headers, payload: 'SHOW 1' })).statusCode).toBe(415)
    expect((await ask(app, { headers: { 'content-type': 'text/html' }, payload: 'SHOW 1' })).statusCode).toBe(415)
    expect((await app.inject({ method: 'POST', url: '/v1/query' })).statusCode).toBe(400)
    expect(asked).toEqual([])
  })

  it('as text is refused by every other operation', async () => {
    const { app } = await open()
    const reply = await app.inject({ method: 'POST', url: '/v1/object', headers: text, payload: 'SHOW 1' })
    expect(reply.statusCode).toBe(415)
  })
})

describe('the parameter explain', () => {
  it.each([
    ['true', { isAnalyzed: false, format: 'json' }],
    ['analyze', { isAnalyzed: true, format: 'json' }],
    ['analyze&format=json', { isAnalyzed: true, format: 'json' }],
    ['analyze&format=text', { isAnalyzed: true, format: 'text' }],
    ['false', undefined],
    ['%22true%22&format=text', { isAnalyzed: false, format: 'text' }],
    ['"false"', undefined],
  ])('may be %s', async (value, explain) => {
    const { app, asked } = await open()
    expect((await ask(app, { url: `/v1/query?explain=${value}&fdAlias=default` })).statusCode).toBe(200)
    expect(asked[0]?.explain).toEqual(explain)
  })

  it.each([
    'explain=',
    'explain',
    'explain=1',
    'explain=TRUE',
    'explain=ANALYZE',
    'explain=constructor',
    'explain=true&explain=true',
    'format=text',
    'format=json',
    'explain=false&format=text',
    'explain=true&format=xml',
    'explain=true&format=',
    'explain=analyze&format=text&format=text',
  ])('may not be %s', async (parameter) => {
    const { app, asked } = await open()
    const reply = (await ask(app, { url: `/v1/query?${parameter}` })).json()
    expect(reply).toMatchObject({ status: 400, message: expect.stringMatching(/The parameter (explain|format) /) })
    expect(asked).toEqual([])
  })

  it('with format=text replies text, where Accept does not exclude that', async () => {
    const { app, asked } = await open(() => chunksOf('Return\n  Columns: é\n'))
    const url = '/v1/query?explain=true&format=text'
    for (const accept of [undefined, '*/*', 'text/*', 'text/plain', 'application/json, text/plain;q=0.1']) {
      const reply = await ask(app, { url, headers: accept === undefined ? {} : { accept } })
      expect([reply.statusCode, reply.body]).toEqual([200, 'Return\n  Columns: é\n'])
      expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8')
    }
    const given = asked.length
    for (const accept of ['application/json', 'application/x-ndjson', 'text/html', 'text/plain;q=0']) {
      const reply = await ask(app, { url, headers: { accept } })
      expect([reply.statusCode, reply.json().type]).toEqual([406, 'NotAcceptable'])
    }
    for (const other of ['/v1/query?explain=true', '/v1/query?explain=analyze&format=json', '/v1/query']) {
      expect((await ask(app, { url: other, headers: { accept: 'text/plain' } })).statusCode).toBe(406)
    }
    expect(asked).toHaveLength(given)
  })

  it('is that of this operation alone, which has no other', async () => {
    const { app } = await open()
    expect((await app.inject('/v1/schema?explain=true')).json().type).toBe('UnknownParameter')
    const reply = await ask(app, { url: '/v1/query?explain=true&limit=1&constructor=2' })
    expect(reply.json()).toMatchObject({ type: 'UnknownParameter', message: expect.stringMatching(/'limit', 'constr/) })
    expect(reply.json().message).not.toContain("'explain'")
  })
})

describe('the reply to a query', () => {
  it('is a JSON array, whole and with its length where it is short', async () => {
    for (const [chunks, whole] of [
      [[], '[]'],
      [[[]], '[]'],
      [['{"a":1}'], '[{"a":1}]'],
      [[[], ['1', '2'], []], '[1,2]'],
    ] as const) {
      const { app } = await open(() => chunksOf(...chunks))
      const reply = await ask(app)
      expect([reply.statusCode, reply.body]).toEqual([200, whole])
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(whole.length),
      })
    }
  })

  it('is a JSON array in pieces where it is long', async () => {
    const long = `"${'x'.repeat(40_000)}"`
    const { app } = await open(() => chunksOf(long, long, '3'))
    const reply = await ask(app)
    expect(reply.body).toBe(`[${long},${long},3]`)
    expect(reply.headers).not.toHaveProperty('content-length')
  })

  it('is a JSON array of known length where it is short, however many pieces the engine makes of it', async () => {
    const { app } = await open(() => chunksOf('1', '2', '3'))
    const reply = await ask(app)
    expect(reply.body).toBe('[1,2,3]')
    expect(reply.headers).toMatchObject({ 'content-length': '7' })
  })

  it('is a row a line where Accept prefers that', async () => {
    for (const [chunks, whole] of [
      [[], ''],
      [['{"a":1}'], '{"a":1}\n'],
      [[['1', '2'], '3', '4'], '1\n2\n3\n4\n'],
    ] as const) {
      const { app } = await open(() => chunksOf(...chunks))
      const reply = await ask(app, { headers: { accept: 'application/x-ndjson' } })
      expect([reply.statusCode, reply.body]).toEqual([200, whole])
      expect(reply.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    }
  })

  it('is refused where Accept has neither, before the query runs', async () => {
    const { app, asked } = await open()
    const reply = await ask(app, { headers: { accept: 'text/html' } })
    expect(reply.json()).toMatchObject({ type: 'NotAcceptable', message: expect.stringContaining('x-ndjson') })
    expect(asked).toEqual([])
    const elsewhere = await app.inject({ url: '/v1/schema', headers: { accept: 'application/x-ndjson' } })
    expect(elsewhere.statusCode).toBe(406)
  })

  it.each(['application/json', 'application/x-ndjson'])('is compressed, as %s', async (accept) => {
    const row = JSON.stringify('x'.repeat(3_000))
    for (const chunks of [[row], [row, row, row]]) {
      const { app } = await open(() => chunksOf(...chunks))
      const plain = await ask(app, { headers: { accept } })
      const { app: again } = await open(() => chunksOf(...chunks))
      const reply = await ask(again, { headers: { accept, 'accept-encoding': 'gzip' } })
      expect(reply.headers['content-encoding']).toBe('gzip')
      expect(reply.rawPayload.length).toBeLessThan(500)
      expect(gunzipSync(reply.rawPayload).toString()).toBe(plain.body)
    }
  })

  it('is a problem where the query fails before its first rows, with what the error tells beside its message', async () => {
    const extensions = { line: 2, column: 3, text: 'FORM', expected: ['FROM'], status: 200, type: 'x', errors: 'y' }
    const details = [{ place: ['query'], message: 'm' }]
    const { app } = await open(() =>
      Promise.reject(new AshlarError('QuerySyntaxError', 'Line 2.', details, extensions)),
    )
    for (const accept of ['application/json', 'application/problem+json', 'application/x-ndjson']) {
      const reply = await ask(app, { headers: { accept } })
      expect(reply.statusCode).toBe(400)
      expect(reply.headers['content-type']).toMatch(
        accept.includes('problem') ? /^application\/problem/ : /^application\/json/,
      )
      expect(Object.entries(reply.json())).toEqual(
        Object.entries({
          type: 'QuerySyntaxError',
          title: 'The query has a syntax error',
          status: 400,
          message: 'Line 2.',
          errors: [{ pointer: '/query', message: 'm' }],
          line: 2,
          column: 3,
          text: 'FORM',
          expected: ['FROM'],
        }),
      )
    }
  })

  it('is a problem also where the rows fail at once', async () => {
    const failing = async function* (): AsyncGenerator<RowChunk> {
      yield rowChunk('1')
      throw new AshlarError('QueryError', 'no')
    }
    const { app } = await open(failing)
    expect((await ask(app)).json()).toMatchObject({ status: 422, type: 'QueryError' })
  })
})
