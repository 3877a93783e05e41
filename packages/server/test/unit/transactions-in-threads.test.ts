/** Transactions in statement threads: with slices of 0 ms, each of them begins again in a thread. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import { openSecureServer } from './open-secure-server.ts'
import { defineGadget, type OpenServer, openServer, type ServerSetting, type TestServer } from './open-server.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-threads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function inThreads(setting: ServerSetting = {}): ServerSetting {
  return { store: `lmdb:${temporaryFolder()}`, ...setting, limits: { statementSliceMs: 0, ...setting.limits } }
}

async function openInThreads(setting: ServerSetting = {}): Promise<OpenServer> {
  const server = await openServer(inThreads(setting))
  await defineGadget(server.app)
  return server
}

interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly json: unknown
}

async function send(
  app: TestServer,
  operations: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Sent> {
  const payload = typeof operations === 'string' ? operations : JSON.stringify(operations)
  const reply = await app.inject({
    method: 'POST',
    url: '/v1/transaction',
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  })
  return { status: reply.statusCode, headers: reply.headers, json: reply.json() }
}

const gadget = (name: string, more: object = {}) => ({
  method: 'POST',
  uri: '/v1/object',
  body: { class: 'Shop.Gadget', attributes: { name, ...more } },
})
const query = (text: string, more: object = {}) => ({
  method: 'POST',
  uri: '/v1/query',
  body: { query: text, ...more },
})
/** To the object that an operation with this id creates. */
const reference = (id: string): string => ['$', '{', id, '}'].join('')
const count = query('FROM Shop.Gadget RETURN COUNT() AS n')

async function gadgets(app: TestServer): Promise<number> {
  const reply = await app.inject({ method: 'POST', url: '/v1/query', payload: count.body })
  return reply.json()[0].n
}

const transactions: readonly unknown[] = [
  [],
  [gadget('a'), { ...gadget('b'), id: 'b' }, { method: 'GET', uri: `/v1/object/${reference('b')}` }, count],
  [{ ...gadget('c'), result: 'dispose' }, count],
  [
    query('UPDATE Shop.Gadget WHERE name = $n SET size TO 7', { parameters: { n: 'a' } }),
    query('FROM Shop.Gadget ORDER BY name RETURN *'),
  ],
  [{ method: 'GET', uri: '/v1' }, gadget('d')],
  [
    {
      method: 'POST',
      uri: '/v1/index',
      body: { name: 'byName', indexedClass: 'Shop.Gadget', isUnique: true, keyAttributes: [{ attributeName: 'name' }] },
    },
  ],
  [gadget('e'), gadget('e')],
  [gadget('f'), { method: 'PUT', uri: '/v1/object/3-3-1-999', body: { name: 'x' } }],
  [gadget('g'), { method: 'GET', uri: '/v1/nothing' }],
  [gadget('h', { colour: 'red' })],
  [gadget('i', { size: -1 })],
  [{ method: 'POST', uri: '/v1/object', body: { klass: 'Shop.Gadget' } }],
  [{ method: 'GET', uri: '/v1/metrics' }],
  [{ method: 'GET', uri: '/v1/export' }],
  [query('FROM Shop.Gadget RETURN')],
  { method: 'GET' },
  [{ method: 'GET', uri: '/v1/schema', more: 1 }],
  [
    { method: 'DELETE', uri: '/v1/index/byName' },
    { method: 'PUT', uri: '/v1/schema', body: [{ className: 'Shop.Box', isReferenceable: true, attributes: [] }] },
    { method: 'POST', uri: '/v1/object', body: { class: 'Shop.Box' } },
  ],
  [gadget('big', { size: 12345678901234567890n }), query('FROM Shop.Gadget WHERE name = "big" RETURN size')],
  [gadget('fraction', { size: '9007199254740993.5' })],
]

function textOf(operations: unknown): string {
  return JSON.stringify(operations, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value)).replaceAll(
    /"(-?\d+(?:\.\d+)?)n?"/g,
    '$1',
  )
}

function withoutIds({ status, json }: Sent): unknown {
  return [
    status,
    JSON.parse(
      JSON.stringify(json)
        .replaceAll(/\d+-\d+-\d+-\d+/g, 'OID')
        .replaceAll(/"uptime":\d+/g, '"uptime":0'),
    ),
  ]
}

