/** How errors are told, over HTTP. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
/** Objects that refused requests are about; all that can be read of them is in `contents`. */
let oids: string[]

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'one'] })
  fd = new FdUnderTest(server, 'one')
  await fd.define(
    classOf('Part', { code: 'integer', tags: list('string') }, embedded),
    classOf('Owner', { cars: list(reference('Car', 'owner')), name: 'string' }),
    classOf('Fleet.Base', { note: 'string' }),
    classOf('Fleet.Deep.Base', { note: 'string' }, { superClass: 'Fleet.Base' }),
    classOf(
      'Car',
      {
        plate: 'string',
        year: { logicalType: 'integer', storage: 'b16' },
        built: 'date',
        part: { logicalType: 'object', class: 'Part' },
        owner: reference('Owner', 'cars'),
        friends: set(reference('Car')),
        byName: { logicalType: 'map', elementSpecification: reference('Car') },
      },
      { superClass: 'Fleet.Deep.Base' },
    ),
  )
  await fd.index('byPlate', 'Car', true, 'plate')
  await fd.index('byOwner', 'Car', false, 'owner', 'part.code')
  const owner = await fd.create('Owner', { name: 'Ann' })
  const first = await fd.create('Car', { plate: 'A', year: 1, part: { code: 1, tags: ['x'] }, owner })
  const second = await fd.create('Car', { plate: 'B', friends: [first], byName: { a: first }, owner })
  oids = [owner, first, second]
})
afterAll(() => server.remove())

async function contents(): Promise<string> {
  const paths = ['/v1/schema', '/v1/index', '/v1/schema/namespace', ...oids.map((oid) => `/v1/object/${oid}`)]
  const replies = await Promise.all(paths.map((path) => server.get(fd.at(path))))
  for (const { status } of replies) expect(status).toBe(200)
  return replies.map(({ text }) => text).join('\n')
}

interface Refusal {
  readonly type: string
  readonly status: number
  /** Words that the message holds. */
  readonly words: readonly string[]
  readonly pointer?: string
  ask(): Promise<Reply>
}

