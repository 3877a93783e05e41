/** Constraints, defaults and texts of attributes and classes, over HTTP (contract 10.1 to 10.3). */
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

const classNamed = async (name: string) => (await server.get(fd.at(`/v1/schema/${name}`))).json
const post = (cls: string, attributes: object): Promise<Reply> =>
  server.post(fd.at('/v1/object'), { class: cls, attributes })
const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
const string = (more: object) => ({ logicalType: 'string', ...more })
const integer = (more: object) => ({ logicalType: 'integer', ...more })

/** The constraints that a reply says are violated, by attribute. */
function violated(reply: Reply): string[] {
  expectProblem({ ...reply, json: { ...reply.json, errors: [] } } as Reply, 422, 'ConstraintViolation')
  return reply.json.errors.map((one: { attributeName: string; constraint: string }) => {
    return `${one.attributeName} ${one.constraint}`
  })
}

describe('definitions', () => {
  rule(['10.1.1', '10.2.1'], 'are shown as they were given, behind the type', async () => {
    const attributes = {
      title: string({
        isRequired: true,
        minLength: 2,
        maxLength: 80,
        pattern: '^\\S',
        title: 'Title',
        description: 'd',
      }),
      status: string({ default: 'open', enumeration: ['open', { value: 'done', label: 'Done' }] }),
      points: integer({ minimum: 0, exclusiveMaximum: 100, annotations: { unit: 'story points' } }),
      due: { logicalType: 'date', minimum: '2000-01-01', maximum: '2099-12-31' },
      tags: { ...list(string({ minLength: 1 })), minItems: 1, maxItems: 3, uniqueItems: true, default: ['x'] },
      code: string({ isReadOnly: true }),
    }
    await fd.define(classOf('Task', attributes, { displayAttribute: 'title', title: 'Tasks', annotations: { a: 'b' } }))
    const shown = await classNamed('Task')
    for (const attribute of shown.attributes) {
      expect(attribute).toMatchObject(attributes[attribute.attributeName as keyof typeof attributes])
    }
    expect(shown).toMatchObject({ displayAttribute: 'title', title: 'Tasks', annotations: { a: 'b' } })
    expect(Object.keys(shown.attributes[0]).slice(-6)).toEqual([
      ...['isRequired', 'minLength', 'maxLength', 'pattern', 'title', 'description'],
    ])
  })

  rule('10.1.1', 'in DO say the same as in JSON', async () => {
    const text = `UPDATE SCHEMA {
      CREATE CLASS Base ABSTRACT WITH {DisplayAttribute: name, Title: 'Named things'} { name: String{Required} };
      CREATE CLASS Task SUPERCLASS Base {
        status: String{Default: 'open', Enumeration: ('open', 'done' AS 'It''s')},
        points: Integer{Minimum: -5, ExclusiveMaximum: 100, Annotations: ('unit' AS 'points')},
        rate: Real{Maximum: 1.5, Default: NULL},
        tags: List{Element: String{MinLength: 1}, MaxItems: 3, UniqueItems, Default: ('a', 'b')},
        mail: String{Pattern: '@', ReadOnly, Description: 'An address'} } }`.replace("'It''s'", "'It\\'s'")
    const reply = await query(text)
    expect(reply.status, reply.text).toBe(200)
    expect(await classNamed('Base')).toMatchObject({
      isAbstract: true,
      displayAttribute: 'name',
      title: 'Named things',
    })
    expect((await classNamed('Task')).attributes).toMatchObject([
      { default: 'open', enumeration: ['open', { value: 'done', label: "It's" }] },
      { minimum: -5, exclusiveMaximum: 100, annotations: { unit: 'points' } },
      { maximum: 1.5, default: null },
      { maxItems: 3, uniqueItems: true, default: ['a', 'b'], elementSpecification: { minLength: 1 } },
      { pattern: '@', isReadOnly: true, description: 'An address' },
    ])
  })

  rule('10.1.1', 'say nothing by false, null and an empty text', async () => {
    await fd.define(classOf('A', { x: string({ isRequired: false, pattern: null, title: '', annotations: {} }) }))
    expect((await classNamed('A')).attributes).toEqual([
      { attributeName: 'x', logicalType: 'string', encoding: 'utf8', storage: 'variable' },
    ])
  })

  rule('10.1.1', 'of a type that cannot have the field, or with a value that it cannot have', async () => {
    const wrong = [
      { logicalType: 'boolean', minimum: 1 },
      string({ minimum: 1 }),
      integer({ minLength: 1 }),
      integer({ minimum: 'x' }),
      integer({ minimum: 2 ** 40 }),
      string({ minLength: -1 }),
      string({ maxLength: 1.5 }),
      string({ pattern: '(' }),
      string({ pattern: 5 }),
      string({ enumeration: [] }),
      string({ enumeration: 'a' }),
      string({ enumeration: ['a', 'a'] }),
      string({ enumeration: [{ value: 'a' }] }),
      string({ enumeration: Array.from({ length: 1001 }, (_, i) => `${i}`) }),
      string({ isRequired: 'perhaps' }),
      string({ default: 5 }),
      string({ default: 'x', minLength: 2 }),
      string({ default: 'c', enumeration: ['a', 'b'] }),
      string({ uniqueItems: true }),
      string({ title: 'x'.repeat(10_001) }),
      string({ annotations: { a: 5 } }),
      { ...list('string'), isRequired: true },
      list(string({ isReadOnly: true })),
      list(string({ default: 'x' })),
      { ...list(reference('A')), collectionTypeName: 'TreeListOfReferences', uniqueItems: true },
    ]
    for (const type of wrong) {
      const reply = await fd.putSchema(classOf('A', { x: type }))
      const message = expectProblem(reply, 422, 'InvalidDefinition')
      expect(message, JSON.stringify(type)).toContain('Class A, attribute x')
    }
    const code = string({ isReadOnly: true })
    expectProblem(await fd.putSchema(classOf('E', { code }, embedded)), 422, 'InvalidDefinition')
    expectProblem(await fd.putSchema(classOf('A', {}, { displayAttribute: 'x' })), 422, 'InvalidDefinition')
    expectProblem(await fd.putSchema(classOf('A', { x: string({ isRequried: true }) })), 400, 'UnknownField')
    expectProblem(await server.get(fd.at('/v1/schema/A')), 404, 'ClassNotFound')
  })

  rule('10.1.7', 'that no value satisfies together', async () => {
    const wrong: [Loose, string][] = [
      [integer({ minimum: 5, maximum: 1 }), 'maximum is 1 and minimum is 5'],
      [integer({ minimum: 5, exclusiveMaximum: 5 }), 'exclusiveMaximum is 5 and minimum is 5'],
      [integer({ exclusiveMinimum: 5, maximum: 5 }), 'maximum is 5 and exclusiveMinimum is 5'],
      [integer({ exclusiveMinimum: 1, exclusiveMaximum: 2 }), 'exclusiveMaximum is 2 and exclusiveMinimum is 1'],
      [
        integer({ storage: 'b64', exclusiveMinimum: '9007199254740993', exclusiveMaximum: '9007199254740994' }),
        'exclusiveMaximum is "9007199254740994" and exclusiveMinimum is "9007199254740993"',
      ],
      [{ logicalType: 'real', exclusiveMinimum: 1, exclusiveMaximum: 1 }, 'exclusiveMaximum is 1'],
      [
        { logicalType: 'real', exclusiveMinimum: 0, exclusiveMaximum: 5e-324 },
        'exclusiveMaximum is 5e-324 and exclusiveMinimum is 0',
      ],
      [
        { logicalType: 'real', storage: 'b32', exclusiveMinimum: 1, exclusiveMaximum: 1 + 2 ** -23 },
        'exclusiveMaximum is 1.0000001 and exclusiveMinimum is 1',
      ],
      [
        { logicalType: 'decimal', scale: 2, minimum: '1.50', maximum: '1.49' },
        'maximum is "1.49" and minimum is "1.50"',
      ],
      [
        { logicalType: 'decimal', scale: 2, exclusiveMinimum: 1, exclusiveMaximum: '1.01' },
        'exclusiveMaximum is "1.01"',
      ],
      [{ logicalType: 'date', minimum: '2024-02-29', maximum: '2024-02-28' }, 'maximum is "2024-02-28"'],
      [
        { logicalType: 'date', exclusiveMinimum: '2024-02-28', exclusiveMaximum: '2024-02-29' },
        'exclusiveMaximum is "2024-02-29" and exclusiveMinimum is "2024-02-28"',
      ],
      [string({ minLength: 3, maxLength: 2 }), 'maxLength is 2 and minLength is 3'],
      [{ logicalType: 'bytes', minLength: 3, maxLength: 2 }, 'maxLength is 2 and minLength is 3'],
      [{ ...list('string'), minItems: 2, maxItems: 1 }, 'maxItems is 1 and minItems is 2'],
      [list(integer({ minimum: 2, maximum: 1 })), 'maximum is 1 and minimum is 2'],
      [string({ enumeration: ['a', 'b'], minLength: 2 }), 'enumeration has no value that satisfies minLength 2'],
      [
        string({ enumeration: ['a', { value: 'bb', label: 'B' }], minLength: 2, pattern: 'x' }),
        'minLength 2 and pattern',
      ],
      [integer({ enumeration: [1, 2], exclusiveMinimum: 2 }), 'enumeration has no value'],
      [
        string({ storage: 'fixed', fixedLength: 3, minLength: 4 }),
        'minLength is 4 and fixedLength is 3: no value satisfies both',
      ],
      [
        integer({ encoding: 'unsigned', exclusiveMaximum: 0 }),
        'exclusiveMaximum is 0 and the least value of the type is 0: no value is left',
      ],
      [integer({ encoding: 'unsigned', maximum: -1 }), '-1 is not between 0 and 4294967295'],
      [
        integer({ storage: 'b64', exclusiveMinimum: '9223372036854775807' }),
        'exclusiveMinimum is "9223372036854775807" and the greatest value of the type is 9223372036854775807',
      ],
      [{ logicalType: 'decimal', precision: 1, exclusiveMinimum: 9 }, 'exclusiveMinimum is "9" and the greatest'],
      [{ logicalType: 'real', storage: 'b32', exclusiveMinimum: 3.4028234663852886e38 }, 'no value is left'],
      [{ logicalType: 'date', exclusiveMinimum: '9999-12-31' }, 'the greatest value of the type is "9999-12-31"'],
      [{ logicalType: 'time', exclusiveMaximum: '00:00:00' }, 'the least value of the type is "00:00:00"'],
      [
        {
          logicalType: 'datetime',
          exclusiveMinimum: '2024-02-28T00:00:00',
          exclusiveMaximum: '2024-02-28T00:00:00.0001',
        },
        'no value satisfies both',
      ],
      [
        { ...list('boolean'), uniqueItems: true, minItems: 3 },
        'minItems is 3 and uniqueItems is true, but there are only 2 different elements',
      ],
      [
        { ...list(string({ enumeration: ['a', 'b', 'cc'], minLength: 2 })), uniqueItems: true, minItems: 2 },
        'but there is only 1 different element',
      ],
      [{ ...list(integer({ minimum: 1, exclusiveMaximum: 4 })), uniqueItems: true, minItems: 4 }, 'only 3 different'],
      [{ ...list(string({ maxLength: 0 })), uniqueItems: true, minItems: 2 }, 'only 1 different'],
      [{ ...list({ logicalType: 'bytes', maxLength: 1 }), uniqueItems: true, minItems: 258 }, 'only 257 different'],
      [
        { ...list({ logicalType: 'bytes', minLength: 1, maxLength: 1 }), uniqueItems: true, minItems: 257 },
        'only 256 different',
      ],
    ]
    for (const [type, words] of wrong) {
      const message = expectProblem(await fd.putSchema(classOf('A', { x: type })), 422, 'InvalidDefinition')
      expect(message, JSON.stringify(type)).toContain('Class A, attribute x')
      expect(message).toContain(words)
    }
    expectProblem(await server.get(fd.at('/v1/schema/A')), 404, 'ClassNotFound')
    const right = {
      a: integer({ minimum: 5, maximum: 5 }),
      b: integer({ exclusiveMinimum: 1, exclusiveMaximum: 3 }),
      c: { logicalType: 'real', exclusiveMinimum: 1, exclusiveMaximum: 2 },
      d: string({ minLength: 2, maxLength: 2 }),
      e: string({ enumeration: ['a', 'bb'], minLength: 2 }),
      f: { ...list('string'), minItems: 1, maxItems: 1 },
      g: string({ storage: 'fixed', fixedLength: 3, minLength: 3 }),
      h: integer({ encoding: 'unsigned', exclusiveMaximum: 1 }),
      i: { ...list('boolean'), uniqueItems: true, minItems: 2 },
      j: { ...list(integer({ minimum: 1, maximum: 3 })), minItems: 4 },
      l: { ...list(string({ maxLength: 0 })), uniqueItems: true, minItems: 1 },
      m: { ...list({ logicalType: 'bytes', maxLength: 1 }), uniqueItems: true, minItems: 257 },
      n: { ...list({ logicalType: 'bytes', minLength: 100, maxLength: 1_000_000 }), uniqueItems: true, minItems: 257 },
      o: { ...list(string({ maxLength: 1 })), uniqueItems: true, minItems: 1_000 },
      k: { logicalType: 'datetime', storage: 'datetimeoffset', exclusiveMaximum: '0001-01-01T00:00:00Z' },
    }
    await fd.define(classOf('A', right))
  })

  rule('10.1.7', 'and defaults for which a check is false are refused', async () => {
    const check = (expression: string, name = 'ok') => ({ checks: [{ name, expression }] })
    const refused = async (change: Promise<Reply>) => expectProblem(await change, 422, 'InvalidDefinition')
    const x = integer({ default: -1 })
    const message = await refused(fd.putSchema(classOf('A', { x }, check('x > 0'))))
    expect(message).toBe(
      'Class A, check ok: x > 0 is false for the default of x -1, so creations that give no value would always be refused.',
    )
    const two = { x, y: integer({ default: 5 }), z: integer({ computed: { expression: 'x + y' } }) }
    expect(await refused(fd.putSchema(classOf('A', two, check('z > 10'))))).toContain('the default of y 5, x -1,')
    const never = 'so creations would always be refused.'
    expect(await refused(fd.putSchema(classOf('A', { x }, check('FALSE'))))).toBe(
      `Class A, check ok: FALSE is false whatever an object holds, ${never}`,
    )
    const constant = { c: integer({ computed: { expression: '1' } }) }
    expect(await refused(fd.putSchema(classOf('A', constant, check('c > 1'))))).toContain(
      `whatever an object holds, ${never}`,
    )
    await fd.define(
      classOf('Constant', constant, {
        checks: ['TRUE', 'NULL', 'c = 1'].map((e, i) => ({ name: `c${i}`, expression: e })),
      }),
    )
    await fd.create('Constant')
    expect(await refused(query("UPDATE SCHEMA { ALTER CLASS Constant {ADD CHECK no: 'a' = 'b'} }"))).toContain(never)
    await fd.define(
      classOf('A', { ...two, unset: 'integer', none: integer({ default: null }) }, check('z < 10 AND x < unset')),
      classOf('B', {}, { superClass: 'A', ...check('none IS NOT NULL AND x > 0', 'given') }),
      classOf('C', {}, { superClass: 'A', ...check('y > 4', 'large') }),
      classOf('E', { e: string({ default: 'a' }) }, { ...embedded, ...check("e != ''") }),
      classOf('D', { e: { logicalType: 'object', class: 'E' } }, check("e.e = 'b'")),
    )
    const constrain = (cls: string, attributeName: string, fields: Loose) => {
      return server.put(fd.at(`/v1/schema/${cls}`), { attributesToConstrain: [{ attributeName, ...fields }] })
    }
    expect(await refused(constrain('A', 'y', { default: 4 }))).toContain('Class C, check large: y > 4 is false')
    expect(await refused(constrain('E', 'e', { default: '' }))).toContain('the default of e ""')
    expect((await constrain('A', 'y', { default: 7 })).status).toBe(201)
    const classFields = check('y > 4 AND y < 7', 'large')
    expect(await refused(server.put(`${fd.at('/v1/schema/C')}&validate=false`, { classFields }))).toContain('y 7')
    const text = 'UPDATE SCHEMA { ALTER CLASS A {ADD CHECK positive: x > 0} }'
    expect(await refused(query(text))).toContain('Class A, check positive')
  })

  rule('10.1.5', 'listed again agree in what they give', async () => {
    const x = string({ isRequired: true, maxLength: 5 })
    await fd.define(classOf('A', { x }))
    await fd.define(classOf('A', { x: 'string' }), classOf('B', { y: string({ minLength: 1 }) }))
    await fd.define(classOf('A', { x }))
    const message = expectProblem(
      await fd.putSchema(classOf('A', { x: string({ maxLength: 6 }) })),
      409,
      'AttributeExists',
    )
    expect(message).toBe('Class A: attribute x exists with maxLength 5, not 6.')
    expectProblem(await fd.putSchema(classOf('A', { x: string({ minLength: 1 }) })), 409, 'AttributeExists')
    expect((await classNamed('A')).attributes[0]).toMatchObject({ isRequired: true, maxLength: 5 })
  })
})

