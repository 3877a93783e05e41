/** Objects, over HTTP. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, embedded, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'objects', '--fd', 'fresh'] })
  fd = new FdUnderTest(server, 'objects')
  await fd.define(
    classOf('Address', { city: 'string', code: 'integer', tags: list('string') }, embedded),
    classOf('Person', {
      name: 'string',
      age: 'integer',
      home: { logicalType: 'object', class: 'Address' },
      friend: reference('Person'),
      notes: list('string'),
      known: list(reference('Person')),
      liked: set(reference('Person')),
      ranked: list(reference('Person'), 'TreeListOfReferences'),
      byNick: { logicalType: 'map', elementSpecification: reference('Person') },
    }),
    classOf('Staff.Employee', { salary: 'real', name: 'string' }, { superClass: 'Person' }),
    classOf('Other', { n: 'integer' }),
  )
})
afterAll(() => server.remove())

describe('an array of creations', () => {
  const post = (...bodies: unknown[]) => server.post(fd.at('/v1/object'), bodies)
  const person = (name: string, more: object = {}) => ({ class: 'Person', attributes: { name, ...more } })
  const count = async (cls: string) =>
    (await server.post(fd.at('/v1/query'), { query: `FROM ${cls} RETURN COUNT() AS n` })).json[0].n

  rule('2.2.3', 'is one commit, and answers what single requests would, in their order', async () => {
    const friend = await fd.create('Person', { name: 'Ann' })
    const reply = await post(person('Bob', { friend }), { class: 'Other' }, person('Cid', { notes: ['x'] }))
    expect(reply.status, reply.text).toBe(201)
    expect(reply.headers.location).toBeUndefined()
    const oids = reply.json.map(({ __identifier__: oid }: { __identifier__: string }) => oid)
    expect(reply.json).toEqual(oids.map((oid: string) => ({ __identifier__: oid, uri: `/v1/object/${oid}` })))
    const [bob, other, cid] = await Promise.all(oids.map((oid: string) => fd.read(oid)))
    expect(bob).toMatchObject({ __class__: 'Person', name: 'Bob', friend })
    expect([other, cid]).toMatchObject([
      { __class__: 'Other', n: 0 },
      { name: 'Cid', notes: ['x'] },
    ])
    expect(await post()).toMatchObject({ status: 201, json: [] })
  })

  rule('2.2.18', 'has errors of its elements, each in its place, and is then not carried out', async () => {
    await fd.define(classOf('Coin', { n: 'integer' }))
    await fd.index('coinByN', 'Coin', true, 'n')
    const first = await fd.create('Coin', { n: 7 })
    const before = await count('Person')
    const cases: readonly (readonly [unknown, number, string, string])[] = [
      [person('x', { age: 'y' }), 400, 'MalformedValue', '/1/attributes/age'],
      [person('x', { age: 2 ** 40 }), 422, 'ValueNotAllowed', '/1/attributes/age'],
      [person('x', { home: { tags: ['ok', 7] } }), 400, 'MalformedValue', '/1/attributes/home/tags/1'],
      [person('x', { nam: 1 }), 422, 'UnknownAttribute', '/1/attributes/nam'],
      [person('x', { friend: '3-3-9-9' }), 422, 'InvalidReference', '/1/attributes/friend'],
      [person('x', { known: [first] }), 422, 'InvalidReference', '/1/attributes/known'],
      [{ class: 'Nobody' }, 422, 'UnknownClass', '/1/class'],
      [{ class: 'Address' }, 422, 'ClassNotReferenceable', '/1/class'],
      [{ class: 'Coin', attributes: { n: 7 } }, 409, 'UniqueViolation', '/1'],
      [{ attributes: {} }, 400, 'MalformedRequest', '/1'],
      [{ class: '' }, 400, 'MalformedRequest', '/1/class'],
      [{ class: 'Coin', attributes: [] }, 400, 'MalformedRequest', '/1/attributes'],
      [{ class: 'Coin', extra: 1 }, 400, 'UnknownField', '/1/extra'],
      [{ class: 'Coin', attributes: { ['x'.repeat(10_000)]: 1 } }, 422, 'UnknownAttribute', '/1/attributes'],
      [5, 400, 'MalformedRequest', '/1'],
      [[], 400, 'MalformedRequest', '/1'],
    ]
    for (const [element, status, type, pointer] of cases) {
      const reply = await post(person('first'), element, person('last'))
      expectProblem(reply, status, type)
      expect(reply.json.errors[0].pointer).toBe(pointer)
    }
    const twice = await post({ class: 'Coin', attributes: { n: 8 } }, person('x'), {
      class: 'Coin',
      attributes: { n: 8 },
    })
    const told = expectProblem(twice, 409, 'UniqueViolation')
    expect(told).toMatch(/n 8 is already held by object [\d-]+, which the same request creates or changes \(/)
    expect(twice.json.errors[0].pointer).toBe('/2')
    expect([await count('Person'), await count('Coin')]).toEqual([before, 1])
    const large = Array.from({ length: 2_500 }, (_, i) => ({
      class: 'Coin',
      attributes: { n: i === 2_400 ? 7 : 100 + i },
    }))
    const late = await post(...large)
    expectProblem(late, 409, 'UniqueViolation')
    expect(late.json.errors[0].pointer).toBe('/2400')
    large.splice(2_400, 1)
    expect((await post(...large)).json).toHaveLength(2_499)
    expect(await count('Person')).toBe(before)
  })

  rule(['2.2.3', '7.1.3', '7.1.5'], 'is an operation of transactions, in which it has no id', async () => {
    const operation = (body: unknown, more: object = {}) => ({ method: 'POST', uri: '/v1/object', body, ...more })
    const run = (...operations: object[]) => server.post(fd.at('/v1/transaction'), operations)
    const ann = '$' + '{ann}'
    const reply = await run(
      operation(person('Ann'), { id: 'ann' }),
      operation([person('Bob', { friend: ann }), { class: 'Person' }]),
    )
    expect(reply.status, reply.text).toBe(200)
    const [single, { result }] = reply.json
    expect(result).toHaveLength(2)
    expect((await fd.read(result[0].__identifier__)).friend).toBe(single.result.__identifier__)
    const failing = await run(operation(person('Ann')), operation([person('Bob'), person('Cid', { age: 'y' })]))
    expectProblem(failing, 400, 'MalformedValue')
    expect(failing.json).toMatchObject({ operation: 2, errors: [{ pointer: '/1/body/1/attributes/age' }] })
    expectProblem(await run(operation([person('Ann')], { id: 'ann' })), 400, 'MalformedRequest')
  })

  rule('2.3.1', 'is listed as a statement', async () => {
    expect((await post(person('Ann'))).headers['statement-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect((await server.post(fd.at('/v1/object'), person('Ann'))).headers['statement-id']).toBeUndefined()
  })
})

describe('create, read, update, delete', () => {
  rule('4.1.1', 'POST answers with OID, uri and Location', async () => {
    const reply = await fd.postObject('Person', { name: 'Ann' })
    expect(reply.status).toBe(201)
    const { __identifier__, uri } = reply.json
    expect(uri).toBe(`/v1/object/${__identifier__}`)
    expect(reply.headers.location).toBe(uri)
    expect(Object.keys(reply.json)).toEqual(['__identifier__', 'uri'])
  })

  rule(['4.1.2', '4.1.5'], 'defaults, and the form of a representation', async () => {
    const oid = await fd.create('Staff.Employee', { salary: 1.5 })
    const { text } = await server.get(fd.at(`/v1/object/${oid}`))
    expect(text).toBe(
      `{"__class__":"Staff.Employee","__identifier__":"${oid}","Person::name":"","age":0,` +
        '"home":{"city":"","code":0,"tags":[]},"friend":"0-0-0-0","notes":[],"known":[],"liked":[],"ranked":[],' +
        '"byNick":{},"salary":1.5,"name":""}',
    )
    expect((await server.post(fd.at('/v1/object'), { class: 'Person' })).status).toBe(201)
  })

  rule('4.1.3', 'only referenceable classes are created', async () => {
    expectProblem(await fd.postObject('Address'), 422, 'ClassNotReferenceable')
    expectProblem(await fd.postObject('Nobody'), 422, 'UnknownClass')
    const number = (await server.get(fd.at('/v1/schema/Person'))).json.classNumber
    expect((await fd.postObject(number)).status).toBe(201)
  })

  rule('4.1.4', 'unknown attributes, wrong types, impossible values', async () => {
    expect(expectProblem(await fd.postObject('Person', { nam: 'x' }), 422, 'UnknownAttribute')).toContain('name')
    expectProblem(await fd.postObject('Person', { name: 5 }), 400, 'MalformedValue')
    expectProblem(await fd.postObject('Person', { age: 2 ** 40 }), 422, 'ValueNotAllowed')
    const reply = await fd.postObject('Person', { home: { tags: ['ok', 7] } })
    expectProblem(reply, 400)
    expect(reply.json.errors[0].pointer).toBe('/attributes/home/tags/1')
    expectProblem(await fd.postObject('Person', { __identifier__: '3-3-1-1' }), 422)
    for (const attributes of [null, 5, 'x', []]) expectProblem(await fd.postObject('Person', attributes), 400)
  })

  rule(['4.1.6', '4.1.10'], 'PUT changes what it names; parts of embedded objects are merged', async () => {
    const oid = await fd.create('Person', { name: 'Bob', age: 3, home: { city: 'Rome', code: 9, tags: ['a'] } })
    await fd.update(oid, { age: 4, home: { code: 10 } })
    expect(await fd.read(oid)).toMatchObject({ name: 'Bob', age: 4, home: { city: 'Rome', code: 10, tags: ['a'] } })
    await fd.update(oid, { home: { tags: { action: 'add', elements: ['b'] } } })
    expect((await fd.read(oid)).home).toEqual({ city: 'Rome', code: 10, tags: ['a', 'b'] })
    await fd.update(oid, { home: { action: 'override', city: 'Oslo' } })
    expect((await fd.read(oid)).home).toEqual({ city: 'Oslo', code: 0, tags: [] })
    await fd.update(oid, {})
    expectProblem(await server.put(fd.at(`/v1/object/${oid}`), {}), 400)
    expectProblem(await fd.putObject('3-3-9-9', { age: 1 }), 404, 'ObjectNotFound')
    expectProblem(await fd.putObject('3-3', { age: 1 }), 400, 'MalformedOid')
  })

  rule('4.1.7', 'what was read can be sent back', async () => {
    const oid = await fd.create('Staff.Employee', { name: 'Cid', 'Person::name': 'hidden', notes: ['x'] })
    const read = await fd.read(oid)
    await fd.update(oid, read)
    expect(await fd.read(oid)).toEqual(read)
    const body = { class: 'Staff.Employee', attributes: { ...read, class: 'Staff.Employee' } }
    expect((await server.put(fd.at(`/v1/object/${oid}`), body)).status).toBe(204)
    expectProblem(await fd.putObject(oid, { ...read, __class__: 'Person' }), 422)
    expectProblem(await fd.putObject(oid, { ...read, __identifier__: '3-3-1-1' }), 422)
    expectProblem(await server.put(fd.at(`/v1/object/${oid}`), { class: 'Other', attributes: {} }), 422)
  })

  rule(['4.1.8', '4.4.7'], 'dangling references stay, and are not checked again', async () => {
    const friend = await fd.create('Person')
    const oid = await fd.create('Person', { friend, known: [friend], liked: [friend], byNick: { x: friend } })
    await fd.remove(friend)
    const read = await fd.read(oid)
    expect(read).toMatchObject({ friend, known: [friend], liked: [friend], byNick: { x: friend } })
    await fd.update(oid, { friend, known: [friend], age: 7 })
    expectProblem(await fd.putObject(await fd.create('Person'), { friend }), 422, 'InvalidReference')
  })

  rule('4.1.9', 'DELETE is for good', async () => {
    const oid = await fd.create('Person')
    await fd.remove(oid)
    expectProblem(await server.get(fd.at(`/v1/object/${oid}`)), 404, 'ObjectNotFound')
    expectProblem(await server.delete(fd.at(`/v1/object/${oid}`)), 404, 'ObjectNotFound')
    expectProblem(await fd.putObject(oid, { age: 1 }), 404, 'ObjectNotFound')
    for (const bad of ['1', 'a-b-c-d', '%20']) {
      expectProblem(await server.delete(fd.at(`/v1/object/${bad}`)), 400, 'MalformedOid')
    }
  })

  rule(['4.1.11', '4.1.16'], 'what an OID is', async () => {
    const malformed = [
      '',
      '1-2-3',
      '1-2-3-4-5',
      '03-3-1-1',
      '3-3-1-01',
      '+3-3-1-1',
      '3-3-1-1 ',
      '-1-1-1-1',
      '1.0-1-1-1',
    ]
    const outside = ['65536-1-1-1', '1-32768-1-1', '1-1-65536-1', '1-1-1-65536', '99999999999999999999-1-1-1']
    for (const oid of [...malformed, ...outside].filter((text) => text !== '')) {
      const path = fd.at(`/v1/object/${encodeURIComponent(oid)}`)
      expectProblem(await server.get(path), 400, 'MalformedOid')
      expectProblem(await server.delete(path), 400, 'MalformedOid')
      expectProblem(await server.put(path, { attributes: {} }), 400, 'MalformedOid')
    }
    for (const oid of ['0-0-0-0', '65535-32767-65535-65535', '3-3-0-0', '1-1-1-1']) {
      const path = fd.at(`/v1/object/${oid}`)
      expectProblem(await server.get(path), 404, 'ObjectNotFound')
      expectProblem(await server.delete(path), 404, 'ObjectNotFound')
      expectProblem(await server.put(path, { attributes: {} }), 404, 'ObjectNotFound')
    }
    for (const friend of [...malformed, ...outside]) {
      expectProblem(await fd.postObject('Person', { friend }), 422, 'ValueNotAllowed')
    }
  })

  rule(['4.1.14', '4.1.15'], 'OIDs begin at 3-3-1-1, stay, and are never reused', async () => {
    const fresh = new FdUnderTest(server, 'fresh')
    await fresh.define(classOf('A', { n: 'integer' }), classOf('B', { n: 'integer' }))
    expect(await fresh.create('A')).toBe('3-3-1-1')
    expect(await fresh.create('A')).toBe('3-3-1-2')
    await fresh.remove('3-3-1-2')
    expect(await fresh.create('A')).toBe('3-3-1-3')
    expect((await fresh.create('B')).startsWith('3-4-')).toBe(true)
    await fresh.define(classOf('A', { later: 'string' }), classOf('Sub', {}, { superClass: 'A' }))
    await fresh.update('3-3-1-1', { later: 'x' })
    expect(await fresh.read('3-3-1-1')).toMatchObject({ __identifier__: '3-3-1-1', later: 'x' })
    const seen = new Set(['3-3-1-1', '3-3-1-2', '3-3-1-3'])
    for (let i = 0; i < 50; i++) {
      const oid = await fresh.create('A')
      expect(seen).not.toContain(oid)
      seen.add(oid)
      await fresh.remove(oid)
    }
  })

  rule('4.1.12', 'there is no listing', async () => {
    expectProblem(await server.get(fd.at('/v1/object')), 405)
  })
})

describe('inheritance', () => {
  rule(['4.2.1', '4.2.2', '4.2.3'], 'inherited and hidden attributes', async () => {
    const oid = await fd.create('Staff.Employee', { name: 'near', 'Person::name': 'far', age: 5 })
    expect(await fd.read(oid)).toMatchObject({ name: 'near', 'Person::name': 'far', age: 5 })
    await fd.update(oid, { 'Staff.Employee::name': 'nearer', 'Person::age': 6 })
    expect(await fd.read(oid)).toMatchObject({ name: 'nearer', 'Person::name': 'far', age: 6 })
    await fd.update(oid, { 'Employee::name': 'simple' })
    expect((await fd.read(oid)).name).toBe('simple')
    expectProblem(await fd.putObject(oid, { 'Other::n': 1 }), 422, 'UnknownAttribute')
    expectProblem(await fd.putObject(oid, { age: 1, 'Person::age': 2 }), 422, 'ValueNotAllowed')
    expect((await fd.read(oid)).age).toBe(6)
    const friend = await fd.create('Person', { friend: oid })
    expect((await fd.read(friend)).friend).toBe(oid)
  })

  rule('4.1.19', 'an attribute under two names', async () => {
    const oid = await fd.create('Staff.Employee', { name: 'one', age: 1 })
    for (const attributes of [
      { name: 'two', 'Employee::name': 'two' },
      { 'Staff.Employee::name': 'two', 'Employee::name': 'three' },
      { age: 2, 'Person::age': 3 },
    ]) {
      expectProblem(await fd.putObject(oid, attributes), 422)
      expectProblem(await fd.postObject('Staff.Employee', attributes), 422)
    }
    expect(await fd.read(oid)).toMatchObject({ name: 'one', age: 1 })
    await fd.update(oid, { name: 'near', 'Person::name': 'far' })
  })

  rule('4.2.4', 'a superclass that may be several', async () => {
    await fd.define(
      classOf('X.Base', { n: 'integer' }),
      classOf('Y.Base', { n: 'integer' }, { superClass: 'X.Base' }),
      classOf('Z.Leaf', { n: 'integer' }, { superClass: 'Y.Base' }),
    )
    const message = expectProblem(await fd.postObject('Z.Leaf', { 'Base::n': 1 }), 422, 'AmbiguousAttribute')
    for (const name of ['X.Base', 'Y.Base']) expect(message).toContain(name)
    const oid = await fd.create('Z.Leaf', { 'X.Base::n': 1, 'Y.Base::n': 2, n: 3 })
    const { __class__, __identifier__, ...attributes } = await fd.read(oid)
    expect(Object.entries(attributes)).toEqual([
      ['X.Base::n', 1],
      ['Y.Base::n', 2],
      ['n', 3],
    ])
    // Of the class that a request is about: a Y.Base has no X.Base but one.
    expect(await fd.read(await fd.create('Y.Base', { n: 5 }))).toMatchObject({ 'X.Base::n': 0, n: 5 })
  })

  rule('4.2.5', 'inherited and hidden attributes of embedded objects', async () => {
    await fd.define(
      classOf('Root', { a: 'integer', b: 'string' }, embedded),
      classOf('Twig', { a: 'integer' }, { ...embedded, superClass: 'Root' }),
      classOf('Tree', {
        twig: { logicalType: 'object', class: 'Twig' },
        twigs: list({ logicalType: 'object', class: 'Twig' }),
      }),
    )
    const oid = await fd.create('Tree', { twig: { a: 1, 'Root::a': 2, b: 'x' }, twigs: [{ a: 3 }, { 'Root::a': 4 }] })
    const read = await fd.read(oid)
    expect(read.twig).toEqual({ 'Root::a': 2, b: 'x', a: 1 })
    expect(read.twigs).toEqual([
      { 'Root::a': 0, b: '', a: 3 },
      { 'Root::a': 4, b: '', a: 0 },
    ])
    await fd.update(oid, { twig: { 'Root::a': 9 }, twigs: { action: 'remove', elements: [{ a: 3 }] } })
    expect(await fd.read(oid)).toMatchObject({ twig: { 'Root::a': 9, a: 1 }, twigs: [{ 'Root::a': 4 }] })
    await fd.update(oid, await fd.read(oid))
    expectProblem(await fd.putObject(oid, { twig: { 'Twig::c': 1 } }), 422, 'UnknownAttribute')
  })
})

describe('collections', () => {
  rule('4.3.1', 'the forms of a collection', async () => {
    const [a, b] = [await fd.create('Person'), await fd.create('Person')]
    const oid = await fd.create('Person', {
      notes: { elements: ['x'] },
      liked: { elements: [b, a] },
      byNick: {
        pairs: [
          { key: 'b', value: b },
          { key: 'a', value: a },
        ],
      },
    })
    expect(await fd.read(oid)).toMatchObject({ notes: ['x'], liked: [a, b], byNick: { a, b } })
    await fd.update(oid, { byNick: { pairs: a, action: b } })
    expect((await fd.read(oid)).byNick).toEqual({ action: b, pairs: a })
    for (const notes of [5, 'x', {}, { elements: 'x' }, { elements: [], other: 1 }, { action: 'mix', elements: [] }]) {
      expectProblem(await fd.putObject(oid, { notes }), 400)
    }
  })

  rule(['4.3.2', '4.3.3', '4.3.4'], 'override, add and remove', async () => {
    const [a, b, c] = [await fd.create('Person'), await fd.create('Person'), await fd.create('Person')]
    const oid = await fd.create('Person', {
      notes: ['x', 'y', 'x'],
      liked: [b],
      ranked: [a, b, a],
      known: [a, b, a],
      byNick: { a },
    })
    const act = async (action: string, lists: string[], oids: string[]) => {
      const elements = { action, elements: oids }
      await fd.update(oid, { notes: { action, elements: lists }, liked: elements, ranked: elements, known: elements })
    }
    await act('add', ['z'], [a, b])
    expect(await fd.read(oid)).toMatchObject({
      notes: ['x', 'y', 'x', 'z'],
      liked: [a, b],
      ranked: [a, b, a, a, b],
      known: [a, b, a, a, b],
    })
    await act('remove', ['x', 'nope'], [a, c])
    expect(await fd.read(oid)).toMatchObject({ notes: ['y', 'z'], liked: [b], ranked: [b, b], known: [b, b] })
    await act('override', [], [c])
    expect(await fd.read(oid)).toMatchObject({ notes: [], liked: [c], ranked: [c], known: [c] })
    await fd.update(oid, {
      byNick: {
        action: 'add',
        exists: 'ignore',
        pairs: [
          { key: 'c', value: c },
          { key: 'a', value: b },
        ],
      },
    })
    expect((await fd.read(oid)).byNick).toEqual({ a: b, c })
    await fd.update(oid, { byNick: { action: 'remove', elements: ['a', 'nope'] } })
    expect((await fd.read(oid)).byNick).toEqual({ c })
    await fd.update(oid, { byNick: { b } })
    expect((await fd.read(oid)).byNick).toEqual({ b })
    await fd.update(oid, { ranked: [a, c, b], liked: null, byNick: null })
    expect(await fd.read(oid)).toMatchObject({ ranked: [a, c, b], liked: [], byNick: {} })
  })
})

describe('references', () => {
  rule('4.4.1', 'a newly set reference names a fitting object', async () => {
    const other = await fd.create('Other')
    const oid = await fd.create('Person')
    for (const friend of ['3-3-60000-1', '9-9-9-9', other]) {
      for (const attributes of [
        { friend },
        { known: [friend] },
        { liked: [friend] },
        { ranked: [friend] },
        { byNick: { x: friend } },
      ]) {
        expectProblem(await fd.putObject(oid, attributes), 422, 'InvalidReference')
      }
    }
    const subclass = await fd.create('Staff.Employee')
    await fd.update(oid, { friend: subclass })
    await fd.update(oid, { friend: oid })
    expect((await fd.read(oid)).friend).toBe(oid)
  })
})
