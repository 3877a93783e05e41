/** Changes of what stored computed attributes are computed of, over HTTP (contract 10.6.25, 10.6.26). */
import { describe, expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
async function rows(text: string): Promise<Loose> {
  const reply = await query(text)
  expect(reply.status, reply.text).toBe(200)
  return reply.json
}
const computed = (logicalType: string, expression: string, isStored = true) => ({
  logicalType,
  computed: { expression, ...(isStored ? { isStored } : {}) },
})
const alter = (cls: string, body: object, more = ''): Promise<Reply> => {
  return server.put(`${fd.at(`/v1/schema/${cls}`)}${more}`, body)
}
const redefine = (cls: string, attributeName: string, expression: string, isStored = true): Promise<Reply> => {
  return alter(cls, { attributesToConstrain: [{ attributeName, computed: { expression, isStored } }] })
}
async function redefined(...change: Parameters<typeof redefine>): Promise<void> {
  const reply = await redefine(...change)
  expect(reply.status, reply.text).toBe(201)
}
async function verified(): Promise<void> {
  const reply = await server.post(fd.at('/v1/tool'), { tool: 'Verify' })
  expect(reply.json).toMatchObject({ returnCode: 0 })
}
const of = (cls: string) => ({ logicalType: 'object', class: cls })
const integers = { a: 'integer', total: computed('integer', 'a + 1') }

describe('another expression', () => {
  rule('10.6.25', 'gives existing objects another value, on every way to read them', async () => {
    await fd.define(classOf('A', { ...integers, other: 'integer' }), classOf('B', {}, { superClass: 'A' }))
    const [oid, sub] = [await fd.create('A', { a: 1 }), await fd.create('B', { a: 2 })]
    const before = await server.get(fd.at(`/v1/object/${oid}`))
    await redefined('A', 'total', 'a * 10')
    expect(await fd.read(oid)).toMatchObject({ total: 10 })
    expect(await fd.read(sub)).toMatchObject({ total: 20 })
    expect(await rows('FROM A ORDER BY total RETURN total')).toEqual([{ total: 10 }, { total: 20 }])
    expect(await rows('FROM A WHERE total = 20 RETURN *')).toMatchObject([{ a: 2, total: 20 }])
    expect(await rows('FROM A RETURN SUM(total) AS t')).toEqual([{ t: 30 }])
    expect((await server.get(fd.at(`/v1/object/${oid}`))).headers.etag).not.toBe(before.headers.etag)
    await verified()
    await fd.update(oid, { other: 5 })
    expect(await fd.read(oid)).toMatchObject({ a: 1, other: 5, total: 10 })
    await fd.update(sub, { a: 3, total: 30 })
    expect(await fd.read(sub)).toMatchObject({ total: 30 })
    await verified()
  })

  rule('10.6.25', 'neither makes an attribute computed nor takes its expression away', async () => {
    await fd.define(classOf('A', integers))
    const oid = await fd.create('A', { a: 1 })
    const changes: Record<string, unknown> = { total: null, a: { expression: '7' } }
    for (const [attributeName, one] of Object.entries(changes)) {
      const problem = await alter('A', { attributesToConstrain: [{ attributeName, computed: one }] })
      expectProblem(problem, 422, 'InvalidDefinition')
      expect(problem.json.errors[0].pointer).toBe('/attributesToConstrain/0/computed')
    }
    expect((await query('UPDATE SCHEMA {ALTER CLASS A {ALTER a {Computed: (8)}}}')).status).toBe(422)
    expect(await fd.read(oid)).toMatchObject({ a: 1, total: 2 })
  })

  rule('10.6.25', 'in DO', async () => {
    await fd.define(classOf('A', integers))
    const oid = await fd.create('A', { a: 1 })
    await rows('UPDATE SCHEMA {ALTER CLASS A {ALTER total {Computed: (a + 7), Stored}}}')
    expect(await fd.read(oid)).toMatchObject({ total: 8 })
    await verified()
    const same = { attributeName: 'total', computed: { expression: ' a + 7', isStored: true } }
    const dry = await alter('A', { attributesToConstrain: [same] }, '&dryRun=true')
    expect(dry.json).toMatchObject({ objects: 0 })
  })

  rule('10.6.25', 'may be stored or not, before and after', async () => {
    await fd.define(classOf('A', integers))
    const oid = await fd.create('A', { a: 1 })
    await redefined('A', 'total', 'a + 1', false)
    const other = await fd.create('A', { a: 1 })
    await redefined('A', 'total', 'a + 1', true)
    for (const one of [oid, other]) expect(await fd.read(one)).toMatchObject({ total: 2 })
    await verified()
    await redefined('A', 'total', 'a + 2', false)
    for (const one of [oid, other]) expect(await fd.read(one)).toMatchObject({ total: 3 })
    await redefined('A', 'total', 'a + 2', true)
    for (const one of [oid, other]) expect(await fd.read(one)).toMatchObject({ total: 3 })
    await fd.index('byTotal', 'A', false, 'total')
    expect(await rows('FROM A WHERE total = 3 RETURN a')).toHaveLength(2)
    expectProblem(await redefine('A', 'total', 'a + 2', false), 409, 'AttributeInUse')
    expect(await rows('FROM A WHERE total = 3 RETURN a')).toHaveLength(2)
    await verified()
  })

  rule('10.6.25', 'changes what is computed of the attribute, in embedded objects too', async () => {
    await fd.define(
      classOf(
        'P',
        {
          double: computed('integer', 'whole * 2'),
          x: 'integer',
          half: computed('integer', 'x + 1', false),
          whole: computed('integer', 'half * 2'),
        },
        embedded,
      ),
      classOf('A', {
        p: of('P'),
        ps: list(of('P')),
        sum: computed('integer', 'p.whole + 100'),
        more: computed('integer', 'sum + 1000'),
      }),
    )
    const oid = await fd.create('A', { p: { x: 1 }, ps: [{ x: 2 }, { x: 3 }] })
    expect(await fd.read(oid)).toMatchObject({ p: { whole: 4 }, sum: 104, more: 1104 })
    await fd.index('byWhole', 'A', false, 'p.whole')
    await fd.index('byMore', 'A', true, 'more')
    await redefined('P', 'half', 'x + 2', false)
    const expected = {
      p: { double: 12, half: 3, whole: 6 },
      ps: [{ double: 16, whole: 8 }, { whole: 10 }],
      sum: 106,
      more: 1106,
    }
    expect(await fd.read(oid)).toMatchObject(expected)
    expect(await rows('FROM A WHERE p.whole = 6 RETURN more')).toEqual([{ more: 1106 }])
    expect(await rows('FROM A WHERE more = 1106 RETURN sum')).toEqual([{ sum: 106 }])
    expect(await rows('FROM A WHERE more = 1104 OR p.whole = 4 RETURN sum')).toEqual([])
    await verified()
    await fd.update(oid, { ps: { action: 'add', elements: [{ x: 4 }] } })
    expect((await fd.read(oid)).ps).toMatchObject([{ whole: 8 }, { whole: 10 }, { whole: 12 }])
    await redefined('P', 'whole', 'half * 3')
    expect(await fd.read(oid)).toMatchObject({ p: { whole: 9 }, ps: [{ whole: 12 }, {}, {}], sum: 109, more: 1109 })
    expect(await rows('FROM A WHERE p.whole = 9 AND more = 1109 RETURN sum')).toEqual([{ sum: 109 }])
    await verified()
  })

  rule('10.6.25', 'may lead to other objects', async () => {
    await fd.define(
      classOf('B', { name: 'string' }),
      classOf('A', { b: reference('B'), c: reference('B'), one: { ...reference('B'), ...computed('reference', 'b') } }),
    )
    const [b, c] = [await fd.create('B', { name: 'b' }), await fd.create('B', { name: 'c' })]
    const oid = await fd.create('A', { b, c })
    expect(await rows('FROM A RETURN one.name AS n')).toEqual([{ n: 'b' }])
    await redefined('A', 'one', 'c')
    expect(await fd.read(oid)).toMatchObject({ one: c })
    expect(await rows('FROM A RETURN one.name AS n')).toEqual([{ n: 'c' }])
    expect(await rows("FROM A WHERE one.name = 'c' RETURN one")).toEqual([{ one: c }])
    expect(await rows("MATCH path = (:A)-[:one]->(:B {name = 'c'}) RETURN path")).toHaveLength(1)
    await verified()
  })
})

describe('indexes and checks', () => {
  rule('10.6.26', 'have the new values as keys, each of which is unique', async () => {
    await fd.define(classOf('A', { a: 'integer', total: { ...computed('integer', 'a + 1'), isUnique: true } }))
    await fd.index('byBoth', 'A', false, 'a', 'total')
    const oids = [await fd.create('A', { a: 1 }), await fd.create('A', { a: 2 })]
    const same = {
      attributesToConstrain: [{ attributeName: 'total', computed: { expression: 'a / 3', isStored: true } }],
    }
    for (const more of ['', '&dryRun=true']) expectProblem(await alter('A', same, more), 409, 'UniqueViolation')
    expect(await rows('FROM A WHERE total = 3 RETURN a')).toEqual([{ a: 2 }])
    const other = {
      attributesToConstrain: [{ attributeName: 'total', computed: { expression: 'a * 3', isStored: true } }],
    }
    const dry = await alter('A', other, '&dryRun=true')
    expect(dry.json).toMatchObject({ indexesRebuilt: expect.arrayContaining(['A.total', 'byBoth']), objects: 2 })
    expect((await alter('A', other)).status).toBe(201)
    expect(await rows('FROM A WHERE total = 3 RETURN a')).toEqual([{ a: 1 }])
    expect(await rows('FROM A WHERE a = 2 AND total = 6 RETURN a')).toEqual([{ a: 2 }])
    await fd.update(oids[1] as string, { a: 5 })
    expect(await rows('FROM A WHERE total = 15 RETURN a')).toEqual([{ a: 5 }])
    expect(await rows('FROM A WHERE total = 6 RETURN a')).toEqual([])
    expectProblem(await fd.postObject('A', { a: 5 }), 409, 'UniqueViolation')
    await verified()
    await fd.remove(oids[0] as string)
    await verified()
  })

  rule('10.6.26', 'in a transaction that also makes objects', async () => {
    await fd.define(classOf('A', { a: 'integer', total: { ...computed('integer', 'a + 1'), isUnique: true } }))
    await fd.create('A', { a: 1 })
    await rows(
      'CREATE A {a: 2}; UPDATE SCHEMA {ALTER CLASS A {ALTER total {Computed: (a * 3), Stored}}}; CREATE A {a: 3}',
    )
    expect(await rows('FROM A WHERE total IN (3, 6, 9) ORDER BY total RETURN total')).toHaveLength(3)
    expect(await rows('FROM A WHERE total = 6 RETURN a')).toEqual([{ a: 2 }])
    await verified()
  })

  rule('10.6.26', 'hold for the new values', async () => {
    for (const isStored of [true, false]) {
      const cls = isStored ? 'A' : 'B'
      const checks = [{ name: 'small', expression: 'total < 10' }]
      await fd.define(classOf(cls, { a: 'integer', total: computed('integer', 'a + 1', isStored) }, { checks }))
      const oid = await fd.create(cls, { a: 2 })
      const reply = await redefine(cls, 'total', 'a * 10', isStored)
      expectProblem(reply, 409, 'ObjectsViolateConstraint')
      expect(reply.json.violations).toMatchObject([{ constraint: 'checks', checkName: 'small', oids: [oid] }])
      expect(await fd.read(oid)).toMatchObject({ total: 3 })
      await redefined(cls, 'total', 'a * 4', isStored)
      expect(await fd.read(oid)).toMatchObject({ total: 8 })
    }
    await verified()
  })

  rule('10.6.26', 'have the new values where the type of what they are computed of changes', async () => {
    await fd.define(classOf('A', { a: 'integer', half: computed('real', 'a / 2') }))
    const oid = await fd.create('A', { a: 3 })
    expect(await fd.read(oid)).toMatchObject({ half: 1 })
    await fd.index('byHalf', 'A', false, 'half')
    const reply = await alter('A', { attributesToChange: [{ attributeName: 'a', logicalType: 'real' }] })
    expect(reply.status, reply.text).toBe(201)
    expect(await fd.read(oid)).toMatchObject({ half: 1.5 })
    expect(await rows('FROM A WHERE half = 1.5 RETURN a')).toEqual([{ a: 3 }])
    await verified()
  })
})