describe('values', () => {
  rule(['10.1.2', '10.3.1'], 'each violation of an object is named', async () => {
    await fd.define(
      classOf('Task', {
        title: string({ isRequired: true, minLength: 2 }),
        status: string({ enumeration: ['open', 'done'] }),
        points: integer({ minimum: 0, exclusiveMaximum: 10 }),
        due: { logicalType: 'datetime', minimum: '2000-01-01T00:00:00' },
        rate: { logicalType: 'real', exclusiveMinimum: 0, maximum: 1 },
        mail: string({ pattern: '@' }),
        tags: { ...list(string({ maxLength: 2 })), maxItems: 2, uniqueItems: true },
      }),
    )
    const reply = await post('Task', {
      ...{ title: '𝄞', status: 'odd', points: 10, due: '1999-12-31T23:59:59', rate: 0, mail: 'x' },
      tags: ['a', 'a', 'abc'],
    })
    expect(violated(reply)).toEqual([
      ...['title minLength', 'status enumeration', 'points exclusiveMaximum', 'due minimum'],
      ...['rate exclusiveMinimum', 'mail pattern', 'tags maxItems', 'tags uniqueItems', 'tags maxLength'],
    ])
    expect(reply.json.errors[1]).toEqual({
      pointer: '/attributes/status',
      message: 'attribute status has to be one of "open", "done", not "odd"',
      className: 'Task',
      attributeName: 'status',
      constraint: 'enumeration',
      value: 'odd',
    })
    expect(reply.json.errors.at(-1)).toMatchObject({ pointer: '/attributes/tags/2', value: 'abc' })
    expect(violated(await post('Task', {}))).toEqual(['title isRequired'])
    await fd.define(
      classOf('Team', {
        name: string({ isRequired: true }),
        members: { ...list(reference('Member', 'team')), minItems: 1 },
      }),
      classOf('Member', { team: reference('Team', 'members') }),
    )
    expect(violated(await post('Team', {}))).toEqual(['name isRequired', 'members minItems'])
    const team = await fd.create('Team', { name: 'a', members: [await fd.create('Member')] })
    expect(
      violated(await server.put(fd.at(`/v1/object/${team}`), { attributes: { name: null, members: [] } })),
    ).toEqual(['name isRequired', 'members minItems'])
    const nulls = { title: 'ab', status: null, points: null, due: null, rate: null, mail: null }
    expect((await post('Task', nulls)).status).toBe(201)
    expect((await post('Task', { ...nulls, title: '𝄞𝄞', points: 9, rate: 1, tags: ['a', 'b'] })).status).toBe(201)
    expect((await query('FROM Task RETURN COUNT() AS n')).json).toEqual([{ n: 2 }])
  })

  rule(['10.1.1', '3.2.15', '3.5.7'], 'are unique by what they are, not by how they are written', async () => {
    const unique = (type: Parameters<typeof list>[0]) => ({ ...list(type), uniqueItems: true })
    const attributes = {
      j: unique('json'),
      at: unique({ logicalType: 'datetime', storage: 'datetimeoffset' }),
      d: unique({ logicalType: 'decimal', precision: 20, scale: 2 }),
      r: unique('real'),
      b: unique('bytes'),
      t: unique('string'),
    }
    await fd.define(classOf('A', attributes))
    const create = (given: string): Promise<Reply> =>
      server.send('POST', fd.at('/v1/object'), { raw: `{"class":"A","attributes":{${given}}}` })
    for (const equal of [
      ...['"j":[1.0,1]', '"j":[{"a":1,"b":2},{"b":2,"a":1.0}]', '"j":["A",[],"\\u0041"]'],
      '"at":["2024-01-01T12:00:00Z","2024-01-01T13:00:00+01:00"]',
      ...['"d":["1.5","1.50"]', '"r":[0,-0.0]', '"b":["AA==","AA"]', '"t":["x","\\u0078"]'],
    ]) {
      expect(violated(await create(equal)), equal).toEqual([`${equal.slice(1, equal.indexOf('":'))} uniqueItems`])
    }
    const distinct = [
      '"j":[1,"1",[1],{"a":1},{"a":"1"},12345678901234567890123,12345678901234567890124]',
      '"at":["2024-01-01T12:00:00Z","2024-01-01T12:00:00+01:00"]',
      ...['"d":["1.5","-1.5","15"]', '"r":[0,1]', '"b":["AA==","AAA="]', '"t":["x","X"]'],
    ]
    const reply = await create(distinct.join())
    expect(reply.status, reply.text).toBe(201)
  })

  rule(
    '10.1.3',
    'that a creation leaves out are the default, or null where the default of the type is refused',
    async () => {
      await fd.define(
        classOf('A', {
          a: string({ default: 'x' }),
          b: string({ isRequired: true, default: 'y' }),
          c: integer({ minimum: 1 }),
          d: integer({ maximum: 1 }),
          e: string({ enumeration: ['p', 'q'] }),
          f: { ...list('integer'), default: [1, 2] },
          g: integer({ default: null }),
          h: { logicalType: 'integer', storage: 'b64', default: '9223372036854775807' },
        }),
      )
      const oid = await fd.create('A', {})
      const defaults = { a: 'x', b: 'y', c: null, d: 0, e: null, f: [1, 2], g: null }
      expect(await fd.read(oid)).toMatchObject(defaults)
      expect((await server.get(fd.at(`/v1/object/${oid}`))).text).toContain('"h":9223372036854775807')
      await fd.update(oid, { a: 'z', c: 5, d: 1, e: 'q', f: [], g: 3 })
      await query('UPDATE A CLEAR a, c, d, e, f, g')
      expect(await fd.read(oid)).toMatchObject(defaults)
      await fd.update(oid, { a: null })
      expect(await fd.read(oid)).toMatchObject({ a: null })
    },
  )

  rule('10.1.4', 'of existing objects are what a new attribute was added with', async () => {
    await fd.define(classOf('A', { x: 'integer' }), classOf('E', { i: 'integer' }, embedded))
    await fd.define(classOf('A', { e: { logicalType: 'object', class: 'E' } }))
    const oid = await fd.create('A', { x: 1 })
    const added = { s: string({ default: 'old' }), n: integer({ minimum: 1 }) }
    await fd.define(classOf('A', added), classOf('E', { t: string({ default: 'in' }) }, embedded))
    await fd.define(classOf('A', { later: 'integer' }))
    expect(await fd.read(oid)).toMatchObject({ x: 1, s: 'old', n: null, e: { i: 0, t: 'in' } })
    expect((await query("FROM A WHERE s = 'old' AND n IS NULL RETURN x")).json).toEqual([{ x: 1 }])
    await fd.index('byS', 'A', false, 's')
    expect((await query("FROM A WHERE s = 'old' RETURN x")).json).toEqual([{ x: 1 }])
  })

  rule('10.1.6', 'of embedded objects', async () => {
    await fd.define(
      classOf('Money', { amount: integer({ minimum: 0 }), currency: string({ isRequired: true }) }, embedded),
      classOf('Order', {
        total: { logicalType: 'object', class: 'Money' },
        lines: { ...list({ logicalType: 'object', class: 'Money' }), maxItems: 2 },
      }),
    )
    const total = { amount: 1, currency: 'EUR' }
    expect(violated(await post('Order', {}))).toEqual(['currency isRequired'])
    const reply = await post('Order', { total, lines: [total, { amount: -1 }] })
    expect(violated(reply)).toEqual(['amount minimum', 'currency isRequired'])
    expect(reply.json.errors[0]).toMatchObject({ pointer: '/attributes/lines/1/amount', className: 'Money' })
    const oid = await fd.create('Order', { total, lines: [total] })
    const merged = await server.put(fd.at(`/v1/object/${oid}`), { attributes: { total: { amount: -5 } } })
    expect(violated(merged)).toEqual(['amount minimum'])
    expect(merged.json.errors[0].oid).toBe(oid)
    expect(await fd.read(oid)).toMatchObject({ total })
  })

  rule('10.3.3', 'sent back as they are, and read-only ones', async () => {
    await fd.define(classOf('A', { code: string({ isReadOnly: true }), n: integer({ maximum: 5 }) }))
    const oid = await fd.create('A', { code: 'c', n: 1 })
    await fd.update(oid, { code: 'c', n: 2 })
    expect(violated(await server.put(fd.at(`/v1/object/${oid}`), { attributes: { code: 'd', n: 3 } }))).toEqual([
      'code isReadOnly',
    ])
    expect(violated(await query('UPDATE A CLEAR code'))).toEqual(['code isReadOnly'])
    expect(await fd.read(oid)).toMatchObject({ code: 'c', n: 2 })
  })

  rule('10.3.2', 'on every way to write', async () => {
    await fd.define(classOf('A', { n: integer({ maximum: 5 }), tags: { ...list('string'), maxItems: 1 } }))
    await fd.index('byN', 'A', true, 'n')
    const oid = await fd.create('A', { n: 1 })
    const uri = `/v1/object/${oid}`
    const lines = (count: number, last: number): string => {
      const body = Array.from({ length: count }, (_, i) => ({ class: 'A', attributes: { n: -10 - i } }))
      return [...body, { class: 'A', attributes: { n: last } }].map((line) => JSON.stringify(line)).join('\n')
    }
    const ndjson = { 'content-type': 'application/x-ndjson' }
    const replies = [
      await server.put(fd.at(uri), { attributes: { n: 6 } }),
      await server.put(fd.at(uri), { attributes: { tags: { action: 'add', elements: ['a', 'b'] } } }),
      await server.post(fd.at('/v1/transaction'), [{ method: 'put', uri, body: { attributes: { n: 6 } } }]),
      await server.post(fd.at('/v1/object'), [{ class: 'A', attributes: { n: 6 } }]),
      await query('CREATE A {n: 6}'),
      await query('UPDATE A SET n TO 6'),
      await query("UPDATE A ADD {'a', 'b'} TO tags"),
      await query('UPDATE A WHERE n = 1 SET n TO n + 5'),
      await query('FOR EACH o IN LIST{1} => (CREATE A {n: 5 + $o})'),
      await server.post(fd.at('/v1/query'), { query: 'UPDATE A SET n TO $n', parameters: { n: 6 } }),
      await server.send('POST', `${fd.at('/v1/object')}&atomic=true`, { raw: lines(2, 6), headers: ndjson }),
      await server.send('POST', `${fd.at('/v1/object')}&atomic=true`, { raw: lines(100, 6), headers: ndjson }),
    ]
    for (const [i, reply] of replies.entries()) {
      expect([i, reply.status, reply.json.type], reply.text).toEqual([i, 422, 'ConstraintViolation'])
    }
    expect((await query('FROM A RETURN n, tags')).json).toEqual([{ n: 1, tags: [] }])
  })

  rule('10.1.3', 'null as the default of a list makes it empty', async () => {
    await fd.define(classOf('A', { tags: { ...list('string'), default: null } }))
    expect(await fd.read(await fd.create('A', {}))).toMatchObject({ tags: [] })
  })

  rule('10.3.1', 'elements that are kept as links are counted up to one too many', async () => {
    const limited = { minItems: 2, maxItems: 3 }
    const attributes = {
      crew: { ...list(reference('Sailor', 'ship')), ...limited },
      tree: { ...list(reference('Sailor'), 'TreeListOfReferences'), ...limited },
      plain: { ...list(reference('Sailor')), maxItems: 3 },
    }
    await fd.define(classOf('Ship', attributes), classOf('Sailor', { ship: reference('Ship', 'crew') }))
    const sailors = await Promise.all(Array.from({ length: 9 }, () => fd.create('Sailor')))
    const few = sailors.slice(0, 1)
    const refused = await fd.postObject('Ship', { crew: sailors, tree: few, plain: sailors.slice(0, 4) })
    expect(refused.json.errors.map(({ message, value }: Loose) => [message, value])).toEqual([
      [expect.stringMatching(/^attribute plain has to have at most 3 elements, not \[/), expect.any(Array)],
      ['attribute crew has to have at most 3 elements, but has at least 4', 4],
      ['attribute tree has to have at least 2 elements, but has 1', 1],
    ])
  })

  rule('10.4.12', 'what is judged at the end of a transaction is not among the errors of an operation', async () => {
    const crew = { ...list(reference('Sailor', 'ship')), minItems: 1 }
    await fd.define(
      classOf('Ship', { n: integer({ maximum: 5 }), crew }),
      classOf('Sailor', { ship: reference('Ship', 'crew') }),
    )
    const ship = await fd.create('Ship', { crew: [await fd.create('Sailor')] })
    const body = { attributes: { n: 9, crew: [] } }
    const operation = { method: 'put', uri: `/v1/object/${ship}`, body }
    const named = (reply: Reply) => reply.json.errors.map(({ constraint }: Loose) => constraint)
    expect(named(await fd.putObject(ship, body.attributes))).toEqual(['maximum', 'minItems'])
    expect(named(await server.post(fd.at('/v1/transaction'), [operation]))).toEqual(['maximum'])
  })

  rule(['10.3.1', '10.3.2'], 'in lines name class, attribute and constraint as elsewhere', async () => {
    await fd.define(classOf('A', { n: integer({ maximum: 5 }) }))
    const load = (parameters: string) => {
      const raw = [1, 6].map((n) => JSON.stringify({ class: 'A', attributes: { n } })).join('\n')
      const headers = { 'content-type': 'application/x-ndjson' }
      return server.send('POST', `${fd.at('/v1/object')}&${parameters}`, { raw, headers })
    }
    const fault = { pointer: '/attributes/n', className: 'A', attributeName: 'n', constraint: 'maximum', value: 6 }
    expect((await load('atomic=true')).json.errors).toMatchObject([fault])
    const lines = (await load('onError=skip')).text.split('\n')
    expect(JSON.parse(lines[1] as string).error.errors).toMatchObject([fault])
  })

  rule('10.2.2', 'of abstract classes', async () => {
    await fd.define(classOf('Base', { n: 'integer' }, { isAbstract: true }), classOf('A', {}, { superClass: 'Base' }))
    expectProblem(await post('Base', {}), 422, 'ClassIsAbstract')
    expectProblem(await query('CREATE Base {n: 1}'), 422, 'ClassIsAbstract')
    await fd.create('A', { n: 1 })
    expect((await query('FROM Base RETURN n')).json).toEqual([{ n: 1 }])
  })
})
