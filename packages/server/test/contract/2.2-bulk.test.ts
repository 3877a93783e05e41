/** Bulk loads over HTTP: lines in, lines out (contract 2.2.9 and those after it). */

import { writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { AshlarClient } from '@ashlar/client'
import { expect, onTestFinished } from 'vitest'
import { classOf, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
let alias: string

useFdPerTest(async (given) => {
  ;({ server, fd, alias } = given)
  await prepare(fd)
})

async function prepare(given: FdUnderTest): Promise<void> {
  await given.define(
    classOf('Car', {
      plate: 'string',
      km: 'integer',
      next: reference('Car'),
      owner: reference('Person', 'cars'),
      tags: list('string'),
    }),
    classOf('Person', { name: 'string', cars: list(reference('Car', 'owner')) }),
    classOf('Part', { code: 'string' }, { isReferenceable: false }),
  )
  await given.index('byPlate', 'Car', true, 'plate')
}

const car = (plate: string, more: object = {}, id?: string) => ({
  class: 'Car',
  attributes: { plate, ...more },
  ...(id === undefined ? {} : { id }),
})

const toLines = (lines: readonly unknown[]): string =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')

const asLines = { 'content-type': 'application/x-ndjson' }

const send = (query: string, ...lines: unknown[]): Promise<Reply> =>
  server.send('POST', `${fd.at('/v1/object')}${query}`, { raw: toLines(lines), headers: asLines })

/** The replies to lines, and the summary. */
function readReplies(reply: Reply): { readonly lines: readonly Loose[]; readonly summary: Loose } {
  expect(reply.status, reply.text).toBe(200)
  expect(reply.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  expect(reply.text.endsWith('\n')).toBe(true)
  const lines = reply.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { lines: lines.slice(0, -1), summary: lines.at(-1)?.summary }
}

/** Line and OID, or line and type of the error. */
const outcomes = (reply: Reply) =>
  readReplies(reply).lines.map(({ line, __identifier__: oid, error }) => [
    line,
    oid === undefined ? error.type : 'done',
  ])

const rows = async (query: string, of = fd): Promise<Loose[]> => (await server.post(of.at('/v1/query'), { query })).json

const plates = async (): Promise<string[]> =>
  (await rows('FROM Car ORDER BY plate RETURN plate')).map(({ plate }) => plate)

rule('2.2.9', 'each line has its reply, in order, and the last tells how many', async () => {
  const reply = await send('', car('a'), '  ', car('b', { tags: ['x'] }), `${JSON.stringify(car('c'))}\r`, '')
  const { lines, summary } = readReplies(reply)
  expect(lines.map(({ line }) => line)).toEqual([1, 3, 4])
  expect(reply.headers['statement-id']).toBeDefined()
  expect(summary).toEqual({ created: 3, updated: 0, failed: 0 })
  for (const [i, plate] of ['a', 'b', 'c'].entries()) {
    expect(await fd.read(lines[i].__identifier__)).toMatchObject({ __class__: 'Car', plate })
  }
  expect(readReplies(await send('')).summary).toEqual({ created: 0, updated: 0, failed: 0 })
})

rule('2.2.9', 'lines may come compressed, and begin with a byte order mark', async () => {
  const raw = gzipSync(`\uFEFF${toLines([car('a'), car('b')])}`)
  const headers = { 'content-type': 'application/x-ndjson; charset=utf-8', 'content-encoding': 'gzip' }
  expect(outcomes(await server.send('POST', fd.at('/v1/object'), { raw, headers }))).toEqual([
    [1, 'done'],
    [2, 'done'],
  ])
})

rule('2.2.9', 'many lines, in many batches', async () => {
  const count = 5_500
  const lines = Array.from({ length: count }, (_, i) => car(`n${i}`, { km: i }))
  const reply = readReplies(await send('', ...lines))
  expect(reply.lines.map(({ line }) => line)).toEqual(lines.map((_, i) => i + 1))
  expect(new Set(reply.lines.map(({ __identifier__: oid }) => oid)).size).toBe(count)
  expect(await rows('FROM Car RETURN COUNT() AS n, SUM(km) AS km')).toEqual([
    { n: count, km: (count * (count - 1)) / 2 },
  ])
})

rule('2.2.9', 'other bodies have none of its parameters, and other operations no lines', async () => {
  expectProblem(await server.post(`${fd.at('/v1/object')}&onError=skip`, car('a')), 400, 'MalformedRequest')
  expectProblem(await server.post(`${fd.at('/v1/object')}&atomic=true`, [car('a')]), 400, 'MalformedRequest')
  const query = { raw: '{"query":"FROM Car"}', headers: asLines }
  expectProblem(await server.send('POST', fd.at('/v1/query'), query), 415)
  for (const wrong of ['&onError=maybe', '&atomic=2', '&upsertOn=', '&atomic=true&onError=skip']) {
    expectProblem(await send(wrong, car('a')), 400, 'MalformedValue')
  }
  const headers = { ...asLines, accept: 'application/json' }
  expectProblem(await server.send('POST', fd.at('/v1/object'), { raw: toLines([car('a')]), headers }), 406)
  expect(await plates()).toEqual([])
})

rule('2.2.19', 'a line that fails ends the load, and those before it are committed', async () => {
  const reply = await send('', car('a'), car('b'), car('a'), car('c'))
  expect(outcomes(reply)).toEqual([
    [1, 'done'],
    [2, 'done'],
    [3, 'UniqueViolation'],
  ])
  expect(readReplies(reply).summary).toEqual({ created: 2, updated: 0, failed: 1 })
  expect(await plates()).toEqual(['a', 'b'])
})

rule('2.2.19', 'onError=skip leaves out the lines that fail', async () => {
  const lines = [
    car('a'),
    car('a'),
    car('b', { km: 'many' }),
    '{"class":',
    '[]',
    { class: 'Nobody' },
    { class: 'Part' },
    car('c', { owner: '3-3-9-9' }),
    { class: 'Car', attributes: { plate: 'd' }, colour: 1 },
    car('e', { next: `\${none}` }),
    { method: 'put', uri: '/v1/object/3-3-9-9', body: { attributes: { km: 1 } } },
    { method: 'delete', uri: '/v1/object/no-oid' },
    { method: 'get', uri: '/v1/object/3-3-9-9' },
    car('z'),
  ]
  const reply = await send('&onError=skip', ...lines)
  expect(outcomes(reply)).toEqual(
    [
      'done',
      'UniqueViolation',
      'MalformedValue',
      'MalformedRequest',
      'MalformedRequest',
      'UnknownClass',
      'ClassNotReferenceable',
      'InvalidReference',
      'UnknownField',
      'InvalidReference',
      'ObjectNotFound',
      'MalformedOid',
      'MalformedRequest',
      'done',
    ].map((word, i) => [i + 1, word]),
  )
  expect(readReplies(reply).summary).toEqual({ created: 2, updated: 0, failed: 12 })
  expect(readReplies(reply).lines[2].error).toMatchObject({ status: 400, errors: [{ pointer: '/attributes/km' }] })
  expect(await plates()).toEqual(['a', 'z'])
})

rule('2.2.19', 'where half of the lines fail, each is told of', async () => {
  await fd.create('Car', { plate: 'n0' })
  const lines = Array.from({ length: 1_200 }, (_, i) => car(i % 2 === 0 ? 'n0' : `n${i}`))
  expect(outcomes(await send('&onError=skip', ...lines))).toEqual(
    lines.map((_, i) => [i + 1, i % 2 === 0 ? 'UniqueViolation' : 'done']),
  )
})

rule('2.2.20', 'atomic=true does all, or nothing, and tells which line was to blame', async () => {
  const refused = await send('&atomic=true', car('a', { next: `\${b}` }), car('b', {}, 'b'), car('a'))
  expect(refused.status).toBe(409)
  expect(refused.text).toContain('Line 3: Class Car: plate')
  const read = await send('&atomic=true', car('a'), '{"class"')
  expect([read.status, JSON.parse(read.text).line]).toEqual([400, 2])
  expect(await plates()).toEqual([])
  const done = await send('&atomic=true', car('a', { next: `\${b}` }), car('b', {}, 'b'))
  const [a, b] = readReplies(done).lines
  expect(await fd.read(a.__identifier__)).toMatchObject({ next: b.__identifier__ })
})

rule('2.2.21', 'lines refer to each other by ids, forwards, backwards and in circles', async () => {
  const reply = await send(
    '',
    car('a', { next: `\${b}`, owner: `\${ann}`, tags: [`$\${b}`, `x \${b}`] }, 'a'),
    car('b', { next: `\${a}` }, 'b'),
    { method: 'post', uri: '/v1/object', body: { class: 'Person', attributes: { name: 'Ann' } }, id: 'ann' },
    { method: 'PUT', uri: `/v1/object/\${b}`, body: { class: 'Car', attributes: { owner: `\${ann}` } } },
    ...Array.from({ length: 3_000 }, (_, i) => car(`x${i}`, { next: `\${a}` })),
    car('last', { next: `\${b}` }),
  )
  const { lines, summary } = readReplies(reply)
  expect(summary).toEqual({ created: 3_004, updated: 1, failed: 0 })
  const [a, b, ann] = lines.map(({ __identifier__: oid }) => oid)
  expect(await fd.read(a)).toMatchObject({ next: b, owner: ann, tags: [`\${b}`, `x \${b}`] })
  expect(await fd.read(b)).toMatchObject({ next: a, owner: ann })
  expect(await fd.read(ann)).toMatchObject({ cars: [a, b] })
  expect(await fd.read(lines.at(-1).__identifier__)).toMatchObject({ next: b })
})

rule('2.2.21', 'what refers to a line that fails, fails', async () => {
  const lines = [
    car('a', { next: `\${b}` }),
    car('b', { km: 'many' }, 'b'),
    car('c', {}, 'c'),
    car('d', {}, 'c'),
    car('e', { next: `\${c}` }),
  ]
  const reply = await send('&onError=skip', ...lines)
  expect(outcomes(reply).map(([, word]) => word)).toEqual([
    'InvalidReference',
    'MalformedValue',
    'done',
    'MalformedRequest',
    'done',
  ])
  expect(await plates()).toEqual(['c', 'e'])
  expect(outcomes(await send('', car('f', { next: `\${g}` }), car('h'), car('g', { km: {} }, 'g')))).toEqual([
    [3, 'MalformedValue'],
  ])
  expect(await plates()).toEqual(['c', 'e'])
})

rule('2.2.21', 'a name that is longer than an id can be is refused where it stands', async () => {
  const long = (characters: number) => `\${${'a'.repeat(characters)}}`
  const reply = await send(
    '&onError=skip',
    car('a', { next: long(64) }),
    car('b', { next: long(65) }),
    car('c', { tags: [long(17_000), long(17_001)] }),
    car('d', { tags: [`$${long(17_000)}`] }),
    { method: 'delete', uri: `/v1/object/${long(65)}` },
    car('e', {}, 'a'.repeat(64)),
  )
  expect(outcomes(reply).map(([, word]) => word)).toEqual([
    'done',
    'InvalidReference',
    'InvalidReference',
    'done',
    'InvalidReference',
    'done',
  ])
  const { lines } = readReplies(reply)
  expect(lines[1].error.message).toContain('an id has at most 64 characters, not 65')
  expect(lines[2].error.message).toContain('an id has at most 64 characters, not 17000')
  expect(lines[2].error.message.length).toBeLessThan(200)
  expect(await fd.read(lines[3].__identifier__)).toMatchObject({ tags: [long(17_000)] })
})

rule('2.2.22', 'upsertOn changes the object that has the key, and creates others', async () => {
  const oid = await fd.create('Car', { plate: 'a', km: 1, tags: ['kept'] })
  const reply = await send(
    '&upsertOn=byPlate',
    car('a', { km: 2 }),
    car('b', { km: 1, next: `\${a}` }),
    car('b', { km: 5 }, 'b'),
    car('a', { next: `\${b}` }, 'a'),
    { class: 'Car', attributes: { plate: null } },
  )
  const { lines, summary } = readReplies(reply)
  expect(summary).toEqual({ created: 2, updated: 3, failed: 0 })
  expect([lines[0].__identifier__, lines[3].__identifier__]).toEqual([oid, oid])
  expect(lines[1].__identifier__).toBe(lines[2].__identifier__)
  expect(await fd.read(oid)).toMatchObject({ km: 2, tags: ['kept'], next: lines[1].__identifier__ })
  expect(await fd.read(lines[1].__identifier__)).toMatchObject({ km: 5, next: oid })
  const refused = await send('&upsertOn=byPlate&onError=skip', { class: 'Car' }, { class: 'Person' })
  expect(outcomes(refused).map(([, word]) => word)).toEqual(['ValueNotAllowed', 'ValueNotAllowed'])
  await fd.index('byKm', 'Car', false, 'km')
  expectProblem(await send('&upsertOn=byKm', car('x')), 422, 'ValueNotAllowed')
  expectProblem(await send('&upsertOn=none', car('x')), 404, 'IndexNotFound')
})

rule('2.2.23', 'lines change and delete objects, by OID or by a unique key', async () => {
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((plate) => fd.create('Car', { plate })))
  const byKey = (plate: string) => ({ index: 'byPlate', key: { plate } })
  const reply = await send(
    '',
    { method: 'put', uri: `/v1/object/${a}`, body: { attributes: { km: 7 } } },
    { method: 'delete', uri: `/v1/object/${b}` },
    { method: 'put', ...byKey('c'), body: { attributes: { plate: 'cc' } } },
    { method: 'put', ...byKey('cc'), body: { attributes: { km: 8 } } },
    car('new'),
    { method: 'delete', ...byKey('new') },
    car('new', {}, 'n'),
    { method: 'delete', uri: `/v1/object/\${n}` },
    { method: 'delete', ...byKey('a') },
  )
  const { lines, summary } = readReplies(reply)
  expect(lines.slice(0, 4).map(({ __identifier__: oid }) => oid)).toEqual([a, b, c, c])
  expect(summary).toEqual({ created: 2, updated: 3, deleted: 4, failed: 0 })
  expect(await rows('FROM Car RETURN plate, km')).toEqual([{ plate: 'cc', km: 8 }])
  const refused = await send(
    '&onError=skip',
    { method: 'delete', ...byKey('gone') },
    { method: 'delete', index: 'byPlate', key: { km: 1 } },
    { method: 'delete', index: 'byPlate' },
    { method: 'put', uri: `/v1/object/${a}`, ...byKey('a'), body: { attributes: {} } },
  )
  expect(outcomes(refused).map(([, word]) => word)).toEqual([
    'ObjectNotFound',
    'UnknownAttribute',
    'MalformedRequest',
    'MalformedRequest',
  ])
  const wrong = [
    { method: 'put', ...byKey('cc'), body: { attributes: { km: 'many' } } },
    { method: 'put', index: 'byPlate', key: { plate: 7 }, body: { attributes: {} } },
    { method: 'post', uri: '/v1/object', body: { class: 'Nobody' } },
  ]
  const { lines: told } = readReplies(await send('&onError=skip', ...wrong))
  const places = told.map(({ error }) => error.errors[0].pointer)
  expect(places).toEqual(['/body/attributes/km', '/key/plate', '/body/class'])
})

/** A load whose lines are sent one by one. */
function openLoad(path: string, of: ServerUnderTest = server) {
  const request = httpRequest(`${of.url}${path}`, { method: 'POST', headers: asLines })
  const response = new Promise<IncomingMessage>((resolve, reject) =>
    request.once('response', resolve).once('error', reject),
  )
  response.catch(() => undefined)
  const replies = async function* (): AsyncGenerator<Loose> {
    for await (const line of createInterface({ input: await response })) yield JSON.parse(line)
  }
  return { request, response, write: (line: unknown) => request.write(`${toLines([line])}\n`), replies: replies() }
}

rule('2.2.24', 'lines are acknowledged while others are still to come', async () => {
  const { request, write, replies } = openLoad(fd.at('/v1/object'))
  for (const [i, plate] of ['a', 'b', 'c'].entries()) {
    write(car(plate))
    expect((await replies.next()).value).toMatchObject({ line: i + 1, __identifier__: expect.any(String) })
    expect(await plates()).toHaveLength(i + 1)
  }
  request.end()
  expect((await replies.next()).value).toEqual({ summary: { created: 3, updated: 0, failed: 0 } })
})

rule('2.2.24', 'a connection that breaks off leaves what was acknowledged, and no part of a line', async () => {
  const { request, write, replies } = openLoad(fd.at('/v1/object'))
  write(car('a'))
  await replies.next()
  request.write(toLines([car('b')]).slice(0, -2))
  await delay(30)
  request.destroy()
  await expect.poll(async () => (await server.get('/v1/statement')).json.length).toBe(0)
  expect(await plates()).toEqual(['a'])
})

rule('2.2.24', 'whoever reads no reply before all is sent, gets them all', async () => {
  const { request, write, replies } = openLoad(fd.at('/v1/object'))
  const count = 60_000
  for (let i = 0; i < count; i++)
    if (!write({ class: 'Person' })) await new Promise((resolve) => request.once('drain', resolve))
  request.end()
  await delay(200)
  let seen = 0
  for await (const reply of replies) if (reply.line === seen + 1) seen++
  expect(seen).toBe(count)
})

rule('2.2.24', 'a load is listed, and stopped as any statement is', async () => {
  const { request, write, replies } = openLoad(fd.at('/v1/object'))
  write(car('a'))
  await replies.next()
  const [listed] = (await server.get('/v1/statement')).json
  expect(listed).toMatchObject({ kind: 'transaction', state: 'sending', fdAlias: alias })
  expect((await server.delete(`/v1/statement/${listed.id}`)).status).toBe(204)
  expect((await replies.next()).value).toMatchObject({ error: { type: 'StatementStopped' } })
  request.on('error', () => undefined)
  expect(await plates()).toEqual(['a'])
})

rule('2.2.24', 'no Idempotency-Key: each line is acknowledged by itself', async () => {
  const headers = { ...asLines, 'idempotency-key': 'k' }
  const reply = await server.send('POST', fd.at('/v1/object'), { raw: toLines([car('a')]), headers })
  expectProblem(reply, 400, 'MalformedRequest')
  expect(await plates()).toEqual([])
})

rule(['2.2.24', '1.5.20'], 'limits of lines, of ids and of time', async () => {
  const data = temporaryDirectory()
  const config = join(data, 'limits.json')
  const limits = {
    lineBytesMax: 200,
    bulkNamesMax: 2,
    atomicLoadObjectsMax: 3,
    // Node looks at connections ten times within it.
    headersMsMax: 1_000,
    requestMsMax: 2_500,
    objectValuesMax: 20,
  }
  writeFileSync(config, JSON.stringify({ limits }))
  const small = await startServer({ words: ['--config', config, '--fd', 'small'] })
  onTestFinished(() => small.remove())
  const own = {
    post: (query: string, ...lines: unknown[]) =>
      small.send('POST', `/v1/object${query}`, { raw: toLines(lines), headers: asLines }),
  }
  await small.put('/v1/schema', [classOf('Car', { plate: 'string', next: reference('Car'), tags: list('string') })])
  const long = await own.post(
    '?onError=skip',
    car('a'),
    car('x'.repeat(300)),
    car('b', { tags: Array(30).fill('') }),
    car('c'),
  )
  expect(outcomes(long).map(([, word]) => word)).toEqual(['done', 'BodyTooLarge', 'BodyTooLarge', 'done'])
  const named = await own.post('', car('a', {}, 'a'), car('b', {}, 'b'), car('c', {}, 'c'))
  expect([named.status, JSON.parse(named.text).type]).toEqual([413, 'BodyTooLarge'])
  const many = await own.post('?atomic=true', car('a'), car('b'), car('c'), car('d'))
  expect([many.status, JSON.parse(many.text).type]).toEqual([422, 'LimitExceeded'])
  const slow = openLoad('/v1/object', small)
  for (let i = 0; i < 5; i++) {
    slow.write(car(`s${i}`))
    // Together they take longer than a request may, and each far less.
    await delay(700)
  }
  const seen: Loose[] = []
  slow.request.on('error', () => undefined)
  for await (const reply of slow.replies) seen.push(reply)
  expect(seen.map(({ line, error }) => line ?? error?.type)).toEqual([1, 2, 3, 4, 5, 'RequestTimeout'])
})

rule(['2.2.20', '1.5.18'], 'a load with atomic=true has bounds of its own, and each is named', async () => {
  const limits = {
    atomicLoadObjectsMax: 400,
    atomicLoadEntriesMax: 300,
    atomicLoadBytesMax: 20_000,
    changedObjectsMax: 10,
  }
  const data = temporaryDirectory()
  const config = join(data, 'limits.json')
  writeFileSync(config, JSON.stringify({ limits: { ...limits, commitEntriesMax: 10, commitBytesMax: 2_000 } }))
  const small = await startServer({ words: ['--config', config, '--fd', 'small'] })
  onTestFinished(() => small.remove())
  await small.put('/v1/schema', [classOf('Car', { plate: 'string', next: reference('Car') })])
  const atomic = async (count: number, attributes: object): Promise<[number, string]> => {
    const lines = Array.from({ length: count }, (_, i) => ({
      class: 'Car',
      attributes: { plate: `${i}`, ...attributes },
    }))
    const reply = await small.send('POST', '/v1/object?atomic=true', { raw: toLines(lines), headers: asLines })
    return [reply.status, reply.status === 200 ? '' : JSON.parse(reply.text).message]
  }
  expect(await atomic(401, {})).toEqual([422, expect.stringContaining('at most 400 lines (atomicLoadObjectsMax)')])
  expect(await atomic(301, {})).toEqual([422, expect.stringContaining('300 entries at most (atomicLoadEntriesMax)')])
  const long = { plate: 'x'.repeat(1_000) }
  expect(await atomic(60, long)).toEqual([422, expect.stringContaining('20000 bytes at most (atomicLoadBytesMax)')])
  expect((await small.post('/v1/query', { query: 'FROM Car RETURN COUNT(*) AS n' })).json).toEqual([{ n: 0 }])
  expect(await atomic(200, {})).toEqual([200, ''])
})

rule(
  '2.2.20',
  'lines of a load with atomic=true find by keys what lines before them have made, and nothing is left where one fails',
  async () => {
    const update = (plate: string, attributes: object) => ({
      method: 'put',
      index: 'byPlate',
      key: { plate },
      body: { attributes },
    })
    const lines = [
      car('a'),
      update('a', { plate: 'b' }),
      update('b', { plate: 'c' }),
      { method: 'delete', index: 'byPlate', key: { plate: 'c' } },
      car('a'),
    ]
    const failed = await send('&atomic=true', ...lines, update('c', {}))
    expect([failed.status, JSON.parse(failed.text)]).toEqual([404, expect.objectContaining({ line: 6 })])
    expect(await plates()).toEqual([])
    const done = await send('&atomic=true', ...lines)
    expect(JSON.parse(done.text.trim().split('\n').at(-1) as string)).toEqual({
      summary: { created: 2, updated: 2, deleted: 1, failed: 0 },
    })
    expect(await plates()).toEqual(['a'])
  },
)

rule('2.2.22', 'an index that does not tell which object is meant is refused before a line has come', async () => {
  await server.post(fd.at('/v1/index'), {
    name: 'byKm',
    indexedClass: 'Car',
    isUnique: false,
    keyAttributes: [{ attributeName: 'km' }],
  })
  for (const [name, status, type] of [
    ['none', 404, 'IndexNotFound'],
    ['byKm', 422, 'ValueNotAllowed'],
  ] as const) {
    const { request, response, replies } = openLoad(`${fd.at('/v1/object')}&upsertOn=${name}`)
    request.on('error', () => undefined)
    request.flushHeaders()
    expect((await response).statusCode).toBe(status)
    expect((await replies.next()).value).toMatchObject({ type })
    request.destroy()
  }
})

rule('2.2.24', 'the client sends an iterable, and yields the replies', async () => {
  const client = new AshlarClient({ baseUrl: server.url, fdAlias: alias })
  const given = async function* () {
    for (let i = 0; i < 2_500; i++) yield car(`n${i}`)
    yield { method: 'delete' as const, index: 'byPlate', key: { plate: 'n0' } }
    yield car('n1')
  }
  const seen: Loose[] = []
  for await (const reply of client.loadObjects(given(), { onError: 'skip' })) seen.push(reply)
  expect(seen.at(-1)).toEqual({ summary: { created: 2_500, updated: 0, deleted: 1, failed: 1 } })
  expect(seen.at(-2)).toMatchObject({ line: 2_502, error: { type: 'UniqueViolation' } })
  const atomic = client.loadObjects([car('n1')], { isAtomic: true })
  await expect(atomic.next()).rejects.toMatchObject({ type: 'UniqueViolation', status: 409 })
})
