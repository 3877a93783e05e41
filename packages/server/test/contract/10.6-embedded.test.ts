/** Defaults by expression and computed attributes of embeddable classes, over HTTP (contract 10.6). */
import { describe, expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { openShop } from './own-roles-world.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const query = (text: string, parameters = {}): Promise<Reply> => {
  return server.post(fd.at('/v1/query'), { query: text, parameters })
}
async function rows(text: string, parameters = {}): Promise<Loose> {
  const reply = await query(text, parameters)
  expect(reply.status, reply.text).toBe(200)
  return reply.json
}
const alter = (cls: string, body: object, more = '') => server.put(`${fd.at(`/v1/schema/${cls}`)}${more}`, body)
const of = (cls: string) => ({ logicalType: 'object', class: cls })
const given = (logicalType: string, expression: string, more = {}) => ({
  logicalType,
  default: { expression },
  ...more,
})
const computed = (logicalType: string, expression: string, isStored = false) => ({
  logicalType,
  computed: { expression, ...(isStored ? { isStored } : {}) },
})

describe('defaults', () => {
  const line = classOf(
    'Line',
    {
      price: { logicalType: 'real', default: 2 },
      count: 'integer',
      total: given('real', 'price * count'),
      id: given('guid', 'GUID()'),
      at: given('datetime', 'NOW()'),
      number: given('integer', "NEXT('lines')"),
    },
    embedded,
  )
  const order = classOf('Order', { name: 'string', first: of('Line'), lines: list(of('Line')) })
  const define = async (): Promise<void> => {
    await rows('CREATE SEQUENCE lines')
    await fd.define(line, order)
  }
  /** All numbers drawn for embedded objects; each is another one. */
  const numbers = async (): Promise<number[]> => {
    const all = await rows('FROM Order RETURN first.number AS f, lines.number AS l')
    const found = all.flatMap(({ f, l }: { f: number; l: number[] }) => [f, ...l])
    expect(new Set(found).size).toBe(found.length)
    return found
  }

  rule('10.6.23', 'are evaluated once for each embedded object that is created, by every way', async () => {
    await define()
    const oid = await fd.create('Order', { first: { count: 3 }, lines: [{ count: 1, price: 7 }, { total: 5 }, {}] })
    const made = await fd.read(oid)
    expect(made.first).toMatchObject({ total: 6, number: 1, at: expect.any(String) })
    expect(made.lines).toMatchObject([
      { total: 7, number: 2 },
      { total: 5, number: 3 },
      { total: 0, number: 4 },
    ])
    expect(new Set([made.first, ...made.lines].map(({ id }) => id)).size).toBe(4)
    const creation = { class: 'Order', attributes: { lines: [{ count: 4 }] } }
    const array = await server.post(fd.at('/v1/object'), Array(60).fill(creation))
    expect(array.status, array.text).toBe(201)
    const headers = { 'content-type': 'application/x-ndjson' }
    const raw = `${JSON.stringify(creation)}\n`.repeat(3)
    for (const more of ['', '&atomic=true']) {
      const streamed = await server.send('POST', `${fd.at('/v1/object')}${more}`, { raw, headers })
      expect(streamed.status, streamed.text).toBe(200)
    }
    const operation = { method: 'POST', uri: '/v1/object', body: creation }
    expect((await server.post(fd.at('/v1/transaction'), [operation, operation])).status).toBe(200)
    await rows("CREATE Order {name: 'a', lines: LIST{Line{count: 4}}}; CREATE Order {first.count: 4, lines: $l}", {
      l: [{ count: 4 }],
    })
    const count = 60 + 6 + 2 + 2
    expect((await numbers()).length).toBe(4 + 2 * count)
    expect(await rows('FROM Order WHERE lines ALL (total = 8.0) RETURN COUNT() AS n')).toEqual([{ n: count }])
  })

  rule('10.6.23', 'are evaluated for elements that a change adds, and not for those that are there', async () => {
    await define()
    const oid = await fd.create('Order', { name: 'a', lines: [{ count: 1 }] })
    const { lines, first } = await fd.read(oid)
    await fd.update(oid, { lines: { action: 'add', elements: [{ count: 2 }] }, first: { count: 9 } })
    await rows('UPDATE Order SET lines[0].count TO 7; UPDATE Order ADD Line{count: 5} TO lines')
    let now = await fd.read(oid)
    expect(now.first).toEqual({ ...first, count: 9 })
    expect(now.lines[0]).toEqual({ ...lines[0], count: 7 })
    expect(now.lines.slice(1)).toMatchObject([{ total: 4 }, { total: 10 }])
    await fd.update(oid, { lines: [...now.lines, {}], first: { action: 'override', count: 4 } })
    expect((await fd.read(oid)).lines.slice(0, 3)).toEqual(now.lines)
    now = await fd.read(oid)
    expect(now.first).toMatchObject({ count: 4, total: 8 })
    expect(now.first.id).not.toBe(first.id)
    await numbers()
    await rows('UPDATE Order CLEAR first.total, lines[0].total, lines[3]')
    expect(await fd.read(oid)).toMatchObject({ first: { total: 8 }, lines: [{ total: 14 }, {}, {}, { total: 0 }] })
    await rows('UPDATE Order SET first TO Line{count: 10}, lines[1] TO Line{count: 3, id: NULL}')
    now = await fd.read(oid)
    expect(now).toMatchObject({ first: { total: 20 }, lines: [{}, { total: 6, id: null }, {}, {}] })
    await fd.update(oid, { first: null })
    expect((await fd.read(oid)).first).toMatchObject({ count: 0, total: 0 })
    await numbers()
  })

  rule('10.6.23', 'are no defaults of embedded objects that exist', async () => {
    await fd.define(classOf('P', { a: 'integer' }, embedded), classOf('A', { p: of('P'), ps: list(of('P')) }))
    const oid = await fd.create('A', { p: { a: 4 }, ps: [{ a: 5 }] })
    await fd.define(
      classOf(
        'P',
        { b: given('integer', 'a + 1', { minimum: 1 }), c: given('guid', 'GUID()', { isRequired: true }) },
        embedded,
      ),
      classOf('A', { q: of('P') }),
    )
    expect(await fd.read(oid)).toMatchObject({ p: { a: 4, b: null, c: null }, ps: [{ b: null }], q: { b: null } })
    await fd.create('A', { p: { a: 1 } })
    const refused = await fd.postObject('A', { p: { a: -4 } })
    expect(refused.json.errors[0]).toMatchObject({ pointer: '/attributes/p/b', value: -3 })
  })

  rule(['10.6.9', '10.6.23'], 'are expressions of the embedded object, named by no other default', async () => {
    const wrong = ["'x'", 'b + 1', 'name', 'RAND()', 'r.a', 'home.e', '$x', "NEXT('none')"]
    for (const expression of wrong) {
      const home = classOf('Home', { e: given('integer', '1') }, embedded)
      const attributes = {
        a: given('integer', expression),
        b: given('integer', '1'),
        r: reference('A'),
        home: of('Home'),
      }
      const reply = await fd.putSchema(
        home,
        classOf('P', attributes, embedded),
        classOf('A', { name: 'string', a: 'integer', p: of('P') }),
      )
      expect([expression, expectProblem(reply, 422, 'InvalidDefinition')]).toEqual([expression, expect.any(String)])
      expect(reply.json.errors[0].pointer, expression).toBe('/1/attributes/0/default')
    }
    const owner = classOf('A', { p: of('P'), x: given('integer', 'p.b') })
    const p = classOf('P', { b: given('integer', '1') }, embedded)
    expectProblem(await fd.putSchema(p, owner), 422, 'InvalidDefinition')
  })
})

