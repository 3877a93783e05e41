/** Checks, and defaults and updates by expression, over HTTP (contract 10.6). */
import { describe, expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { openShop } from './own-roles-world.ts'
import { rule } from './rule.ts'
import type { Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const classNamed = async (name: string) => (await server.get(fd.at(`/v1/schema/${name}`))).json
const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
const check = (name: string, expression: string, message?: string) => ({
  name,
  expression,
  ...(message === undefined ? {} : { message }),
})

/** The names of the checks that a reply says are false. */
function broken(reply: Reply): string[] {
  expect([reply.status, reply.json.type], reply.text).toEqual([422, expect.stringContaining('ConstraintViolation')])
  return reply.json.errors.map((one: { constraint: string; checkName: string }) => `${one.constraint} ${one.checkName}`)
}

describe('checks', () => {
  const booking = classOf(
    'Booking',
    { from: 'date', until: 'date', seats: 'integer', tags: list('string') },
    {
      checks: [
        check('order', 'from <= until', 'A booking ends after it begins.'),
        check('room', 'seats > 0 AND COUNT(tags) < 3'),
      ],
    },
  )

  rule(['10.6.1', '10.6.2'], 'are shown, and refuse objects for which they are false', async () => {
    await fd.define(booking)
    expect((await classNamed('Booking')).checks).toEqual(booking.checks)
    const good = { from: '2024-01-01', until: '2024-01-02', seats: 2 }
    const oid = await fd.create('Booking', good)
    await fd.create('Booking', { ...good, until: null })
    const reply = await fd.postObject('Booking', { ...good, until: '2023-01-01', seats: 0 })
    expect(broken(reply)).toEqual(['checks order', 'checks room'])
    expect(reply.json.errors[0]).toMatchObject({
      pointer: '/attributes',
      className: 'Booking',
      message: 'check order: A booking ends after it begins.',
    })
    expect(reply.json.errors[1].message).toBe('check room: seats > 0 AND COUNT(tags) < 3 has to hold')
    expect(broken(await fd.putObject(oid, { until: '2020-01-01' }))).toEqual(['checks order'])
    expect(broken(await fd.putObject(oid, { tags: ['a', 'b', 'c'] }))).toEqual(['checks room'])
    expect(broken(await query(`UPDATE Booking SET seats TO -1`))).toEqual(['checks room'])
    expect(await fd.read(oid)).toMatchObject({ seats: 2, tags: [] })
  })

  rule('10.6.1', 'are at most 100, however they are added', async () => {
    const checks = Array.from({ length: 100 }, (_, i) => check(`c${i}`, `x <> ${i}`))
    await fd.define(classOf('A', { x: 'integer' }, { checks }))
    const one = check('more', 'x < 1000')
    expectProblem(await fd.putSchema(classOf('A', {}, { checks: [one] })), 422, 'InvalidDefinition')
    expectProblem(await query('UPDATE SCHEMA {ALTER CLASS A {ADD CHECK more: x < 1000}}'), 422, 'InvalidDefinition')
    const reply = await query('UPDATE SCHEMA {ALTER CLASS A {DROP CHECK c7, ADD CHECK more: x < 1000}}')
    expect(reply.status, reply.text).toBe(200)
  })

  rule('10.6.1', 'in DO say the same as in JSON', async () => {
    const text = `UPDATE SCHEMA { CREATE CLASS Booking {
      from: Date, CHECK order: from <= until MESSAGE 'A booking ends\\' later.', until: Date,
      seats: Integer, check: Boolean, CHECK room: seats > 0 } }`
    const reply = await query(text)
    expect(reply.status, reply.text).toBe(200)
    const shown = await classNamed('Booking')
    expect(shown.checks).toEqual([
      check('order', 'from <= until', "A booking ends' later."),
      check('room', 'seats > 0'),
    ])
    expect(shown.attributes.map((one: { attributeName: string }) => one.attributeName)).toEqual([
      'from',
      'until',
      'seats',
      'check',
    ])
    expect(broken(await fd.postObject('Booking', {}))).toEqual(['checks room'])
    const wrong = await query('UPDATE SCHEMA { CREATE CLASS B { a: Integer, CHECK x: b > 1 } }')
    expect(expectProblem(wrong, 422, 'InvalidDefinition')).toContain("class B has no attribute 'b'")
    expect(wrong.json).toMatchObject({ line: 1, column: 46 })
  })

  rule('10.6.3', 'are of classes that inherit, and of embedded objects wherever they are', async () => {
    const range = classOf(
      'Range',
      { low: 'integer', high: 'integer' },
      { ...embedded, checks: [check('order', 'low <= high')] },
    )
    const holder = {
      range: { logicalType: 'object', class: 'Range' },
      ranges: list({ logicalType: 'object', class: 'Range' }),
    }
    await fd.define(
      range,
      classOf('Base', { a: 'integer' }, { checks: [check('small', 'a < 10')] }),
      classOf('Sub', holder, { superClass: 'Base', checks: [check('within', 'a < range.high')] }),
    )
    const oid = await fd.create('Sub', { range: { high: 5 } })
    const reply = await fd.postObject('Sub', { a: 20, range: { low: 3, high: 2 }, ranges: [{}, { low: 1 }] })
    expect(broken(reply)).toEqual(['checks order', 'checks order', 'checks small', 'checks within'])
    expect(reply.json.errors.map((one: { pointer: string }) => one.pointer)).toEqual([
      ...['/attributes/range', '/attributes/ranges/1', '/attributes', '/attributes'],
    ])
    expect(reply.json.errors[0].className).toBe('Range')
    expect(broken(await fd.putObject(oid, { range: { low: 9 } }))).toEqual(['checks order'])
    expect(broken(await fd.putObject(oid, { a: 7 }))).toEqual(['checks within'])
  })

  rule('10.6.4', 'are held against changes of what they name', async () => {
    await fd.define(
      classOf(
        'A',
        { a: 'integer', b: 'integer', c: 'integer' },
        { checks: [check('x', 'a / b > 0'), check('y', 'c > -1')] },
      ),
    )
    const oid = await fd.create('A', { a: 1, b: 1 })
    await fd.update(oid, { b: 0 })
    expect(broken(await fd.putObject(oid, { a: -9, b: 2, c: -1 }))).toEqual(['checks x', 'checks y'])
    await fd.update(oid, { a: -9, c: 3 })
  })

  rule('1.5.14', 'take a bounded amount of memory for one object, and the limit is named', async () => {
    const checks = [check('other', 'j != k')]
    await fd.define(classOf('A', { j: 'json', k: 'json' }, { checks }))
    const create = (digits: number) => {
      const number = '7'.repeat(digits)
      const raw = `{"class": "A", "attributes": {"j": ${number}, "k": ${number}.0}}`
      return server.send('POST', fd.at('/v1/object'), { raw })
    }
    expect(broken(await create(100_000))).toEqual(['checks other'])
    const message = expectProblem(await create(500_000), 422, 'LimitExceeded')
    expect(message).toBe(
      'Class A, check other: The expression would take more than 1048576 bytes in memory for one object (expressionBytesMax): the texts, lists and json that it compares or makes are too long together.',
    )
  })

  rule('10.6.5', 'are made of what the object itself holds', async () => {
    await fd.define(classOf('Other', { a: 'integer' }))
    const attributes = { a: 'integer', r: reference('Other'), rs: list(reference('Other')), s: 'string' }
    const wrong = [
      ...[
        'a >',
        'b > 1',
        'a',
        '1',
        'r.a > 1',
        'ANY rs: a = 1',
        'NOW() > NOW()',
        'TODAY() > TODAY()',
        'RAND() > 0.5',
        "$$USER.name = 's'",
      ],
      ...[
        '$x > 1',
        'EXISTS(FROM Other)',
        '(FROM Other RETURN COUNT()) > 1',
        '$$ID = r',
        'CAST(r AS Other).a > 1',
        'SUM(a) > 1',
        ' ',
      ],
      `a > ${'1 + '.repeat(5_000)}1`,
    ]
    for (const expression of wrong) {
      const reply = await fd.putSchema(
        classOf('A', attributes, { checks: [check('ok', 'a > 1'), check('x', expression)] }),
      )
      expectProblem(reply, 422, 'InvalidDefinition')
      expect(reply.json.errors[0].pointer, expression).toBe('/0/checks/1/expression')
    }
    for (const checks of [
      {},
      [1],
      [{ name: 'a b', expression: 'a > 1' }],
      [check('x', 'a > 1'), check('x', 'a > 2')],
    ]) {
      const reply = await fd.putSchema(classOf('A', attributes, { checks }))
      expect([400, 422], reply.text).toContain(reply.status)
    }
    const base = classOf('Base', { a: 'integer' }, { checks: [check('x', 'a > 1')] })
    const sub = classOf('Sub', {}, { superClass: 'Base', checks: [check('x', 'a > 2')] })
    expectProblem(await fd.putSchema(base, sub), 422, 'InvalidDefinition')
    expectProblem(await server.get(fd.at('/v1/schema/A')), 404, 'ClassNotFound')
  })

  rule('10.6.6', 'follow renames, and go with what they name where that is asked for', async () => {
    const address = classOf('Address', { city: 'string' }, embedded)
    const a = { n: 'integer', m: 'integer', home: { logicalType: 'object', class: 'Address' } }
    const checks = [check('x', "Base::n > 0 OR home.city = 'n'"), check('y', 'm < 5')]
    await fd.define(address, classOf('Base', { n: 'integer' }), classOf('A', a, { superClass: 'Base', checks }))
    const put = (cls: string, body: object, more = '') => server.put(`${fd.at(`/v1/schema/${cls}`)}${more}`, body)
    const rename = (cls: string, originalName: string, newName: string) =>
      put(cls, { attributesToRename: [{ originalName, newName }] })
    for (const reply of [
      await rename('Base', 'n', 'number'),
      await rename('Address', 'city', 'select'),
      await put('Base', { classRename: 'Numbered' }),
    ])
      expect(reply.status, reply.text).toBe(201)
    expect((await classNamed('A')).checks[0].expression).toBe("`Numbered`::`number` > 0 OR home.`select` = 'n'")
    expect(broken(await fd.postObject('A', { m: 7 }))).toEqual(['checks x', 'checks y'])
    const m = { attributesToDelete: ['m'] }
    const refused = await put('A', m)
    expect(expectProblem(refused, 409, 'AttributeInUse')).toContain('check y')
    expect(refused.json.errors[0].pointer).toBe('/attributesToDelete/0')
    expectProblem(await put('Address', { attributesToDelete: ['select'] }), 409, 'AttributeInUse')
    const retyped = await put('A', { attributesToChange: [{ attributeName: 'm', logicalType: 'string' }] })
    expectProblem(retyped, 422, 'InvalidDefinition')
    const gone = await put('A', m, '&cascade=true')
    expect(gone.status, gone.text).toBe(201)
    expect((await classNamed('A')).checks.map((one: { name: string }) => one.name)).toEqual(['x'])
  })

  rule('10.6.7', 'listed again agree in what they give', async () => {
    const cls = (...checks: object[]) => classOf('A', { a: 'integer' }, { checks })
    await fd.define(cls(check('x', 'a > 1', 'm')))
    await fd.define(cls(check('x', ' a > 1 ', 'm')))
    expectProblem(await fd.putSchema(cls(check('x', 'a > 2', 'm'))), 409, 'ClassExists')
  })
})

describe('defaults', () => {
  const given = (expression: string) => ({ default: { expression } })

  rule('10.6.8', 'are worked out once a creation that leaves the attribute out', async () => {
    await fd.define(
      classOf('Order', {
        price: { logicalType: 'real', default: 2 },
        count: 'integer',
        total: { logicalType: 'real', ...given('price * count') },
        code: { logicalType: 'guid', ...given('GUID()') },
        day: { logicalType: 'date', ...given('TODAY()') },
        at: { logicalType: 'datetime', ...given('NOW()') },
        name: { logicalType: 'string', ...given("'order of ' + CAST(count AS String)"), minLength: 10 },
      }),
    )
    const shown = await classNamed('Order')
    expect(shown.attributes[2]).toMatchObject({ attributeName: 'total', default: { expression: 'price * count' } })
    const first = await fd.read(await fd.create('Order', { count: 3 }))
    expect(first).toMatchObject({ total: 6, name: 'order of 3', day: first.at.slice(0, 10) })
    const second = await fd.read(await fd.create('Order', { count: 1, total: 7, name: 'a given name', day: null }))
    expect(second).toMatchObject({ total: 7, name: 'a given name', day: null })
    expect(second.code).not.toBe(first.code)
    const created = await query('CREATE Order {count: 5}; CREATE Order {count: 5}')
    expect(created.status, created.text).toBe(200)
    const many = await server.post(
      fd.at('/v1/object'),
      [1, 2].map((count) => ({ class: 'Order', attributes: { count } })),
    )
    expect(many.status, many.text).toBe(201)
    const totals = await query('FROM Order ORDER BY total, count RETURN total')
    expect(totals.json.map((row: { total: number }) => row.total)).toEqual([2, 4, 6, 7, 10, 10])
    await fd.update(first.__identifier__, { count: 50 })
    expect(await fd.read(first.__identifier__)).toMatchObject({ count: 50, total: 6 })
    expect((await query(`UPDATE Order WHERE total = 6 CLEAR total`)).status).toBe(200)
    expect(await fd.read(first.__identifier__)).toMatchObject({ total: 100 })
  })

  rule('10.6.8', 'are no defaults of objects that exist', async () => {
    await fd.define(classOf('A', { a: 'integer' }))
    const oid = await fd.create('A', { a: 4 })
    await fd.define(
      classOf('A', {
        b: { logicalType: 'integer', ...given('a + 1') },
        c: { logicalType: 'guid', isRequired: true, ...given('GUID()') },
      }),
    )
    expect(await fd.read(oid)).toMatchObject({ a: 4, b: 0, c: null })
    expect(await fd.read(await fd.create('A', { a: 4 }))).toMatchObject({ b: 5, c: expect.any(String) })
  })

  rule('10.6.9', 'fit the attribute, and name no attribute with such a default', async () => {
    const wrong = ["'x'", 'b + 1', 'a.x', 'RAND()', 'NEXT', 'c', '$x']
    for (const expression of wrong) {
      const cls = classOf('A', {
        a: { logicalType: 'integer', ...given(expression) },
        b: { logicalType: 'integer', ...given('1') },
        c: 'string',
      })
      const reply = await fd.putSchema(cls)
      expectProblem(reply, 422, 'InvalidDefinition')
      expect(reply.json.errors[0].pointer, expression).toBe('/0/attributes/0/default')
    }
    const inList = classOf('A', { a: { ...list('integer'), ...given('1') } })
    expectProblem(await fd.putSchema(inList), 422, 'InvalidDefinition')
    await fd.define(
      classOf('B', {
        a: { logicalType: 'integer', storage: 'b64', ...given('c * 1000'), maximum: 5_000 },
        c: 'integer',
      }),
    )
    const tooMuch = await fd.postObject('B', { c: 9 })
    expect(tooMuch.json.errors[0]).toMatchObject({ attributeName: 'a', constraint: 'maximum', value: '9000' })
    expect(await fd.read(await fd.create('B', { c: 5 }))).toMatchObject({ a: 5_000 })
  })

  rule('10.6.8', 'in DO stand in parentheses', async () => {
    const text = `UPDATE SCHEMA { CREATE CLASS A { a: Integer, b: Integer{Default: (a + (1)), OnUpdate: (b + 1), Minimum: 0} } }`
    const reply = await query(text)
    expect(reply.status, reply.text).toBe(200)
    expect((await classNamed('A')).attributes[1]).toMatchObject({
      default: { expression: 'a + (1)' },
      onUpdate: { expression: 'b + 1' },
      minimum: 0,
    })
    expectProblem(await query(text.replace('CLASS A', 'CLASS B').replace('(1)', '(x)')), 422, 'InvalidDefinition')
  })
})

describe('onUpdate', () => {
  rule('10.6.10', 'is worked out at each change of the object that leaves the attribute as it is', async () => {
    const version = { logicalType: 'integer', onUpdate: { expression: 'version + 1' } }
    const links = { parent: reference('A', 'children'), children: list(reference('A', 'parent')) }
    await fd.define(classOf('A', { a: 'integer', version, ...links }))
    const oid = await fd.create('A', { a: 1 })
    expect(await fd.read(oid)).toMatchObject({ version: 0 })
    await fd.update(oid, { a: 2 })
    expect(await fd.read(oid)).toMatchObject({ version: 1 })
    await fd.update(oid, { version: 7 })
    expect(await fd.read(oid)).toMatchObject({ version: 7 })
    await fd.update(oid, { a: 3, version: 7 })
    expect((await query('UPDATE A WHERE a = 3 SET a TO 4')).status).toBe(200)
    expect(await fd.read(oid)).toMatchObject({ version: 9 })
    const other = await fd.create('A', { children: [oid] })
    expect(await fd.read(oid)).toMatchObject({ version: 9, parent: other })
    await fd.remove(other)
    expect(await fd.read(oid)).toMatchObject({ version: 9, a: 4 })
    const tag = async () => (await server.get(fd.at(`/v1/object/${oid}`))).headers.etag
    const before = await tag()
    await fd.update(oid, {})
    expect([(await fd.read(oid)).version, await tag()]).toEqual([9, before])
    await fd.update(oid, { a: 4 })
    expect(await fd.read(oid)).toMatchObject({ version: 10, a: 4 })
    expect(await tag()).not.toBe(before)
  })
})

describe('computed attributes', () => {
  const computed = (logicalType: string, expression: string, isStored = false) => ({
    logicalType,
    computed: { expression, ...(isStored ? { isStored } : {}) },
  })
  const item = classOf('Item', {
    name: 'string',
    price: 'real',
    count: 'integer',
    total: computed('real', 'price * count'),
    gross: computed('real', 'total * 1.5', true),
    label: computed('string', "name + '!'", true),
  })

  rule('10.6.11', 'stand for their expressions wherever objects are read', async () => {
    await fd.define(item)
    expect((await classNamed('Item')).attributes.slice(3)).toMatchObject((item.attributes as object[]).slice(3))
    const oid = await fd.create('Item', { name: 'pen', price: 2, count: 3 })
    expect(await fd.read(oid)).toMatchObject({ total: 6, gross: 9, label: 'pen!' })
    await fd.update(oid, { count: 4 })
    expect(await fd.read(oid)).toMatchObject({ total: 8, gross: 12 })
    const many = await server.post(fd.at('/v1/object'), [
      { class: 'Item', attributes: { name: 'ink', price: 1, count: 1 } },
    ])
    expect(many.status, many.text).toBe(201)
    const rows = async (text: string) => (await query(text)).json
    expect(await rows('FROM Item WHERE total > 2 RETURN name, total, gross')).toEqual([
      { name: 'pen', total: 8, gross: 12 },
    ])
    expect(await rows('FROM Item ORDER BY total RETURN total AS t')).toEqual([{ t: 1 }, { t: 8 }])
    expect(await rows('FROM Item RETURN SUM(total) AS t')).toEqual([{ t: 9 }])
    expect(await rows('FROM Item WHERE count = 1 RETURN *')).toMatchObject([{ total: 1, gross: 1.5, label: 'ink!' }])
    expect((await query('UPDATE Item WHERE total = 8 SET price TO 3.0')).status).toBe(200)
    expect(await fd.read(oid)).toMatchObject({ total: 12, gross: 18 })
  })

  rule('10.6.11', 'may be lists that are not stored', async () => {
    const text = 'UPDATE SCHEMA {CREATE CLASS A {n: Integer, xs: List{Element: Integer} = (LIST{n, 2}), m: Integer}}'
    expect((await query(text)).status).toBe(200)
    const oid = await fd.create('A', { n: 1, m: 3 })
    expect(await fd.read(oid)).toMatchObject({ n: 1, xs: [1, 2], m: 3 })
    await fd.update(oid, { n: 5 })
    expect((await query('FROM A RETURN n, xs, m')).json).toEqual([{ n: 5, xs: [5, 2], m: 3 }])
  })

  rule('10.6.11', 'can be keys where they are stored', async () => {
    await fd.define(item)
    const oid = await fd.create('Item', { name: 'pen', price: 2, count: 3 })
    await fd.index('byLabel', 'Item', true, 'label')
    await fd.index('byGross', 'Item', false, 'gross')
    expectProblem(await fd.postIndex('byTotal', 'Item', false, 'total'), 422, 'AttributeNotIndexable')
    expectProblem(await fd.postObject('Item', { name: 'pen' }), 409, 'UniqueViolation')
    await fd.update(oid, { name: 'ink', count: 10 })
    const rows = await query("FROM Item WHERE label = 'ink!' AND gross = 30.0 RETURN gross")
    expect(rows.json).toEqual([{ gross: 30 }])
    const verified = await server.get(fd.at(`/v1/object/${oid}`))
    expect(verified.json).toMatchObject({ label: 'ink!' })
  })

  rule('10.6.12', 'are the same for objects that exist when they are added', async () => {
    await fd.define(classOf('A', { a: 'integer' }))
    const oid = await fd.create('A', { a: 4 })
    await fd.define(classOf('A', { b: computed('integer', 'a + 1'), c: computed('integer', 'b + 1', true) }))
    expect(await fd.read(oid)).toMatchObject({ a: 4, b: 5, c: 6 })
    await fd.index('byC', 'A', false, 'c')
    expect((await query('FROM A WHERE c = 6 RETURN a')).json).toEqual([{ a: 4 }])
    await fd.update(oid, { a: 5 })
    expect((await query('FROM A WHERE c = 7 RETURN a')).json).toEqual([{ a: 5 }])
    expect((await query('FROM A WHERE c = 6 RETURN a')).json).toEqual([])
  })

  rule('10.6.13', 'are taken without effect where their value is right', async () => {
    await fd.define(item)
    const oid = await fd.create('Item', { name: 'pen', price: 2, count: 3, total: 6, label: 'pen!' })
    const shown = await fd.read(oid)
    const { __class__, __identifier__, ...attributes } = shown
    await fd.update(oid, attributes)
    await fd.update(oid, { ...attributes, count: 5 })
    await fd.update(oid, { count: 6, total: 12, gross: 18 })
    for (const wrong of [{ total: 7 }, { label: null }, { count: 7, gross: 1 }]) {
      const reply = await fd.putObject(oid, wrong)
      expect(expectProblem(reply, 422, 'ValueNotAllowed')).toMatch(
        /Class Item: attribute (total|label|gross) is computed/,
      )
    }
    expectProblem(await fd.postObject('Item', { total: 1 }), 422, 'ValueNotAllowed')
    expectProblem(await query('UPDATE Item SET total TO 1.0'), 422, 'ValueNotAllowed')
    expect(await fd.read(oid)).toMatchObject({ count: 6, total: 12, gross: 18 })
  })

  rule(['10.6.11', '10.6.14'], 'are part of checks, of defaults and of each other, without circles', async () => {
    const attributes = {
      a: 'integer',
      b: computed('integer', 'a * 2'),
      c: { logicalType: 'integer', default: { expression: 'b + 1' } },
    }
    await fd.define(classOf('A', attributes, { checks: [check('small', 'b < 10')] }))
    // Also where a creation gives the computed value, which is right.
    expect(broken(await fd.postObject('A', { a: 6, b: 12 }))).toEqual(['checks small'])
    const oid = await fd.create('A', { a: 2 })
    expect(await fd.read(oid)).toMatchObject({ b: 4, c: 5 })
    expect(broken(await fd.putObject(oid, { a: 5 }))).toEqual(['checks small'])
    for (const [x, y] of [
      ['y', 'x'],
      ['x', '1'],
      ['NOW()', '1'],
      ['a.b', '1'],
    ] as const) {
      const reply = await fd.putSchema(
        classOf('B', { x: computed('integer', x), y: computed('integer', y), a: 'integer' }),
      )
      expectProblem(reply, 422, 'InvalidDefinition')
    }
    for (const more of [{ isRequired: true }, { default: 1 }, { minimum: 1 }]) {
      const reply = await fd.putSchema(classOf('B', { x: { ...computed('integer', '1'), ...more } }))
      expectProblem(reply, 422, 'InvalidDefinition')
    }
    const gone = await server.put(`${fd.at('/v1/schema/A')}&cascade=true`, { attributesToDelete: ['a'] })
    expectProblem(gone, 409, 'AttributeInUse')
  })

  rule('10.6.11', 'in DO stand behind an equals sign', async () => {
    const text = 'UPDATE SCHEMA { CREATE CLASS A { a: Integer, b: Integer = (a + 1), c: Integer{Stored} = (b * (2)) } }'
    const reply = await query(text)
    expect(reply.status, reply.text).toBe(200)
    expect((await classNamed('A')).attributes.slice(1)).toMatchObject([
      { computed: { expression: 'a + 1' } },
      { computed: { expression: 'b * (2)', isStored: true } },
    ])
    expect((await query('CREATE A {a: 1}; FROM A RETURN b, c')).json).toEqual([{ b: 2, c: 4 }])
  })
})

rule('10.6.16', 'computed attributes may follow references, and are then read by name', async () => {
  const computed = (logicalType: string, expression: string) => ({ logicalType, computed: { expression } })
  await fd.define(
    classOf('Client', {
      name: 'string',
      orders: list(reference('Order', 'client')),
      spent: computed('real', 'SUM(orders.total)'),
      many: computed('boolean', 'COUNT(orders) > 1'),
    }),
    classOf('Order', {
      total: 'real',
      client: reference('Client', 'orders'),
      buyer: computed('string', 'client.name'),
      share: computed('real', 'total / client.spent'),
    }),
  )
  const ann = await fd.create('Client', { name: 'Ann' })
  const order = await fd.create('Order', { total: 3, client: ann })
  await fd.create('Order', { total: 1, client: ann })
  await fd.create('Order', { total: 5 })
  expect(await fd.read(order)).toEqual({ __class__: 'Order', __identifier__: order, total: 3, client: ann })
  const rows = async (text: string) => (await query(text)).json
  expect(await rows('FROM Order ORDER BY total RETURN buyer, share')).toEqual([
    ...[
      { buyer: 'Ann', share: 0.25 },
      { buyer: 'Ann', share: 0.75 },
      { buyer: null, share: null },
    ],
  ])
  expect(await rows('FROM Client WHERE many RETURN name, spent')).toEqual([{ name: 'Ann', spent: 4 }])
  expect(await rows('FROM Order WHERE client.many ORDER BY total RETURN client.spent AS s')).toEqual([
    { s: 4 },
    { s: 4 },
  ])
  expect(await rows('FROM Order GROUP BY buyer ORDER BY buyer RETURN buyer, SUM(total) AS t')).toEqual([
    ...[
      { buyer: 'Ann', t: 4 },
      { buyer: null, t: 5 },
    ],
  ])
  expectProblem(await fd.putObject(order, { buyer: 'Ann' }), 422, 'ValueNotAllowed')
  expectProblem(await fd.postIndex('byBuyer', 'Order', false, 'buyer'), 422, 'AttributeNotIndexable')
  const stored = { logicalType: 'string', computed: { expression: 'c.name', isStored: true } }
  expectProblem(await fd.putSchema(classOf('A', { c: reference('Client'), x: stored })), 422, 'InvalidDefinition')
  const circle = classOf('A', { a: reference('A'), x: computed('integer', 'a.y'), y: computed('integer', 'a.x + 1') })
  expectProblem(await fd.putSchema(circle), 422, 'InvalidDefinition')
  const gone = await server.put(fd.at('/v1/schema/Client'), { attributesToDelete: ['name'] })
  expectProblem(gone, 409, 'AttributeInUse')
})

rule(['10.6.8', '10.6.15'], '$$USER is who changes an object, and what names hidden attributes is hidden', async () => {
  const { ask, rows, user } = await openShop()
  const [admin, ann] = [await user('root', ['admin']), await user('ann', ['writer'])]
  const byUser = { expression: '$$USER.name' }
  const secret = { logicalType: 'integer', computed: { expression: 'salary * 2' } }
  const note = classOf(
    'Note',
    {
      text: 'string',
      salary: 'integer',
      by: { logicalType: 'string', default: byUser, onUpdate: byUser },
      secret,
      length: { logicalType: 'integer', computed: { expression: 'LENGTH(text)' } },
    },
    { checks: [check('hidden', 'salary < 1000'), check('known', 'LENGTH(text) < 100')] },
  )
  expect((await ask(admin, 'PUT', '/v1/schema', [note])).statusCode).toBe(201)
  const clerk = {
    name: 'clerk',
    grants: [{ on: { kind: 'class', className: 'Note' }, actions: ['read', 'query', 'create'], hidden: ['salary'] }],
  }
  expect((await ask(admin, 'POST', '/v1/security/role', clerk)).statusCode).toBe(201)
  const bob = await user('bob', ['clerk'])
  const made = await ask(ann, 'POST', '/v1/object', { class: 'Note', attributes: { text: 'a', salary: 5 } })
  expect(made.statusCode, made.body).toBe(201)
  expect((await ask(ann, 'POST', '/v1/query', { query: "CREATE Note {text: 'b'}" })).statusCode).toBe(200)
  expect((await ask(bob, 'POST', '/v1/object', { class: 'Note', attributes: { text: 'c' } })).statusCode).toBe(201)
  expect(await rows(ann, 'FROM Note ORDER BY text RETURN by, secret')).toEqual([
    ...[
      { by: 'ann', secret: 10 },
      { by: 'ann', secret: 0 },
      { by: 'bob', secret: 0 },
    ],
  ])
  const oid = made.json().__identifier__
  expect((await ask(admin, 'PUT', `/v1/object/${oid}`, { attributes: { text: 'long' } })).statusCode).toBe(204)
  expect((await ask(bob, 'GET', `/v1/object/${oid}`)).json()).toEqual({
    ...{ __class__: 'Note', __identifier__: oid, text: 'long', by: 'root', length: 4 },
  })
  expect(await rows(bob, 'FROM Note WHERE length = 4 RETURN length')).toEqual([{ length: 4 }])
  expect(await rows(bob, 'FROM Note RETURN secret')).toMatchObject({ status: 422 })
  const shown = (await ask(bob, 'GET', '/v1/schema/Note')).json()
  expect(shown.checks).toEqual([check('known', 'LENGTH(text) < 100')])
  expect(shown.attributes.map((one: { attributeName: string }) => one.attributeName)).toEqual(['text', 'by', 'length'])
})
