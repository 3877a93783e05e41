/** The limits of a server, over HTTP. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const small = {
  bodyBytesMax: 2_000,
  jsonDepthMax: 5,
  requestHeaderBytesMax: 4_000,
  indexKeyAttributesMax: 2,
  classAttributesMax: 3,
  bodyValuesMax: 200,
  objectValuesMax: 100,
  statementBytesMax: 100_000,
  transactionBytesMax: 3_000,
  textCharactersMax: 30_000,
  changedObjectsMax: 20,
}
let server: ServerUnderTest
let fd: FdUnderTest
let narrow: ServerUnderTest
let narrowFd: FdUnderTest

beforeAll(async () => {
  const data = temporaryDirectory()
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits: small }))
  server = await startServer({ words: ['--fd', 'one'] })
  fd = new FdUnderTest(server, 'one')
  narrow = await startServer({ words: ['--fd', 'one', '--config', config], data })
  narrowFd = new FdUnderTest(narrow, 'one')
})
afterAll(async () => {
  await server.remove()
  await narrow.remove()
})

const attributes = (count: number, name = 'a') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, 'integer']))

rule('1.5.1', 'the limits without configuration', async () => {
  expect((await server.get('/v1/fd')).json.limits).toMatchObject({
    bodyBytesMax: 32 * 2 ** 20,
    jsonDepthMax: 64,
    bodyValuesMax: 1_000_000,
    objectValuesMax: 200_000,
    requestHeaderBytesMax: 16 * 2 ** 10,
    indexKeyAttributesMax: 16,
    classAttributesMax: 1_000,
  })
})

rule(['1.5.2', '1.2.11', '1.2.14'], 'limits of the configuration are shown and in force', async () => {
  expect((await narrow.get('/v1/fd')).json.limits).toMatchObject(small)
  const padded = (bytes: number) => JSON.stringify([]).padEnd(bytes)
  expect((await narrow.send('PUT', '/v1/schema', { raw: padded(2_000) })).status).toBe(201)
  expectProblem(await narrow.send('PUT', '/v1/schema', { raw: padded(2_001) }), 413, 'BodyTooLarge')
  expect(expectProblem(await narrow.send('PUT', '/v1/schema', { raw: '[[[[[[]]]]]]' }), 400)).toContain('5')
})

rule('1.5.13', 'values of a body, compressed or not, and of one object', async () => {
  const values = (count: number): string => JSON.stringify(Array.from({ length: count - 1 }, () => 1))
  const object = (count: number): string =>
    JSON.stringify({ class: 'Nothing', attributes: { list: Array.from({ length: count - 7 }, () => 1) } })
  const over = async (method: string, path: string, raw: string | Buffer, headers = {}): Promise<string> =>
    expectProblem(
      await narrow.send(method, path, { raw, headers: { 'content-type': 'application/json', ...headers } }),
      413,
      'BodyTooLarge',
    )
  expectProblem(await narrow.send('POST', '/v1/transaction', { raw: values(200) }), 400, 'MalformedRequest')
  expect(await over('POST', '/v1/transaction', values(201))).toContain('200 values (bodyValuesMax)')
  expect(await over('PUT', '/v1/schema', gzipSync(values(201)), { 'content-encoding': 'gzip' })).toContain(
    'bodyValuesMax',
  )
  expectProblem(await narrow.send('POST', '/v1/object', { raw: object(100) }), 422, 'UnknownClass')
  for (const [method, path] of [
    ['POST', '/v1/object'],
    ['PUT', '/v1/object/3-3-1-1'],
  ] as const) {
    expect(await over(method, path, object(101))).toContain('100 values (objectValuesMax)')
  }
})

rule(
  ['1.5.13', '7.1.13'],
  'what the bodies of single requests may have, those of a transaction may have each',
  async () => {
    const object = (values: number) => ({ class: 'Nothing', attributes: { list: Array(values - 7).fill(1) } })
    const read = { method: 'get', uri: '/v1/schema/namespace' }
    const send = (operation: object) => narrow.send('POST', '/v1/transaction', { body: [read, operation] })
    expectProblem(await send({ method: 'post', uri: '/v1/object', body: object(100) }), 422, 'UnknownClass')
    for (const [method, uri] of [
      ['post', '/v1/object'],
      ['put', '/v1/object/3-3-1-1'],
    ]) {
      const over = await send({ method, uri, body: object(101) })
      expect(expectProblem(over, 413, 'BodyTooLarge')).toContain('100 values (objectValuesMax)')
      expect(over.json).toMatchObject({ operation: 2, errors: [{ pointer: '/1/body' }] })
    }
    const deep = { method: 'post', uri: '/v1/object', body: [[[[[1]]]]] }
    expect(expectProblem(await send(deep), 400, 'MalformedRequest')).toContain('5 levels')
    const long = await server.send('POST', '/v1/transaction', {
      body: [read, { method: 'get', uri: `/v1/schema/${'x'.repeat(17_000)}` }],
    })
    expect(expectProblem(long, 431, 'HeadersTooLarge')).toContain('16384 bytes (requestHeaderBytesMax)')
    expect(long.json.errors).toMatchObject([{ pointer: '/1' }])
    const tagged = { method: 'get', uri: '/v1/object/3-3-1-1', ifNoneMatch: `"${'x'.repeat(17_000)}"` }
    expectProblem(await server.send('POST', '/v1/transaction', { body: [tagged] }), 431, 'HeadersTooLarge')
  },
)

rule(
  ['1.5.13', '1.5.18'],
  'of an array of objects each may have the values of one, and there are not too many',
  async () => {
    const object = (fields: number) => ({ class: 'Nothing', attributes: attributes(fields) })
    const post = (...objects: object[]) => narrow.send('POST', '/v1/object', { raw: JSON.stringify(objects) })
    // Five values, and two a field.
    expectProblem(await post(object(43), object(47)), 422, 'UnknownClass')
    const over = await post(object(1), object(48), object(1))
    const message = 'Element 1 of the body has more than 100 values (objectValuesMax).'
    expect(expectProblem(over, 413, 'BodyTooLarge')).toBe(message)
    expect(expectProblem(await post(object(47), object(48)), 413, 'BodyTooLarge')).toContain('(bodyValuesMax)')
    const operation = { method: 'post', uri: '/v1/object', body: [object(1), object(48)] }
    const within = await narrow.send('POST', '/v1/transaction', { body: [operation] })
    expect(expectProblem(within, 413, 'BodyTooLarge')).toContain(message)
    expect(within.json.errors).toMatchObject([{ pointer: '/0/body/1' }])
    await narrowFd.define(classOf('Tiny', {}))
    const refusal = async (count: number): Promise<string> => {
      return expectProblem(await post(...Array(count).fill({ class: 'Tiny' })), 422, 'LimitExceeded')
    }
    expect(await refusal(21)).toContain('20 objects would be changed at once (changedObjectsMax)')
    expect(await refusal(20)).toContain('transactionBytesMax')
    expect((await post({ class: 'Tiny' }, { class: 'Tiny' })).status).toBe(201)
  },
)

rule('1.5.13', 'a body of 8 kB that is 8 MiB of empty objects is refused for its values', async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from('['), Buffer.alloc(8 * 2 ** 20, '{},')]))
  expect(bomb.length).toBeLessThan(10_000)
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  for (const [method, path] of [
    ['PUT', '/v1/schema'],
    ['POST', '/v1/query'],
    ['POST', '/v1/object'],
  ] as const) {
    expect(expectProblem(await server.send(method, path, { raw: bomb, headers }), 413, 'BodyTooLarge')).toContain(
      'ValuesMax',
    )
  }
})

rule('1.5.14', 'what a request holds in memory, by every way in', async () => {
  expect((await server.get('/v1/fd')).json.limits).toMatchObject({
    statementBytesMax: 256 * 2 ** 20,
    transactionBytesMax: 384 * 2 ** 20,
    statementsBytesMax: 384 * 2 ** 20,
    textCharactersMax: 16 * 2 ** 20,
  })
  await narrowFd.define(classOf('Held', { text: 'string' }))
  const doubled = (times: number): string => `LET x = 'abcdefgh'; ${'LET x = $x + $x; '.repeat(times)}`
  const large = `${doubled(10)}SHOW LIST{${Array(9).fill('$x').join()}}`
  const ask = (query: string) => narrow.send('POST', '/v1/query', { body: { query } })
  expect(expectProblem(await ask(large), 422, 'LimitExceeded')).toContain('100000 bytes (statementBytesMax)')
  expect(expectProblem(await ask(doubled(12)), 422, 'LimitExceeded')).toContain('30000 (textCharactersMax)')
  const small = { method: 'post', uri: '/v1/object', body: { class: 'Held', attributes: { text: 'x' } } }
  expect((await narrow.send('POST', '/v1/transaction', { body: Array(3).fill(small) })).status).toBe(200)
  const creates = await narrow.send('POST', '/v1/transaction', { body: Array(15).fill(small) })
  expect(expectProblem(creates, 422)).toContain('3000 bytes in memory until the commit (transactionBytesMax)')
  const within = { method: 'post', uri: '/v1/query', body: { query: large } }
  const batch = await narrow.send('POST', '/v1/transaction', { body: [small, within] })
  expect(expectProblem(batch, 422)).toContain('statementBytesMax')
})

rule('1.5.3', 'request headers over the limit', async () => {
  const ask = (on: ServerUnderTest, bytes: number) => on.send('GET', '/v1', { headers: { x: 'x'.repeat(bytes) } })
  expect((await ask(server, 15_000)).status).toBe(200)
  expectProblem(await ask(server, 17_000), 431, 'HeadersTooLarge')
  expect((await ask(narrow, 3_000)).status).toBe(200)
  expectProblem(await ask(narrow, 5_000), 431, 'HeadersTooLarge')
})

rule('1.5.4', 'attributes of a class, inherited ones included', async () => {
  await fd.define(classOf('Full', attributes(1_000)))
  expectProblem(await fd.putSchema(classOf('Over', attributes(1_001))), 422, 'LimitExceeded')
  expectProblem(await fd.putSchema(classOf('Full', { more: 'integer' })), 422, 'LimitExceeded')
  expectProblem(await fd.putSchema(classOf('Sub', { more: 'integer' }, { superClass: 'Full' })), 422, 'LimitExceeded')
  await fd.define(classOf('Sub', {}, { superClass: 'Full' }), classOf('Base', {}))
  await narrowFd.define(classOf('Base', attributes(1)), classOf('Sub', attributes(2, 'b'), { superClass: 'Base' }))
  const message = expectProblem(await narrowFd.putSchema(classOf('Base', { more: 'integer' })), 422, 'LimitExceeded')
  for (const word of ['Sub', '3']) expect(message).toContain(word)
  expect((await narrow.get('/v1/schema/Base')).json.attributes).toHaveLength(1)
})

rule('1.5.5', 'key attributes of an index', async () => {
  await fd.define(classOf('Keyed', attributes(17)))
  const names = Object.keys(attributes(17))
  expectProblem(await fd.postIndex('over', 'Keyed', false, ...names), 422, 'LimitExceeded')
  await fd.index('full', 'Keyed', true, ...names.slice(1))
  await narrowFd.define(classOf('Keyed', attributes(3)))
  expectProblem(await narrowFd.postIndex('over', 'Keyed', false, 'a0', 'a1', 'a2'), 422, 'LimitExceeded')
  await narrowFd.index('full', 'Keyed', false, 'a0', 'a1')
})

rule('1.5.9', 'an object larger than any store holds is refused, however it comes about', async () => {
  const most = 16 * 2 ** 20 - 4
  await fd.define(classOf('Text', { a: 'string', b: 'string' }))
  const half = 'x'.repeat(most / 2)
  const oid = await fd.create('Text', { a: half })
  const batch = [{ method: 'put', uri: `/v1/object/${oid}`, body: { attributes: { b: half } } }]
  const query = 'UPDATE Text WHERE $$ID = $oid SET b TO $b'
  const refusals = [
    await fd.postObject('Text', { a: 'x'.repeat(most) }),
    await fd.putObject(oid, { b: half }),
    await server.post(fd.at('/v1/transaction'), batch),
    await server.post(fd.at('/v1/query'), { query, parameters: { oid, b: half } }),
  ]
  for (const reply of refusals) {
    const message = expectProblem(reply, 422, 'LimitExceeded')
    for (const word of ['Text', `${most}`, 'recordBytesMax']) expect(message).toContain(word)
  }
  expect(await fd.read(oid)).toMatchObject({ a: half, b: '' })
  await fd.update(oid, { b: 'x'.repeat(most / 2 - 100) })
  expect((await fd.read(oid)).b).toHaveLength(most / 2 - 100)
})
