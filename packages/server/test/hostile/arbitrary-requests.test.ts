/** Arbitrary JSON and bytes to every route. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference } from '../contract/class-of.ts'
import { expectProblem } from '../contract/expectations.ts'
import { rule } from '../contract/rule.ts'
import { type Reply, type ServerUnderTest, startServer } from '../contract/server-under-test.ts'

const numRuns = Number(process.env.ASHLAR_RUNS ?? 1) * 150
const seed = process.env.ASHLAR_SEED === undefined ? {} : { seed: Number(process.env.ASHLAR_SEED) }

let server: ServerUnderTest
let fd: FdUnderTest
let oid: string

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'hostile'] })
  fd = new FdUnderTest(server, 'hostile')
  await fd.define(
    classOf('Part', { n: 'integer' }, embedded),
    classOf('Thing', {
      text: 'string',
      count: { logicalType: 'integer', storage: 'b64' },
      part: { logicalType: 'object', class: 'Part' },
      parts: list({ logicalType: 'object', class: 'Part' }),
      next: reference('Thing', 'previous'),
      previous: reference('Thing', 'next'),
      byName: { logicalType: 'map', elementSpecification: reference('Thing') },
      when: 'datetime',
      span: 'interval',
    }),
  )
  await fd.index('byText', 'Thing', true, 'text')
  oid = await fd.create('Thing', { text: 'here', count: 7 })
})
afterAll(() => server.remove())

const names = fc.constantFrom(
  'class',
  'attributes',
  '__proto__',
  'constructor',
  'text',
  'count',
  'part',
  'next',
  'byName',
  'className',
  'logicalType',
  'name',
  'keyAttributes',
  'action',
  'elements',
  'pairs',
  '__class__',
  '__identifier__',
)
const words = fc.constantFrom(
  'Thing',
  'Part',
  'Nope',
  '1000000',
  'byText',
  '0-0-0-0',
  '3-3-1-1',
  'integer',
  'reference',
  'add',
  '',
  '\u0000',
  '\ud800',
  'x'.repeat(5_000),
  'true',
  '-1',
)
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    words,
    fc.jsonValue(),
    fc.double(),
    fc.maxSafeInteger(),
    tie('list'),
    tie('record'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  record: fc.dictionary(fc.oneof(names, fc.string()), tie('value'), { maxKeys: 5 }),
})).value

/** Shapes that get past the first check of the body. */
const likely = fc.oneof(
  fc.record({
    class: fc.oneof(words, anything),
    attributes: fc.dictionary(fc.oneof(names, fc.string()), anything, { maxKeys: 4 }),
  }),
  fc.array(
    fc.record({
      className: fc.oneof(words, anything),
      isReferenceable: fc.oneof(fc.boolean(), anything),
      attributes: anything,
    }),
    { maxLength: 2 },
  ),
  fc.record({
    name: fc.oneof(words, anything),
    indexedClass: words,
    isUnique: fc.oneof(fc.boolean(), anything),
    keyAttributes: anything,
  }),
  fc.record({ attributes: fc.dictionary(names, anything, { maxKeys: 3 }) }),
  anything,
)

async function state(): Promise<string> {
  const schema = await server.get(fd.at('/v1/schema'))
  const indexes = await server.get(fd.at('/v1/index'))
  return `${schema.text} ${indexes.text} ${JSON.stringify(await fd.read(oid))}`
}

rule(
  '1.4.6',
  'arbitrary JSON to every route: never 500, one body for errors, and nothing changed by what is refused',
  async () => {
    const { resources } = (await server.get('/v1')).json
    const paths = resources.map(({ uri }: { uri: string }) => uri).filter((uri: string) => !uri.includes('shutdown'))
    const requests = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH'),
      uri: fc.constantFrom(...(paths as string[])),
      part: fc.oneof(words, fc.string({ maxLength: 40 })),
      body: likely,
    })
    await fc.assert(
      fc.asyncProperty(requests, async ({ method, uri, part, body }) => {
        const path = uri.replace(/\{\w+\}/, encodeURIComponent(part.isWellFormed() ? part.replaceAll('/', '_') : 'x'))
        if (method === 'DELETE' && (path.endsWith(oid) || path.endsWith('byText'))) return
        const before = await state()
        const reply: Reply = await server.send(method, fd.at(path), {
          raw: method === 'GET' ? '' : JSON.stringify(body),
        })
        expect(reply.status, reply.text).toBeLessThan(500)
        if (reply.status >= 400) {
          expectProblem(reply, reply.status)
          expect(await state()).toBe(before)
        }
      }),
      { numRuns, ...seed },
    )
    expect((await server.get('/health/ready')).status).toBe(200)
  },
)

rule('1.4.6', 'arbitrary bytes as bodies', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
      const reply = await server.send('PUT', fd.at('/v1/schema'), { raw: Buffer.from(bytes) })
      expect(reply.status, reply.text).toBeLessThan(500)
    }),
    { numRuns, ...seed },
  )
})