describe('computed attributes', () => {
  const address = classOf(
    'Address',
    {
      street: 'string',
      city: 'string',
      line: computed('string', "street + ', ' + city"),
      key: computed('string', "line + '!'", true),
      size: computed('integer', 'LENGTH(key)', true),
      parts: { ...list('string'), computed: { expression: 'LIST{street, city}' } },
    },
    embedded,
  )
  const person = classOf('Person', {
    name: 'string',
    home: of('Address'),
    others: list(of('Address')),
    label: computed('string', "name + ': ' + home.line"),
    keys: computed('integer', 'SUM(others.size)', true),
  })
  const a = { street: 'S', city: 'A' }
  const shown = { ...a, line: 'S, A', key: 'S, A!', size: 5, parts: ['S', 'A'] }

  rule('10.6.24', 'stand for their expressions wherever embedded objects are read', async () => {
    await fd.define(address, person)
    const oid = await fd.create('Person', { name: 'ann', home: a, others: [a, { city: 'BB' }] })
    const other = { street: '', city: 'BB', line: ', BB', key: ', BB!', size: 5, parts: ['', 'BB'] }
    expect(await fd.read(oid)).toMatchObject({ home: shown, others: [shown, other], label: 'ann: S, A', keys: 10 })
    await fd.create('Person', { name: 'bob' })
    expect(
      await rows("FROM Person WHERE home.line = 'S, A' RETURN home.line, home.key, home, home.parts[1] AS p"),
    ).toEqual([{ 'home.line': 'S, A', 'home.key': 'S, A!', home: shown, p: 'A' }])
    expect(await rows("FROM Person WHERE others ANY (line = ', BB') RETURN name, others.line AS l")).toEqual([
      { name: 'ann', l: ['S, A', ', BB'] },
    ])
    expect(await rows('FROM Person ORDER BY home.line DESC RETURN name')).toEqual([{ name: 'ann' }, { name: 'bob' }])
    expect(await rows('FROM Person GROUP BY home.line ORDER BY home.line RETURN home.line AS l, COUNT() AS n')).toEqual(
      [
        { l: ', ', n: 1 },
        { l: 'S, A', n: 1 },
      ],
    )
    expect(await rows("FROM Person WHERE name = 'ann' RETURN others{line, city} AS o, home{*} AS h")).toEqual([
      {
        o: [
          { line: 'S, A', city: 'A' },
          { line: ', BB', city: 'BB' },
        ],
        h: shown,
      },
    ])
    const made = "LET x = Address{street: 'S', city: 'A'}; FROM Person WHERE home = $x RETURN $x AS x, $x.line AS y"
    expect(await rows(made)).toEqual([{ x: shown, y: 'S, A' }])
    await fd.update(oid, { home: { city: 'C' } })
    expect(await fd.read(oid)).toMatchObject({ home: { line: 'S, C', key: 'S, C!' }, label: 'ann: S, C' })
    await rows("UPDATE Person WHERE home.line = 'S, C' SET home.city TO 'D', others[1].street TO 'long'")
    expect(await fd.read(oid)).toMatchObject({
      home: { key: 'S, D!' },
      others: [shown, { key: 'long, BB!' }],
      keys: 14,
    })
  })

  rule('10.6.24', 'stand in exports and in changes', async () => {
    await fd.define(address, person)
    const since = (await server.get(`${fd.at('/v1/changes')}&since=now`)).json.position
    const oid = await fd.create('Person', { name: 'ann', home: a, others: [{ street: 'x', city: 'y' }] })
    const csv = await server.get(`${fd.at('/v1/export')}&class=Person&format=csv&columns=home.line,home.key,label`)
    expect(csv.text.split('\n').slice(0, 2)).toEqual(['home.line,home.key,label', '"S, A","S, A!","ann: S, A"'])
    await fd.update(oid, { home: { city: 'B' } })
    const { changes } = (await server.get(`${fd.at('/v1/changes')}&since=${since}&include=values`)).json
    expect(changes[1]).toMatchObject({
      attributes: ['home', 'label'],
      before: { home: shown, label: 'ann: S, A' },
      after: { home: { line: 'S, B', key: 'S, B!', size: 5 }, label: 'ann: S, B' },
    })
  })

  rule('10.6.24', 'can be keys where they are stored, also of objects that exist when they are added', async () => {
    await fd.define(classOf('P', { a: 'integer' }, embedded), classOf('A', { p: of('P') }))
    const oid = await fd.create('A', { p: { a: 4 } })
    await fd.define(classOf('P', { b: computed('integer', 'a + 1'), c: computed('integer', 'b + 1', true) }, embedded))
    expect(await fd.read(oid)).toMatchObject({ p: { a: 4, b: 5, c: 6 } })
    expectProblem(await fd.postIndex('byB', 'A', false, 'p.b'), 422, 'AttributeNotIndexable')
    await fd.index('byC', 'A', true, 'p.c')
    const access = (await query('EXPLAIN FROM A WHERE p.c = 6 RETURN p.a')).text
    expect(access).toContain('byC')
    expect(await rows('FROM A WHERE p.c = 6 RETURN p.a AS a')).toEqual([{ a: 4 }])
    expectProblem(await fd.postObject('A', { p: { a: 4 } }), 409, 'UniqueViolation')
    const headers = { 'content-type': 'application/x-ndjson' }
    const raw = [{ a: 4 }, { a: 9 }].map((p) => `${JSON.stringify({ class: 'A', attributes: { p } })}\n`).join('')
    const upserted = await server.send('POST', `${fd.at('/v1/object')}&upsertOn=byC`, { raw, headers })
    expect(upserted.status, upserted.text).toBe(200)
    expect(await rows('FROM A ORDER BY p.c RETURN p.c AS c')).toEqual([{ c: 6 }, { c: 11 }])
    await rows('UPSERT A {p.c: 6, p.a: 4} ON (p.c)')
    expect(await rows('FROM A RETURN COUNT() AS n')).toEqual([{ n: 2 }])
    await fd.update(oid, { p: { a: 5 } })
    expect(await rows('FROM A WHERE p.c = 7 RETURN p.a AS a')).toEqual([{ a: 5 }])
    expect(await rows('FROM A WHERE p.c = 6 RETURN p.a AS a')).toEqual([])
  })

  rule('10.6.24', 'are taken without effect where their value is that of before or after', async () => {
    await fd.define(address, person)
    const oid = await fd.create('Person', { home: shown, others: [shown, { line: ', ' }] })
    const { home, others } = await fd.read(oid)
    await fd.update(oid, { home: { ...home, city: 'B' } })
    await fd.update(oid, { others: [{ ...others[1], city: 'X' }] })
    const { key: _, size, ...x } = others[1]
    await fd.update(oid, { others: [{ ...x, city: 'X', line: ', X', parts: ['', 'X'] }, {}] })
    expect(await fd.read(oid)).toMatchObject({ home: { line: 'S, B' }, others: [{ line: ', X', key: ', X!' }, {}] })
    for (const [wrong, at] of [
      [{ home: { line: 'S, A' } }, 'home/line'],
      [{ home: { line: null } }, 'home/line'],
      [{ home: { city: 'C', key: 'x' } }, 'home/key'],
      [{ home: { parts: [] } }, 'home/parts'],
      [{ others: [{}, { size: 7 }] }, 'others/1/size'],
    ] as const) {
      const reply = await fd.putObject(oid, wrong)
      expect(expectProblem(reply, 422, 'ValueNotAllowed')).toMatch(/Class Address: attribute \w+ is computed/)
      expect(reply.json.errors[0].pointer).toBe(`/attributes/${at}`)
    }
    expectProblem(await query("UPDATE Person SET home.line TO 'x'"), 422, 'ValueNotAllowed')
    expectProblem(await query("CREATE Person {others: LIST{Address{line: 'x'}}}"), 422, 'ValueNotAllowed')
    await fd.update(oid, { others: { action: 'remove', elements: [{ line: ', ' }] } })
    await fd.update(oid, { others: { action: 'add', elements: [{ city: 'Y' }, {}] } })
    await rows("UPDATE Person REMOVE Address{city: 'Y'} FROM others")
    expect((await fd.read(oid)).others).toMatchObject([{ line: ', X' }, { line: ', ' }])
    await rows("UPDATE Person ADD home TO others SET home TO Address{city: 'Z', line: ', Z'}")
    expect(await fd.read(oid)).toMatchObject({ home: { line: ', Z' }, others: [{ line: ', X' }, {}, { line: 'S, B' }] })
  })

  rule(['10.6.14', '10.6.24'], 'are part of checks and defaults, of owners too, without circles', async () => {
    const more = {
      checks: [{ name: 'short', expression: 'LENGTH(line) < 9' }],
      attributes: [...(address.attributes as object[]), { attributeName: 'note', ...given('string', 'line') }],
    }
    const owner = classOf(
      'Owner',
      { home: of('Address'), copy: given('string', 'home.line') },
      { checks: [{ name: 'same', expression: "home.key <> 'S, X!'" }] },
    )
    await fd.define({ ...address, ...more }, owner)
    expect(await fd.read(await fd.create('Owner', { home: a }))).toMatchObject({ home: { note: 'S, A' }, copy: 'S, A' })
    const long = await fd.postObject('Owner', { home: { city: 'too long to hold' } })
    expect(long.json.errors[0]).toMatchObject({ checkName: 'short', pointer: '/attributes/home' })
    const same = await fd.postObject('Owner', { home: { street: 'S', city: 'X' } })
    expect(same.json.errors[0]).toMatchObject({ checkName: 'same' })
    for (const [x, y] of [
      ['y', 'x'],
      ['NOW()', '1'],
      ['a.b', '1'],
      ['z', '1'],
      ['owner.y', '1'],
    ] as const) {
      const reply = await fd.putSchema(
        classOf('P', { x: computed('integer', x), a: 'integer', owner: reference('O') }, embedded),
        classOf('O', { p: of('P'), y: computed('integer', y === '1' ? 'p.x' : y), z: 'integer' }),
      )
      expect([x, expectProblem(reply, 422, 'InvalidDefinition')]).toEqual([x, expect.stringContaining('Class ')])
    }
    for (const fields of [{ isRequired: true }, { default: 1 }, { minimum: 1 }]) {
      const reply = await fd.putSchema(classOf('P', { x: { ...computed('integer', '1'), ...fields } }, embedded))
      expectProblem(reply, 422, 'InvalidDefinition')
    }
  })

  rule(['10.6.16', '10.6.24'], 'may follow references, and are then read by name', async () => {
    await fd.define(
      classOf('Product', { name: 'string', price: 'integer' }),
      classOf(
        'Line',
        {
          product: reference('Product'),
          count: 'integer',
          what: computed('string', 'product.name'),
          cost: computed('integer', 'product.price * count'),
        },
        embedded,
      ),
      classOf('Order', {
        name: 'string',
        main: of('Line'),
        lines: list(of('Line')),
        cost: computed('integer', 'SUM(lines.cost) + main.cost'),
        before: reference('Order'),
      }),
    )
    const [pen, ink] = [
      await fd.create('Product', { name: 'pen', price: 2 }),
      await fd.create('Product', { name: 'ink', price: 5 }),
    ]
    const lines = [pen, ink].map((product, i) => ({ product, count: i + 1 }))
    const oid = await fd.create('Order', { name: 'x', main: lines[0], lines })
    await fd.create('Order', { name: 'y', before: oid })
    expect(await fd.read(oid)).toMatchObject({ main: lines[0], lines })
    expect((await fd.read(oid)).main).toEqual(lines[0])
    expect(await rows("FROM Order WHERE main.what = 'pen' RETURN main.what AS w, lines.cost AS c, cost, main")).toEqual(
      [{ w: 'pen', c: [2, 10], cost: 14, main: lines[0] }],
    )
    expect(await rows("FROM Order WHERE lines ANY (what = 'ink') RETURN lines[what = 'ink'].count AS n")).toEqual([
      { n: [2] },
    ])
    expect(await rows('FROM Order ORDER BY name RETURN before.main.what AS w, before.lines.what AS l')).toEqual(
      [
        { w: null, l: expect.anything() },
        { w: 'pen', l: ['pen', 'ink'] },
      ].map((row, i) => (i === 0 ? { ...row, l: null } : row)),
    )
    expectProblem(await fd.putObject(oid, { main: { what: 'pen' } }), 422, 'ValueNotAllowed')
    expectProblem(await fd.postIndex('byWhat', 'Order', false, 'main.what'), 422, 'AttributeNotIndexable')
    const gone = await alter('Product', { attributesToDelete: ['name'] })
    expectProblem(gone, 409, 'AttributeInUse')
  })

  rule(['10.6.14', '10.6.16'], 'may name each other often, without taking longer each time', async () => {
    const doubled = (first: string, names: readonly string[]) => {
      const all = names.map((name, i) => [
        name,
        computed(
          'integer',
          Array(2)
            .fill(names[i - 1] ?? first)
            .join(' + '),
        ),
      ])
      return Object.fromEntries(all) as Record<string, object>
    }
    const names = Array.from({ length: 19 }, (_, i) => `c${i}`)
    const part = classOf('Part', { a: 'integer', ...doubled('a', names) } as never, embedded)
    await fd.define(part, classOf('A', { a: 'integer', part: of('Part'), ...doubled('a', names) } as never))
    const shownPart = { a: 1, c0: 2, c18: 2 ** 19 }
    expect(await fd.read(await fd.create('A', { a: 1, part: { a: 1 } }))).toMatchObject({
      ...shownPart,
      part: shownPart,
    })
    await fd.define(classOf('B', { a: reference('A'), ...doubled('a.a', names.slice(0, 10)) } as never))
    await fd.create('B', { a: (await rows('FROM A RETURN $$ID AS id'))[0].id })
    expect(await rows('FROM B RETURN c9')).toEqual([{ c9: 2 ** 10 }])
    const tooMany = await fd.putSchema(classOf('C', { a: reference('A'), ...doubled('a.a', names) } as never))
    expect(expectProblem(tooMany, 422, 'InvalidDefinition')).toContain('more than 50000 characters')
  })

  rule(['10.6.6', '10.6.24'], 'follow renames, and hold what they name', async () => {
    await fd.define(address, person)
    const oid = await fd.create('Person', { name: 'ann', home: a })
    const renamed = await alter('Address', { attributesToRename: [{ originalName: 'city', newName: 'select' }] })
    expect(renamed.status, renamed.text).toBe(201)
    const again = await alter('Address', { attributesToRename: [{ originalName: 'line', newName: 'text' }] })
    expect(again.status, again.text).toBe(201)
    const texts = (await server.get(fd.at('/v1/schema/Address'))).json.attributes.map(
      (one: Loose) => one.computed?.expression,
    )
    expect(texts.slice(2, 4)).toEqual(["street + ', ' + `select`", "`text` + '!'"])
    expect(await fd.read(oid)).toMatchObject({ home: { select: 'A', text: 'S, A' }, label: 'ann: S, A' })
    for (const [cls, name] of [
      ['Address', 'select'],
      ['Address', 'text'],
      ['Person', 'home'],
    ] as const) {
      expectProblem(await alter(cls, { attributesToDelete: [name] }, '&cascade=true'), 409, 'AttributeInUse')
    }
    await fd.define(classOf('Address', { copy: given('string', '`text`') }, embedded))
    const p = classOf('P', { b: given('integer', 'a'), a: 'integer' }, embedded)
    await fd.define(p)
    expectProblem(await alter('P', { attributesToDelete: ['a'] }), 409, 'AttributeInUse')
    expect((await alter('P', { attributesToDelete: ['a'] }, '&cascade=true')).status).toBe(201)
    expect((await server.get(fd.at('/v1/schema/P'))).json.attributes[0].default).toBe(undefined)
  })
})

