/** Texts that no client of good will sends, with every method to every resource: a clear 4xx or a success, never a fault. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect } from 'vitest'
import { runs } from '../../../engine/test/bytes/property-runs.ts'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

const { numRuns, ...seed } = runs(400)
/** Fewer would not meet every status. */
const runsOfAll = Math.max(numRuns, 400)
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

let server: ServerUnderTest
let fd: FdUnderTest
let uris: string[]
/** Of the objects that the requests are about; another is never addressed. */
let kept: string[]

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'hostile', '--fd', 'odd'] })
  fd = new FdUnderTest(server, 'hostile')
  const scalars = ['boolean', 'character', 'integer', 'real', 'string', 'guid', 'date', 'time', 'datetime', 'interval']
  await fd.define(
    classOf('Part', { n: 'integer', tags: list('string') }, embedded),
    classOf('Thing', {
      ...Object.fromEntries(scalars.map((type) => [`a${type}`, type])),
      part: { logicalType: 'object', class: 'Part' },
      parts: list({ logicalType: 'object', class: 'Part' }),
      next: reference('Thing', 'previous'),
      previous: reference('Thing', 'next'),
      peers: list(reference('Thing', 'peers')),
      friends: set(reference('Thing')),
      byName: { logicalType: 'map', elementSpecification: reference('Thing') },
    }),
  )
  await fd.index('byText', 'Thing', true, 'astring', 'part.n')
  const first = await fd.create('Thing', { astring: 'first', part: { n: 1 } })
  kept = [first, await fd.create('Thing', { astring: 'second', next: first, peers: [first], byName: { a: first } })]
  const { resources } = (await server.get('/v1')).json
  uris = resources.map(({ uri }: Loose) => uri).filter((uri: string) => !uri.includes('shutdown'))
})
afterAll(() => server.remove())

const quoted = fc.oneof(
  fc.constantFrom(
    '"__proto__"',
    '"constructor"',
    '"\\ud800"',
    '"\\u0000"',
    '"Thing"',
    '"Part"',
    '"byText"',
    '"3-3-1-1"',
  ),
  fc.constantFrom('"0-0-0-0"', '"first"', '"add"', '"true"', '"2024-02-29"', '"P1D"', '"9999999999999999999999"', '""'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)),
)
/** Literals that are good JSON, and that no serialiser writes. */
const literal = fc.oneof(
  quoted,
  fc.constantFrom('null', 'true', 'false', '-0', '-0.0', '1E400', '-1e-400', '1e308', '9007199254740993', '0.1e1'),
  fc.bigInt().map(String),
  fc.nat(3_000).map((digits) => '9'.repeat(digits + 1)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
)
const fields = fc.oneof(
  fc.constantFrom(
    ...['class', 'attributes', 'className', 'isReferenceable', 'superClass', 'attributeName', 'logicalType'],
  ),
  fc.constantFrom(...['referencedClass', 'elementSpecification', 'name', 'indexedClass', 'isUnique', 'keyAttributes']),
  fc.constantFrom(
    ...['action', 'elements', 'pairs', 'key', 'value', 'part', 'parts', 'next', 'peers', 'friends', 'byName'],
  ),
  fc.constantFrom(
    ...['astring', 'ainteger', 'areal', 'adate', 'ainterval', '__proto__', '__class__', '__identifier__'],
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
)
const text: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    literal,
    fc.array(tie('value'), { maxLength: 4 }).map((parts) => `[${parts.join(' ,\t')}]`),
    // A name may come twice.
    fc.array(fc.tuple(fields, tie('value')), { maxLength: 5 }).map((entries) => objectText(entries)),
    fc
      .tuple(fc.integer({ min: 1, max: 5_000 }), tie('value'))
      .map(([levels, inner]) => '['.repeat(levels) + inner + ']'.repeat(levels)),
  ),
})).value