/** The parts that are good stand before the bad one, where that is possible: they must not be kept either. */
function refusals(): Refusal[] {
  const [owner, first, second] = oids as [string, string, string]
  const none = '3-3-60000-1'
  const update = (attributes: unknown) => () => fd.putObject(second, attributes)
  const create = (attributes: unknown) => () => fd.postObject('Car', attributes)
  const schema =
    (...classes: unknown[]) =>
    () =>
      fd.putSchema(classOf('Early', { n: 'integer' }), ...classes)
  const index =
    (...keys: (string | Record<string, unknown>)[]) =>
    () =>
      fd.postIndex('late', 'Car', true, ...keys)
  const refusal = (status: number, type: string, words: string[], ask: () => Promise<Reply>, pointer?: string) => ({
    status,
    type,
    words,
    ask,
    ...(pointer === undefined ? {} : { pointer }),
  })
  return [
    refusal(400, 'MalformedValue', ['Car', 'year', 'new'], update({ plate: 'Z', year: 'new' }), '/attributes/year'),
    refusal(
      400,
      'MalformedValue',
      ['Car', 'part', 'true'],
      update({ plate: 'Z', part: { code: 7, tags: ['y', true] } }),
      '/attributes/part/tags/1',
    ),
    refusal(422, 'ValueNotAllowed', ['Car', 'year', '70000'], update({ owner: null, year: 70000 }), '/attributes/year'),
    refusal(422, 'ValueNotAllowed', ['Car', 'built', '2023-02-29'], create({ owner, built: '2023-02-29' })),
    refusal(422, 'UnknownAttribute', ['Car', 'palte', 'plate'], update({ plate: 'Z', palte: 'Z' })),
    refusal(422, 'UnknownAttribute', ['Part', 'cod'], create({ owner, part: { cod: 1 } })),
    refusal(422, 'AmbiguousAttribute', ['Base::note', 'Fleet.Deep.Base'], update({ plate: 'Z', 'Base::note': 'x' })),
    refusal(422, 'InvalidReference', ['Car', 'owner', none], update({ plate: 'Z', owner: none })),
    refusal(422, 'InvalidReference', ['Car', 'owner', first], create({ plate: 'Z', owner: first })),
    refusal(422, 'InvalidReference', ['Owner', 'cars', none], () => fd.putObject(owner, { cars: [second, none] })),
    refusal(409, 'UniqueViolation', ['Car', 'plate', 'A', first, 'byPlate'], create({ owner, plate: 'A' })),
    refusal(409, 'UniqueViolation', ['Car', 'plate', 'A', first], update({ owner: null, friends: [], plate: 'A' })),
    refusal(422, 'UnknownClass', ['Ownr', 'Owner'], () => fd.postObject('Ownr', {}), '/class'),
    refusal(422, 'ClassNotReferenceable', ['Part'], () => fd.postObject('Part', {})),
    refusal(422, 'ClassIsInternal', ['ooObj'], () => fd.postObject('ooObj', {}), '/class'),
    refusal(422, 'InvalidDefinition', ['Late', 'n', 'int64'], schema(classOf('Late', { n: 'int64' }))),
    refusal(422, 'UnknownClass', ['Late', 'Crate'], schema(classOf('Late', { n: reference('Crate') }))),
    refusal(422, 'InvalidName', ['no-name'], schema(classOf('no-name', {})), '/1/className'),
    refusal(422, 'InvalidName', ['Late', '__n'], schema(classOf('Late', { __n: 'integer' }))),
    refusal(409, 'AttributeExists', ['Car', 'plate'], schema(classOf('Car', { more: 'integer', plate: 'integer' }))),
    refusal(409, 'SuperClassMismatch', ['Car', 'Owner'], schema(classOf('Car', {}, { superClass: 'Owner' }))),
    refusal(409, 'ClassIsEmbedded', ['Part', 'Car', 'part'], schema(classOf('Part', { more: 'integer' }))),
    refusal(409, 'ClassIsReferenceable', ['Owner'], schema(classOf('Owner', {}, embedded))),
    refusal(409, 'ClassExists', ['Owner'], () =>
      server.post(fd.at('/v1/schema'), [classOf('Early', {}), classOf('Owner', { more: 'integer' })]),
    ),
    refusal(409, 'UniqueViolation', ['Car', 'year'], async () => {
      const third = await fd.create('Car', { plate: 'C', year: 1 })
      const reply = await fd.postIndex('late', 'Car', true, 'year')
      await fd.remove(third)
      return reply
    }),
    refusal(409, 'IndexExists', ['byPlate'], () => fd.postIndex('byPlate', 'Car', false, 'year')),
    refusal(422, 'UnknownAttribute', ['Car', 'yaer', 'year'], index('plate', 'yaer'), '/keyAttributes/1/attributeName'),
    refusal(422, 'AttributeNotIndexable', ['Car', 'friends'], index('plate', 'friends')),
    refusal(422, 'AttributeNotIndexable', ['Car', 'part'], index('part')),
    refusal(404, 'ObjectNotFound', [none], () => fd.putObject(none, { plate: 'Z' })),
    refusal(404, 'ObjectNotFound', [none], () => server.delete(fd.at(`/v1/object/${none}`))),
    refusal(404, 'ClassNotFound', ['Crate'], () => server.get(fd.at('/v1/schema/Crate'))),
    refusal(404, 'NamespaceNotFound', ['Crate'], () => server.get(fd.at('/v1/schema/namespace/Crate'))),
    refusal(404, 'IndexNotFound', ['byNothing'], () => server.delete(fd.at('/v1/index/byNothing'))),
    refusal(400, 'MalformedOid', ['3-3-x'], () => server.delete(fd.at('/v1/object/3-3-x'))),
    refusal(404, 'FederatedDatabaseNotFound', ['nope'], () => server.delete(`/v1/object/${first}?fdAlias=nope`)),
  ]
}

rule(
  ['1.4.1', '1.4.3', '1.4.4', '1.4.5', '1.4.7'],
  'each refusal: its type and status, its words, its place, and nothing changed',
  async () => {
    const before = await contents()
    for (const { ask, status, type, words, pointer } of refusals()) {
      const reply = await ask()
      const message = expectProblem(reply, status, type)
      for (const word of words) expect(message, `${type}: ${word}`).toContain(word)
      if (pointer !== undefined) {
        expect(
          reply.json.errors?.map((detail: { pointer: string }) => detail.pointer),
          message,
        ).toContain(pointer)
      }
      expect(reply.text, message).not.toMatch(
        /\bat .*:\d+:\d+|node_modules|\.[jt]s\b|lmdb|ashlar-test-|\[object Object\]/i,
      )
      expect(await contents(), message).toBe(before)
    }
  },
)