rule(['10.6.15', '10.6.23', '10.6.24'], 'what names hidden attributes of an embeddable class is hidden', async () => {
  const { ask, rows: rowsAs, user } = await openShop()
  const [admin, ann] = [await user('root', ['admin']), await user('ann', ['writer'])]
  const part = classOf(
    'Part',
    {
      text: 'string',
      cost: 'integer',
      by: given('string', '$$USER.name'),
      secret: computed('integer', 'cost * 2'),
      stored: computed('integer', 'cost * 3', true),
      first: given('integer', 'cost + 1'),
      length: computed('integer', 'LENGTH(text)'),
    },
    embedded,
  )
  const note = classOf('Note', {
    part: of('Part'),
    parts: list(of('Part')),
    twice: computed('integer', 'part.secret'),
    version: { logicalType: 'integer', onUpdate: { expression: 'version + 1' } },
  })
  expect((await ask(admin, 'PUT', '/v1/schema', [part, note])).statusCode).toBe(201)
  const actions = ['read', 'query', 'create', 'update']
  const grants = [
    { on: { kind: 'class', className: 'Note' }, actions, rules: { read: 'part.length < 9' } },
    { on: { kind: 'class', className: 'Part' }, actions, hidden: ['cost'] },
  ]
  const role = await ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants })
  expect(role.statusCode, role.body).toBe(201)
  const bob = await user('bob', ['clerk'])
  const attributes = { part: { text: 'a', cost: 5 }, parts: [{ text: 'bb', cost: 7 }] }
  const made = await ask(ann, 'POST', '/v1/object', { class: 'Note', attributes })
  expect(made.statusCode, made.body).toBe(201)
  const oid = made.json().__identifier__
  const long = await ask(ann, 'POST', '/v1/object', { class: 'Note', attributes: { part: { text: 'is too long' } } })
  expect((await ask(bob, 'GET', `/v1/object/${long.json().__identifier__}`)).statusCode).toBe(404)
  const shown = (await ask(bob, 'GET', `/v1/object/${oid}`)).json()
  expect(shown).toEqual({
    version: 0,
    __class__: 'Note',
    __identifier__: oid,
    part: { text: 'a', by: 'ann', length: 1 },
    parts: [{ text: 'bb', by: 'ann', length: 2 }],
  })
  expect(await rowsAs(bob, 'FROM Note WHERE part.length = 1 RETURN part.length AS n, parts.length AS m')).toEqual([
    { n: 1, m: [2] },
  ])
  expect(await rowsAs(bob, 'FROM Note RETURN part.secret')).toMatchObject({ status: 422 })
  expect(await rowsAs(bob, 'FROM Note RETURN twice')).toMatchObject({ status: 422 })
  const changed = await ask(bob, 'PUT', `/v1/object/${oid}`, {
    attributes: { part: { text: 'long' }, parts: [...shown.parts, { text: 'new' }] },
  })
  expect(changed.statusCode, changed.body).toBe(204)
  expect((await ask(bob, 'PUT', `/v1/object/${oid}`, { attributes: { part: { length: 9 } } })).statusCode).toBe(422)
  const created = await ask(bob, 'POST', '/v1/object', {
    class: 'Note',
    attributes: { parts: [{ text: 'c', length: 1 }] },
  })
  expect(created.statusCode, created.body).toBe(201)
  expect((await ask(admin, 'GET', `/v1/object/${oid}`)).json()).toMatchObject({
    part: { text: 'long', cost: 5, secret: 10, stored: 15, first: 6, by: 'ann', length: 4 },
    parts: [
      { text: 'bb', cost: 7, secret: 14, stored: 21, first: 8, by: 'ann' },
      { text: 'new', cost: 0, secret: 0, stored: 0, first: 1, by: 'bob', length: 3 },
    ],
    twice: 10,
    version: 1,
  })
  expect((await ask(admin, 'GET', `/v1/object/${created.json().__identifier__}`)).json()).toMatchObject({
    part: { by: 'bob', first: 1 },
    parts: [{ by: 'bob', first: 1, stored: 0 }],
  })
})
