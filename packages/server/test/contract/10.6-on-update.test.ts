/** Which changes evaluate `onUpdate`, and on what it and defaults depend, over HTTP (contract 10.6.9, 10.6.10). */
import { expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
const versionOf = async (oid: string): Promise<number> => (await fd.read(oid)).version as number

const version = { logicalType: 'integer', onUpdate: { expression: 'version + 1' } }
const node = classOf('Node', {
  version,
  name: 'string',
  double: { logicalType: 'integer', computed: { expression: 'version * 2' } },
  parent: reference('Node', 'children'),
  children: list(reference('Node', 'parent')),
  next: reference('Node', 'previous'),
  previous: reference('Node', 'next'),
  tags: set(reference('Node', 'tagged')),
  tagged: set(reference('Node', 'tags')),
  some: set(reference('Node')),
  tree: list(reference('Node'), 'TreeListOfReferences'),
  named: {
    logicalType: 'map',
    collectionTypeName: 'NameToReferenceMap',
    elementSpecification: reference('Node'),
  },
})

/** The ways to change one object. */
const ways: Record<string, (oid: string, attributes: object) => Promise<Reply>> = {
  request: (oid, attributes) => fd.putObject(oid, attributes),
  operation: (oid, attributes) => {
    return server.post(fd.at('/v1/transaction'), [
      { method: 'PUT', uri: fd.at(`/v1/object/${oid}`), body: { attributes } },
    ])
  },
  line: (oid, attributes) => {
    const raw = `${JSON.stringify({ method: 'PUT', uri: `/v1/object/${oid}`, body: { attributes } })}\n`
    return server.send('POST', fd.at('/v1/object'), { raw, headers: { 'content-type': 'application/x-ndjson' } })
  },
}

/** Values of collections and references that are kept as links: an object, and those that hold nothing. */
function linkValues(other: string): [string, unknown][] {
  const kinds = ['children', 'tags', 'tagged', 'some', 'tree']
  return [
    ...kinds.flatMap((name): [string, unknown][] => [
      [name, [other]],
      [name, { action: 'add', elements: [other] }],
      [name, { action: 'remove', elements: [other] }],
      [name, []],
    ]),
    ['named', { a: other }],
    ['named', { a: other }],
    ['named', {}],
    ...['parent', 'next', 'previous'].flatMap((name): [string, unknown][] => [
      [name, other],
      [name, other],
      [name, null],
      [name, null],
    ]),
  ]
}

rule('10.6.10', 'is evaluated at changes of links, too, at the object that a request changes', async () => {
  await fd.define(node)
  for (const [way, change] of Object.entries(ways)) {
    const [oid, other] = [await fd.create('Node'), await fd.create('Node')]
    for (const [i, [name, value]] of linkValues(other).entries()) {
      const reply = await change(oid, { [name]: value })
      expect([reply.status < 300, reply.text.includes('"error"')], reply.text).toEqual([true, false])
      expect(await versionOf(oid), `${way}: ${name} ${JSON.stringify(value)}`).toBe(i + 1)
    }
    expect(await versionOf(other), way).toBe(0)
  }
})

rule('10.6.10', 'is evaluated once by a statement that changes links, and not at the other side', async () => {
  await fd.define(node)
  const [a, b, c] = [
    await fd.create('Node', { name: 'a' }),
    await fd.create('Node', { name: 'b' }),
    await fd.create('Node', { name: 'c' }),
  ]
  const versions = async () => [await versionOf(a), await versionOf(b), await versionOf(c)]
  const statements: [string, number[]][] = [
    [`UPDATE Node WHERE name = 'a' SET tags TO SET{${b}}`, [1, 0, 0]],
    [`UPDATE Node WHERE name = 'a' ADD SET{${b}} TO tags`, [2, 0, 0]],
    [`UPDATE Node WHERE name = 'a' REMOVE SET{${c}} FROM some`, [3, 0, 0]],
    [`UPDATE Node WHERE name = 'a' CLEAR children`, [4, 0, 0]],
    [`UPDATE Node WHERE name = 'a' SET children TO LIST{${b}, ${c}}, tags TO SET{}`, [5, 0, 0]],
    [`UPDATE Node WHERE name = 'b' OR name = 'c' SET parent TO ${a}`, [5, 1, 1]],
    [`UPDATE Node WHERE name = 'a' OR name = 'b' SET next TO ${c}`, [6, 2, 1]],
    [`UPDATE Node WHERE name = 'a' SET next TO ${b}; UPDATE Node WHERE name = 'b' CLEAR previous`, [7, 3, 1]],
    [`UPDATE Node WHERE name = 'c' SET double TO 2, name TO 'c'`, [7, 3, 2]],
  ]
  for (const [text, expected] of statements) {
    const reply = await query(text)
    expect(reply.status, reply.text).toBe(200)
    expect(await versions(), text).toEqual(expected)
  }
})

rule('10.6.10', 'is not evaluated by a value of a computed attribute alone, which has no effect', async () => {
  await fd.define(node)
  const oid = await fd.create('Node')
  await fd.update(oid, { double: 0 })
  expect(await versionOf(oid)).toBe(0)
})

rule(
  ['10.6.9', '10.6.10'],
  'expressions of values do not depend on each other by way of computed attributes',
  async () => {
    const integer = (more: object) => ({ logicalType: 'integer', ...more })
    const computed = (expression: string) => integer({ computed: { expression } })
    const [seven, c] = [{ expression: '7' }, { expression: 'c + 1' }]
    const wrong: Parameters<typeof classOf>[1][] = [
      { a: integer({ default: c }), b: integer({ default: seven }), c: computed('b + 1') },
      {
        a: integer({ default: c }),
        b: integer({ default: seven }),
        c: computed('d + 1'),
        d: computed('x + b'),
        x: 'integer',
      },
      { a: integer({ default: c }), c: computed('a + 1') },
      { a: integer({ onUpdate: c }), b: integer({ onUpdate: seven }), c: computed('a + b') },
    ]
    for (const attributes of wrong) {
      const reply = await fd.putSchema(classOf('A', attributes))
      expectProblem(reply, 422, 'InvalidDefinition')
      const field = 'onUpdate' in (attributes.a as object) ? 'onUpdate' : 'default'
      expect(reply.json.errors[0].pointer, JSON.stringify(attributes)).toBe(`/0/attributes/0/${field}`)
      expect(reply.json.message).toMatch(
        new RegExp(
          `^Class A, attribute a, ${field}: by way of c it depends on attribute [ab], which .*its ${field}\\.$`,
        ),
      )
    }
    const part = classOf('Part', { x: integer({ default: seven }), y: computed('x + 1') }, embedded)
    const whole = classOf('Whole', {
      part: { logicalType: 'object', class: 'Part' },
      a: integer({ default: { expression: 'part.y' } }),
    })
    expectProblem(await fd.putSchema(part, whole), 422, 'InvalidDefinition')
    const b = { b: integer({ default: 7 }), c: computed('b + 1') }
    await fd.define(
      classOf('B', {
        a: integer({ default: c, onUpdate: { expression: 'a + c' } }),
        ...b,
        d: integer({ default: seven }),
      }),
    )
    expect(await fd.read(await fd.create('B'))).toMatchObject({ a: 9, b: 7, c: 8, d: 7 })
    const changes = [
      { attributeName: 'b', default: seven },
      { attributeName: 'c', computed: { expression: 'd + 1' } },
    ]
    for (const change of changes) {
      const reply = await server.put(fd.at('/v1/schema/B'), { attributesToConstrain: [change] })
      expectProblem(reply, 422, 'InvalidDefinition')
      expect(reply.json.errors[0].pointer).toMatch(/^\/attributesToConstrain\/0\/(default|computed)$/)
    }
  },
)