describe('transactions in threads', () => {
  it('reply and fail as on the event loop', async () => {
    const threads = await openInThreads()
    const loop = await openInThreads({ limits: { statementThreadsMax: 0 } })
    for (const operations of transactions) {
      const text = textOf(operations)
      const [one, other] = [await send(threads.app, text), await send(loop.app, text)]
      expect([text, withoutIds(one)]).toEqual([text, withoutIds(other)])
    }
    expect(threads.federatedDatabases[0]?.counts().statementThreads).toBe(1)
    expect(await gadgets(threads.app)).toBe(await gadgets(loop.app))
  })

  it('parse a large body there, and fail as it would here', async () => {
    const { app, federatedDatabases } = await openInThreads({ limits: { statementSliceMs: 60_000 } })
    const many = Array.from({ length: 2_000 }, (_, n) => gadget(`p${n}`))
    expect((await send(app, many)).status).toBe(200)
    expect(federatedDatabases[0]?.counts().statementThreads).toBe(1)
    const { status, json } = await send(app, `${JSON.stringify(many).slice(0, -1)},`)
    expect([status, json]).toMatchObject([400, { type: 'MalformedRequest' }])
    expect(await gadgets(app)).toBe(2_000)
  })

  it('wait for room for the values of their bodies, as bodies that are parsed here', async () => {
    const limits = { bodiesValuesMax: 20_000, bodyWaitMsMax: 100 }
    const { app } = await openInThreads({ limits })
    await send(
      app,
      Array.from({ length: 500 }, (_, n) => gadget(`p${n}`)),
    )
    const many = Array.from({ length: 2_000 }, (_, n) => gadget(`q${n}`))
    const endless = query('FROM Shop.Gadget AS a, Shop.Gadget AS b, Shop.Gadget AS c, Shop.Gadget AS d RETURN COUNT()')
    const first = send(app, [endless, ...many])
    const listed = async (): Promise<{ id: string }[]> =>
      (await app.inject({ method: 'GET', url: '/v1/statement' })).json()
    await expect.poll(async () => (await listed()).length).toBe(1)
    const [statement] = await listed()
    // The first body is admitted once its thread has counted its values.
    await expect
      .poll(async () => (await send(app, many)).json, { timeout: 30_000 })
      .toMatchObject({ type: 'ServerBusy', message: expect.stringContaining('bodiesValuesMax') })
    await app.inject({ method: 'DELETE', url: `/v1/statement/${statement?.id}` })
    expect((await first).json).toMatchObject({ type: 'StatementStopped' })
  })

  it('create arrays of objects there, once with an Idempotency-Key', async () => {
    const { app, federatedDatabases } = await openInThreads()
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      app.inject({
        method: 'POST',
        url: '/v1/object',
        payload: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      })
    const many = Array.from({ length: 3_000 }, (_, n) => gadget(`p${n}`, { size: n }).body)
    const made = await post(many)
    expect([made.statusCode, made.json().length]).toEqual([201, 3_000])
    expect(federatedDatabases[0]?.counts().statementThreads).toBe(1)
    const small = await post([gadget('a').body, gadget('b', { size: 'x' }).body])
    expect([small.statusCode, small.json().errors]).toMatchObject([400, [{ pointer: '/1/attributes/size' }]])
    const wrong = await post([...many, { klass: 1 }])
    expect([wrong.statusCode, wrong.json().errors]).toMatchObject([400, [{ pointer: '/3000' }]])
    const key = { 'idempotency-key': 'many' }
    const few = many.slice(0, 200)
    const [first, second] = [await post(few, key), await post(few, key)]
    expect([second.body, second.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
    expect(await gadgets(app)).toBe(3_200)
  })

  it('are carried out once with an Idempotency-Key, of which the repetition gets the reply', async () => {
    const { app, federatedDatabases } = await openInThreads()
    const headers = { 'idempotency-key': 'once' }
    const first = await send(app, [gadget('a'), count], headers)
    expect(federatedDatabases[0]?.counts().statementThreads).toBe(1)
    const second = await send(app, [gadget('a'), count], headers)
    expect([second.status, second.json]).toEqual([200, first.json])
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect((await send(app, [gadget('b')], headers)).json).toMatchObject({ type: 'IdempotencyKeyReused' })
    const keyed = { method: 'POST', url: '/v1/query', payload: { query: 'CREATE Shop.Gadget {name: "q"}' } } as const
    const made = await app.inject({ ...keyed, headers: { 'idempotency-key': 'query' } })
    const repeated = await app.inject({ ...keyed, headers: { 'idempotency-key': 'query' } })
    expect([repeated.body, repeated.headers['idempotent-replayed']]).toEqual([made.body, 'true'])
    expect(await gadgets(app)).toBe(2)
  })

  it('have an entry in the audit log, also where they fail', async () => {
    const file = join(temporaryFolder(), 'audit.ndjson')
    const audit = new AuditFile({ file, fileBytesMax: 10_000_000, filesMax: 3 }, pino({ level: 'silent' }))
    await audit.start()
    onTestFinished(() => audit.close())
    const { app } = await openInThreads({ audit: new AuditLog(audit, 'refuse') })
    const { json } = await send(app, [gadget('a'), gadget('b')])
    await send(app, [gadget('c'), { method: 'GET', uri: '/v1/nothing' }])
    await send(app, [count])
    await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'UPDATE Shop.Gadget SET size TO 2' } })
    await audit.flush()
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const oids = (json as { result: { __identifier__: string } }[]).map(({ result }) => result.__identifier__)
    expect(lines.slice(1)).toMatchObject([
      { operation: 'POST /v1/transaction', classes: ['Shop.Gadget'], oids, objects: 2, outcome: 'done', status: 200 },
      { operation: 'POST /v1/transaction', outcome: 'failed', status: 404, type: 'ResourceNotFound' },
      { operation: 'POST /v1/query', oids, objects: 2, outcome: 'done' },
    ])
    expect(lines).toHaveLength(4)
  })

  it('are refused where the audit log cannot be written', async () => {
    const file = join(temporaryFolder(), 'audit.ndjson')
    const audit = new AuditFile({ file, fileBytesMax: 10_000_000, filesMax: 3 }, pino({ level: 'silent' }))
    await audit.start()
    onTestFinished(() => audit.close())
    const { app } = await openInThreads({ audit: new AuditLog(audit, 'refuse') })
    Object.defineProperty(audit, 'hasFailed', { get: () => true, set: () => undefined })
    expect((await send(app, [count, gadget('a')])).json).toMatchObject({ type: 'AuditLogUnavailable' })
    expect(await gadgets(app)).toBe(0)
  })

  it('do what the roles of their caller allow', async () => {
    const { app, token } = await openSecureServer(inThreads())
    const admin = await token({ roles: ['admin'] })
    await defineGadget(app, '', { authorization: admin })
    const on = { kind: 'class', className: 'Shop.Gadget' }
    const role = { name: 'small', grants: [{ on, actions: ['read', 'query', 'create'], rules: { read: 'size < 3' } }] }
    const made = await app.inject({
      method: 'POST',
      url: '/v1/security/role',
      payload: role,
      headers: { authorization: admin },
    })
    expect(made.statusCode, made.body).toBe(201)
    await send(app, [gadget('a', { size: 1 }), gadget('b', { size: 5 })], { authorization: admin })
    const small = await token({ roles: ['small'] })
    const { json } = await send(app, [query('FROM Shop.Gadget RETURN name')], { authorization: small })
    expect(json).toEqual([{ responseCode: '200', result: [{ name: 'a' }] }])
    const refused = await send(app, [gadget('c', { size: 1 }), query('DELETE Shop.Gadget')], { authorization: small })
    expect([refused.status, refused.json]).toMatchObject([403, { type: 'Forbidden', operation: 2 }])
  })

  it('change nothing once their client has gone', async () => {
    const { app, federatedDatabases } = await openInThreads()
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const endless = query('FROM Shop.Gadget AS a, Shop.Gadget AS b, Shop.Gadget AS c, Shop.Gadget AS d RETURN COUNT()')
    await send(
      app,
      Array.from({ length: 500 }, (_, n) => gadget(`p${n}`)),
    )
    const sent = request({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/transaction',
      headers: { 'content-type': 'application/json' },
    })
    sent.on('error', () => undefined)
    sent.end(JSON.stringify([gadget('late'), endless]))
    const listed = async (): Promise<unknown[]> => (await app.inject({ method: 'GET', url: '/v1/statement' })).json()
    await expect.poll(async () => (await listed()).length).toBe(1)
    sent.destroy()
    await expect.poll(async () => (await listed()).length).toBe(0)
    await expect.poll(() => federatedDatabases[0]?.counts().memoryBytes).toBe(0)
    expect(await gadgets(app)).toBe(500)
  })

  it('end where their statement is stopped', async () => {
    const { app } = await openInThreads()
    const endless = query('FROM Shop.Gadget AS a, Shop.Gadget AS b, Shop.Gadget AS c, Shop.Gadget AS d RETURN COUNT()')
    await send(
      app,
      Array.from({ length: 500 }, (_, n) => gadget(`p${n}`)),
    )
    const stopped = send(app, [gadget('late'), endless])
    const listed = async (): Promise<{ id: string; text: string }[]> =>
      (await app.inject({ method: 'GET', url: '/v1/statement' })).json()
    await expect.poll(async () => (await listed()).length).toBe(1)
    const [statement] = await listed()
    expect(statement).toMatchObject({ kind: 'transaction', text: '2 operations' })
    await app.inject({ method: 'DELETE', url: `/v1/statement/${statement?.id}` })
    expect(await stopped).toMatchObject({ status: 409, json: { type: 'StatementStopped' } })
    expect(await gadgets(app)).toBe(500)
  })
})