/** Statements that are refused, with the piece of text to blame marked by `«…»`; what is not marked is blamed as a whole. */
const refusedStatements: readonly (readonly [number, string, string])[] = [
  [422, 'ValueNotAllowed', "UPDATE Car WHERE plate = 'A' SET «year» TO 70000"],
  [422, 'ValueNotAllowed', "UPDATE Car WHERE plate = 'A' SET plate TO 'Z' SET «part.code» TO 1e30"],
  [422, 'InvalidReference', "UPDATE Car WHERE plate = 'A' SET «owner» TO 3-3-60000-1"],
  [422, 'InvalidReference', "UPDATE Car WHERE plate = 'A' ADD 3-3-60000-1 TO «friends»"],
  [409, 'UniqueViolation', "«UPDATE Car SET plate TO 'A'»"],
  [409, 'UniqueViolation', "«CREATE Car {plate: 'A'}»"],
  [422, 'ValueNotAllowed', "CREATE Car {plate: 'Z', «year: 70000»}"],
  [422, 'InvalidReference', "CREATE Car {plate: 'Z', «owner: 3-3-60000-1»}"],
  [422, 'ValueNotAllowed', "UPSERT Car {plate: 'A', «year: 70000»} ON (plate)"],
  [422, 'ValueNotAllowed', "LET c = 1; IF TRUE THEN (UPDATE Car WHERE plate = 'A' SET «year» TO 70000)"],
  [422, 'ValueNotAllowed', "FOR EACH n IN LIST{70000} => (CREATE Car {plate: 'Z', «year: $n»})"],
  [422, 'UnknownAttribute', 'CREATE INDEX late ON Car (plate, «yaer»)'],
  [422, 'AttributeNotIndexable', "DELETE Car WHERE plate = 'none'; CREATE INDEX late ON Car («friends»)"],
  [409, 'IndexExists', 'CREATE INDEX «byPlate» ON Car (year)'],
  [409, 'UniqueViolation', "CREATE Car {plate: 'C', year: 1}; «CREATE UNIQUE INDEX late ON Car (year)»"],
  [404, 'IndexNotFound', '«DROP INDEX byNothing»'],
  [409, 'ClassExists', 'UPDATE SCHEMA { CREATE CLASS «Owner» {} }'],
  [422, 'InvalidName', 'UPDATE SCHEMA { CREATE CLASS Late {n: Integer} CREATE CLASS «__late» {} }'],
  [422, 'InvalidDefinition', 'UPDATE SCHEMA { CREATE CLASS Late {a: Integer, n: «Int64»} }'],
  [409, 'AttributeExists', 'UPDATE SCHEMA { ALTER CLASS Car {ADD «year: String»} }'],
  [422, 'UnknownAttribute', 'UPDATE SCHEMA { ALTER CLASS Car {DROP built, DROP «yaer»} }'],
  [409, 'AttributeExists', 'UPDATE SCHEMA { ALTER CLASS Car {RENAME year TO «plate»} }'],
  [409, 'AttributeInUse', 'UPDATE SCHEMA { ALTER CLASS Car {DROP «plate»} }'],
  [409, 'ClassInUse', 'UPDATE SCHEMA { «DROP CLASS Fleet.Base» }'],
]

rule(
  '1.4.1',
  'what a statement is refused for is told with its place in the text, which is where the error points',
  async () => {
    const url = fd.at('/v1/query')
    for (const [status, type, marked] of refusedStatements) {
      const [before = '', blamed = '', after = ''] = marked.split(/[«»]/)
      const query = `SHOW 1;\n  ${before}${blamed}${after}`
      const place = {
        line: 2,
        column: 3 + before.length,
        text: blamed.length > 60 ? `${blamed.slice(0, 60)}…` : blamed,
      }
      const inJson = await server.post(url, { query })
      const asText = await server.send('POST', url, { raw: query, headers: { 'content-type': 'text/plain' } })
      const inBatch = await server.post(fd.at('/v1/transaction'), [
        { method: 'get', uri: '/v1/schema' },
        { method: 'post', uri: '/v1/query', body: { query } },
      ])
      for (const reply of [inJson, asText, inBatch]) {
        expect(expectProblem(reply, status, type)).toContain(`Line 2, column ${place.column}: `)
        expect(reply.json, marked).toMatchObject(place)
      }
      const pointersOf = ({ json }: Reply): unknown => json.errors?.map(({ pointer }: { pointer: string }) => pointer)
      expect([inJson, asText, inBatch].map(pointersOf)).toEqual([['/query'], undefined, ['/1/body/query']])
    }
  },
)