function objectText(entries: readonly (readonly [string, string])[]): string {
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

const attributesText = fc.array(fc.tuple(fields, text), { maxLength: 4 }).map(objectText)
const schemaText = fc.tuple(quoted, text, text).map(([name, type, more]) => {
  const attribute = `{"attributeName":"a","logicalType":${type},"elementSpecification":${more}}`
  return `[{"className":${name},"isReferenceable":true,"attributes":[${attribute}]}]`
})
/** What gets past the first checks of the operation that it is for. */
const aimed = fc.oneof(
  attributesText.map((attributes) => ['POST', '/v1/object', `{"class":"Thing","attributes":${attributes}}`] as const),
  attributesText.map((attributes) => ['PUT', '/v1/object/3-3-1-2', `{"attributes":${attributes}}`] as const),
  fc.tuple(fc.constantFrom('PUT', 'POST'), schemaText).map(([method, body]) => [method, '/v1/schema', body] as const),
  fc.tuple(quoted, text, text).map(([name, unique, key]) => {
    const keys = `[{"attributeName":${key}}]`
    const body = `{"name":${name},"indexedClass":"Thing","isUnique":${unique},"keyAttributes":${keys}}`
    return ['POST', '/v1/index', body] as const
  }),
)

async function contents(): Promise<string> {
  const paths = ['/v1/schema', '/v1/index', '/v1/schema/namespace', ...kept.map((oid) => `/v1/object/${oid}`)]
  return (await Promise.all(paths.map(async (path) => (await server.get(fd.at(path))).text))).join('\n')
}

const word = fc.oneof(
  fc.constantFrom('Thing', 'Part', '1000000', 'byText', 'null', '..', '%00', '__proto__', '3-3-1-1', '3-3-1-2'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((part) => encodeURIComponent(part.toWellFormed())),
)
/** Any method, resource and body, whether they go together or not. */
const stray = fc.tuple(fc.constantFrom(...methods), fc.nat(), word, text).map(([method, uri, part, body]) => {
  return [method, (uris[uri % uris.length] as string).replace(/\{\w+\}/, part || 'x'), body] as const
})

rule(['1.4.6', '1.4.4', '1.4.1', '1.3.5'], 'odd JSON with every method to every resource', async () => {
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(fc.oneof(aimed, stray), async ([method, path, body]) => {
      // These would succeed, and the checks below need what they delete.
      if (method === 'DELETE' && /(3-3-1-1|3-3-1-2|byText)$/.test(path)) return
      const before = await contents()
      const reply: Reply = await server.send(method, fd.at(path), { raw: body })
      statuses.add(reply.status)
      expect(reply.status, reply.text).toBeLessThan(500)
      if (reply.status >= 400 && method !== 'HEAD') expectProblem(reply, reply.status)
      if (reply.status >= 400 || method === 'GET' || method === 'HEAD' || method === 'OPTIONS') {
        expect(await contents(), `${method} ${path} ${body}`).toBe(before)
      }
    }),
    { numRuns: runsOfAll, ...seed },
  )
  // It went beyond the first check, and not all was refused.
  for (const status of [200, 400, 404, 405, 422]) expect(statuses).toContain(status)
  expect((await server.get('/health/ready')).status).toBe(200)
  expect(server.stderr()).toBe('')
})

rule('1.4.6', 'odd values for each attribute of a class', async () => {
  const names = Object.keys(await fd.read(kept[0] as string)).slice(2)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), text, async (name, value) => {
      const before = await contents()
      const raw = `{"class":"Thing","attributes":{${JSON.stringify(name)}:${value}}}`
      const made = await server.send('POST', fd.at('/v1/object'), { raw })
      expect(made.status, made.text).toBeLessThan(500)
      if (made.status === 201) {
        // What is read can be sent back, and is the same then.
        const path = fd.at(made.json.uri)
        const read = (await server.get(path)).text
        expect((await server.send('PUT', path, { raw: `{"attributes":${read}}` })).status, read).toBe(204)
        expect((await server.get(path)).text).toBe(read)
        expect((await server.delete(path)).status).toBe(204)
      } else expectProblem(made, made.status)
      expect(await contents(), raw).toBe(before)
    }),
    { numRuns, ...seed },
  )
})

rule('1.3.5', 'classes, attributes, keys and indexes with names that JavaScript gives a meaning', async () => {
  // Of values that have it, an `await` would call it.
  const then = 'then'
  const odd = new FdUnderTest(server, 'odd')
  const [outer, part, holder] = ['constructor.toString', 'hasOwnProperty', 'valueOf']
  const attributes = { hasOwnProperty: 3, valueOf: 'v', [then]: 't', toJSON: 'j', constructor: 'c' }
  await odd.define(
    classOf(outer, {
      hasOwnProperty: 'integer',
      valueOf: 'string',
      [then]: 'string',
      toJSON: 'string',
      constructor: 'string',
    }),
    classOf(part, { [then]: 'integer' }, embedded),
    classOf(holder, {
      constructor: { logicalType: 'object', class: part },
      toString: { logicalType: 'map', elementSpecification: reference(outer) },
    }),
  )
  const oid = await odd.create(outer, attributes)
  expect(await odd.read(oid)).toMatchObject(attributes)
  await odd.index('constructor', outer, true, 'hasOwnProperty', then)
  await odd.index('toString', holder, true, 'constructor.then')
  expectProblem(await odd.postObject(outer, attributes), 409, 'UniqueViolation')
  const raw = `{"class":"${holder}","attributes":{"constructor":{"then":4},"toString":{"__proto__":"${oid}","then":"${oid}"}}}`
  const made = await server.send('POST', odd.at('/v1/object'), { raw })
  const { text } = await server.get(odd.at(made.json.uri))
  expect(text).toContain(`"constructor":{"then":4},"toString":{"__proto__":"${oid}","then":"${oid}"}`)
  expect((await server.get(odd.at('/v1/schema/namespace/constructor'))).json.classes).toHaveLength(1)
  expectProblem(await server.get(odd.at('/v1/schema/namespace/toString')), 404, 'NamespaceNotFound')
  expectProblem(await server.get('/v1/schema?fdAlias=constructor'), 404, 'FederatedDatabaseNotFound')
  expectProblem(await server.get('/v1/schema?fdAlias=__proto__'), 404, 'FederatedDatabaseNotFound')
  expectProblem(await server.get(odd.at('/v1/schema').concat('&__proto__=1')), 400, 'UnknownParameter')
})