it('what a thread cannot answer, such as the statistics of the store, is answered by the main thread', async () => {
  const { app } = await openInThreads()
  const sent = await send(app, [{ method: 'GET', uri: '/v1/fd' }, gadget('a')])
  expect(sent.status).toBe(200)
  expect(await gadgets(app)).toBe(1)
})

describe('a body of more than 1 MiB that creates or updates one object', () => {
  const text = (character: string): string => character.repeat(1_100_000)

  it('1.5.15 is carried out in a thread, where conditions and Idempotency-Key hold, too', async () => {
    const { app, federatedDatabases } = await openInThreads()
    const threadsBefore = federatedDatabases[0]?.counts().statementThreads
    const create = (name: string, headers = {}) =>
      app.inject({
        method: 'POST',
        url: '/v1/object',
        headers,
        payload: { class: 'Shop.Gadget', attributes: { name } },
      })
    const once = { 'idempotency-key': 'k' }
    const [first, again] = [await create(text('é'), once), await create(text('é'), once)]
    expect([first.statusCode, first.headers['statement-id']]).toEqual([201, undefined])
    expect([again.statusCode, again.json()]).toEqual([201, first.json()])
    expect(federatedDatabases[0]?.counts().statementThreads).toBeGreaterThan(threadsBefore ?? 0)
    const { uri } = first.json() as { uri: string }
    const { etag } = (await app.inject({ method: 'GET', url: uri })).headers
    const update = (name: string, headers: Readonly<Record<string, string>>) =>
      app.inject({ method: 'PUT', url: uri, headers, payload: { attributes: { name } } })
    expect((await update(text('b'), { 'if-match': '"other"' })).json()).toMatchObject({ type: 'PreconditionFailed' })
    const updated = await update(text('b'), { 'if-match': etag as string })
    expect([updated.statusCode, updated.body]).toEqual([204, ''])
    expect((await app.inject({ method: 'GET', url: uri })).json()).toMatchObject({ name: text('b') })
    expect(await gadgets(app)).toBe(1)
  })

  it('1.5.15 is carried out in a thread where the body has more than 1,000 objects, too', async () => {
    const { app, federatedDatabases } = await openInThreads()
    const line = {
      className: 'Line',
      isReferenceable: false,
      attributes: [{ attributeName: 'n', logicalType: 'integer' }],
    }
    const lines = { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'Line' } }
    const order = { className: 'Order', isReferenceable: true, attributes: [{ attributeName: 'lines', ...lines }] }
    await app.inject({ method: 'PUT', url: '/v1/schema', payload: [line, order] })
    const threads = (): number | undefined => federatedDatabases[0]?.counts().statementThreads
    const create = async (count: number): Promise<unknown> => {
      const attributes = { lines: Array.from({ length: count }, () => ({ n: 7 })) }
      const made = await app.inject({ method: 'POST', url: '/v1/object', payload: { class: 'Order', attributes } })
      expect(made.statusCode, made.body).toBe(201)
      return (await app.inject({ method: 'GET', url: made.json().uri })).json().lines.length
    }
    const before = threads() ?? 0
    expect([await create(900), threads()]).toEqual([900, before])
    expect([await create(1_100), threads()]).toEqual([1_100, before + 1])
  })

  it.each(['', '\n ', '\uFEFF'])('an array is a statement, also behind %j', async (before) => {
    const { app } = await openInThreads()
    const payload = `${before}${JSON.stringify([{ class: 'Shop.Gadget', attributes: { name: text('d') } }])}`
    const headers = { 'content-type': 'application/json' }
    const made = await app.inject({ method: 'POST', url: '/v1/object', headers, payload })
    expect([made.statusCode, made.headers['statement-id']]).toEqual([201, expect.any(String)])
  })

  it('1.5.15 is no statement: none of many that arrive at once is refused', async () => {
    const { app } = await openInThreads()
    const payload = { class: 'Shop.Gadget', attributes: { name: text('c') } }
    const all = await Promise.all(
      Array.from({ length: 20 }, () => app.inject({ method: 'POST', url: '/v1/object', payload })),
    )
    expect(new Set(all.map(({ statusCode }) => statusCode))).toEqual(new Set([201]))
    expect(await gadgets(app)).toBe(20)
  })

  it.each([
    ['{"class":"Shop.Gadget","attributes":{"name":', 'MalformedRequest'],
    ['{"class":"Shop.Gadget","attributes":{"nme":', 'UnknownAttribute'],
    ['{"class":"Shop.Gadget","attributes":{"size":', 'MalformedValue'],
  ])('is refused as a small one is: %s', async (start, type) => {
    const { app } = await openInThreads()
    const payload = `${start}${JSON.stringify(text('x'))}${type === 'MalformedRequest' ? '}' : '}}'}`
    const headers = { 'content-type': 'application/json' }
    const refused = await app.inject({ method: 'POST', url: '/v1/object', headers, payload })
    expect(refused.json()).toMatchObject({ type })
    expect(await gadgets(app)).toBe(0)
  })
})