rule('1.4.1', 'the fields of an error, and no others', async () => {
  const reply = await fd.postObject('Car', { year: 'new' })
  expect(Object.keys(reply.json)).toEqual(['type', 'title', 'status', 'message', 'errors'])
  expect(reply.json.errors).toEqual([{ pointer: '/attributes/year', message: expect.any(String) }])
  for (const path of ['/nope', fd.at('/v1/schema/Crate')]) {
    expect(Object.keys((await server.get(path)).json)).toEqual(['type', 'title', 'status', 'message'])
  }
})

rule('1.4.5', 'long values and names are cut', async () => {
  const long = 'n'.repeat(5_000)
  const replies = {
    value: await fd.postObject('Car', { built: long }),
    digits: await fd.postObject('Car', { year: '9'.repeat(5_000) }),
    number: await fd.postObject('Car', { year: 1e308 }),
    structure: await fd.postObject('Car', { plate: [long] }),
    'unique value': await fd.create('Car', { plate: long }).then(() => fd.postObject('Car', { plate: long })),
    OID: await server.get(fd.at(`/v1/object/${long.slice(0, 4_000)}`)),
    'class of an object': await fd.postObject(long),
    'attribute of an object': await fd.postObject('Car', { [long]: 1 }),
    'attribute of an embedded object': await fd.postObject('Car', { part: { [long]: 1 } }),
    'hidden attribute': await fd.postObject('Car', { [`${long}::note`]: 1 }),
    field: await server.post(fd.at('/v1/object'), { class: 'Car', [long]: 1 }),
    'field of a definition': await fd.putSchema(classOf('Late', { n: { logicalType: 'integer', [long]: 1 } })),
    class: await fd.putSchema(classOf(long, {})),
    attribute: await fd.putSchema(classOf('Late', { [`-${long}`]: 'integer' })),
    type: await fd.putSchema(classOf('Late', { n: long })),
    superclass: await fd.putSchema(classOf('Late', {}, { superClass: long })),
    'referenced class': await fd.putSchema(classOf('Late', { n: reference(long) })),
    index: await fd.postIndex(long, 'Car', false, 'year'),
    'key attribute': await fd.postIndex('late', 'Car', false, long),
    'class in the path': await server.get(fd.at(`/v1/schema/${long.slice(0, 4_000)}`)),
    'index in the path': await server.get(fd.at(`/v1/index/${long.slice(0, 4_000)}`)),
  }
  const lengths = Object.entries(replies).map(([what, reply]) => [what, expectProblem(reply, reply.status).length])
  expect(lengths.filter(([, length = 0]) => Number(length) > 500)).toEqual([])
})

rule('1.4.2', 'problem+json where it is asked for', async () => {
  const path = fd.at('/v1/schema/Crate')
  const typeFor = async (accept: string) =>
    (await server.send('GET', path, { headers: { accept } })).headers['content-type']?.split(';')[0]
  expect(await typeFor('application/problem+json, application/json')).toBe('application/problem+json')
  expect(await typeFor('application/json;q=0.5,application/problem+json')).toBe('application/problem+json')
  for (const accept of ['application/json', '*/*', '']) expect(await typeFor(accept)).toBe('application/json')
})

rule('1.4.8', 'types are words of the catalogue, which stands in the documents too', async () => {
  const text = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \|[^|]*\| (.+) \|$/gm)]
  const catalogue = new Map(rows.map(([, type = '', status, title]) => [type, { status: Number(status), title }]))
  expect(catalogue.size).toBe(rows.length)
  for (const { ask } of refusals()) {
    const { type, status, title } = (await ask()).json
    expect({ type, status, title }).toEqual({ type, ...catalogue.get(type) })
  }
  const openapi = (await server.get('/openapi.json')).text
  for (const type of catalogue.keys()) expect(openapi).toContain(type)
})
