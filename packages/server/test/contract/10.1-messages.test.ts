/** What errors of definitions say: class, attribute, value, and what is allowed (contract 10.1.1, 10.5.1, 10.6.1). */
import { expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const string = (more: object) => ({ logicalType: 'string', ...more })
const integer = (more: object) => ({ logicalType: 'integer', ...more })

rule('10.1.1', 'a refused definition names class, attribute, value, and what is allowed', async () => {
  const expression = 'must be an expression of the query language'
  const wrong: [Loose, string, Loose?][] = [
    [string({ isRequired: 'perhaps' }), 'isRequired must be true or false, not "perhaps"'],
    [string({ default: 5 }), 'default must be a value of the attribute: 5 is not a string'],
    [integer({ enumeration: [null] }), 'enumeration must contain values of the attribute, not null'],
    [integer({ enumeration: ['a'] }), 'enumeration must contain values of the attribute: "a" is not an integer'],
    [
      integer({ isReadOnly: true, onUpdate: { expression: 'x + 1' } }),
      'onUpdate is not allowed together with isReadOnly: it changes the attribute later',
    ],
    [string({ enumeration: 'a' }), 'enumeration must be an array of 1 to 1000 values, not "a"'],
    [
      string({ enumeration: [{ value: 'a' }] }),
      'enumeration may contain values and objects such as {"value": …, "label": "…"}, not {"value":"a"}',
    ],
    [
      { ...list('string'), isRequired: true },
      'isRequired is allowed only for scalars and single references, not for an attribute of type list',
    ],
    [
      list(string({ default: 'x' })),
      'default is allowed only for scalars and lists of them, not for elements of type string',
    ],
    [
      string({ isReadOnly: true }),
      'isReadOnly is allowed only for attributes of referenceable classes, not for an attribute of type string of an embeddable class',
      embedded,
    ],
    [integer({ computed: { expression: '1' }, default: 1 }), 'default is not allowed together with computed'],
    [integer({ computed: { expression: '1', isStored: 'x' } }), 'computed.isStored must be true or false, not "x"'],
    [integer({ computed: '1' }), `computed ${expression} as {"expression": "…"}, of 1 to 10000 characters, not "1"`],
    [
      string({ onUpdate: { expr: 'x' } }),
      `onUpdate ${expression} as {"expression": "…"}, of 1 to 10000 characters, not {"expr":"x"}`,
    ],
    [
      { ...list('string'), default: { expression: '1' } },
      'default may be an expression for scalars only, not for a list',
    ],
    [string({ pattern: '(' }), 'pattern must be a regular expression, not "(": '],
    [
      { ...reference('A'), onTargetDelete: 'explode' },
      'onTargetDelete must be one of keep, clear, restrict, delete, not "explode"',
    ],
    [
      { ...list(reference('A')), onTargetDelete: 'clear' },
      'onTargetDelete is allowed only for references of referenceable classes (for those in a collection, in its elementSpecification), not for an attribute of type list',
    ],
    [string({ annotations: { a: 5 } }), 'annotations must be an object whose values are texts, not {"a":5}'],
  ]
  for (const [type, words, more] of wrong) {
    const message = expectProblem(await fd.putSchema(classOf('A', { x: type }, more ?? {})), 422, 'InvalidDefinition')
    expect(message).toContain(`Class A, attribute x: ${words}`)
  }
  const display = await fd.putSchema(classOf('A', {}, { displayAttribute: 'zz' }))
  expect(expectProblem(display, 422, 'InvalidDefinition')).toBe(
    'Class A: displayAttribute must be the name of an attribute of the class, not "zz".',
  )
})

rule(['10.6.14', '10.6.18'], 'a refused expression is told with its place, and what it lacks', async () => {
  const computed = (expression: string) => integer({ computed: { expression } })
  const itself = await fd.putSchema(classOf('A', { a: 'integer', n: computed('n + 1') }))
  expect(expectProblem(itself, 422, 'InvalidDefinition')).toBe(
    'Class A, attribute n, computed: it is computed from itself.',
  )
  expect(itself.json.errors[0].pointer).toBe('/0/attributes/1/computed')
  const circle = await fd.putSchema(
    classOf('A', { a: computed('b + n'), b: computed('c'), c: computed('a'), n: 'integer' }),
  )
  expect(expectProblem(circle, 422, 'InvalidDefinition')).toBe(
    'Class A, attribute a, computed: it is computed from itself, by way of b, c.',
  )
  await fd.define(classOf('B', { a: 'integer', b: computed('a') }, {}))
  const changed = { attributesToConstrain: [{ attributeName: 'b', computed: { expression: 'b' } }] }
  const altered = await server.put(fd.at('/v1/schema/B'), changed)
  expect(expectProblem(altered, 422, 'InvalidDefinition')).toContain('Class B, attribute b, computed')
  expect(altered.json.errors[0].pointer).toBe('/attributesToConstrain/0/computed')
  const drawn = integer({ default: { expression: "NEXT('numbers')" } })
  expect(expectProblem(await fd.putSchema(classOf('A', { a: drawn })), 422, 'InvalidDefinition')).toBe(
    "Class A, attribute a, default: Line 1, column 6: there is no sequence 'numbers'; CREATE SEQUENCE makes one.",
  )
})

rule(['10.5.5', '10.5.6'], 'a refusal for stored objects names one, and what to do about a new attribute', async () => {
  await fd.define(classOf('A', { a: 'string' }))
  const first = await fd.create('A', { a: 'x' })
  await fd.create('A', { a: 'y' })
  const refused = async (body: object) =>
    expectProblem(await server.put(fd.at('/v1/schema/A'), body), 409, 'ObjectsViolateConstraint')
  expect(await refused({ attributesToConstrain: [{ attributeName: 'a', minLength: 3 }] })).toBe(
    `2 objects violate minLength of attribute a of class A (${first} and others): nothing was changed.`,
  )
  expect(await refused({ attributesToAdd: [{ attributeName: 'b', logicalType: 'date', isRequired: true }] })).toBe(
    `2 objects violate isRequired of attribute b of class A (${first} and others): nothing was changed. Existing objects get the default of a new attribute, or null without one: give it a default that satisfies its constraints, or add it without them, fill it by UPDATE, and constrain it then.`,
  )
})

rule('10.6.1', 'a check and an attribute have expressions of limited length, named as what it is', async () => {
  const expression = (words: number) => `a${' + 1'.repeat((words - 1) / 2)}`
  const tooLong = expression(2_001)
  const longest = `LENGTH(LIST{a${', a'.repeat(990)}})`
  const wrong: [Loose, Loose, string][] = [
    [{ a: 'integer' }, { checks: [{ name: 'k', expression: `${expression(1_999)} > 0` }] }, 'check k'],
    [{ a: 'integer', c: integer({ computed: { expression: tooLong } }) }, {}, 'attribute c, computed'],
    [{ a: 'integer', c: integer({ default: { expression: tooLong } }) }, {}, 'attribute c, default'],
  ]
  for (const [attributes, more, where] of wrong) {
    const reply = await fd.putSchema(classOf('A', attributes, more))
    expectProblem(reply, 422, 'InvalidDefinition')
    expect(reply.json.message).toMatch(
      new RegExp(`^Class A, ${where}: .*An expression of a class has at most 2000 words, values and symbols\\.$`),
    )
  }
  await fd.define(classOf('A', { a: 'integer', c: integer({ computed: { expression: longest } }) }))
})

rule('10.6.1', 'a refused check is named, with what a check has to be', async () => {
  const wrong: [unknown, string][] = [
    ['x', 'checks must be an array of at most 100 checks, not "x"'],
    [[1], 'check 1: it must be an object with name and expression, not 1'],
    [
      [{ name: '1a', expression: '1 = 1' }],
      'check 1: its name must be letters, digits and _, beginning with a letter or _, at most 128, not "1a"',
    ],
    [
      [{ name: 'c', expression: 5 }],
      'check c: expression must be an expression of the query language, of 1 to 10000 characters, not 5',
    ],
    [
      [{ name: 'c', expression: '1 = 1', more: 1 }],
      "check c: it has no field 'more'; its fields are name, expression and message",
    ],
    [
      [{ name: 'c', expression: '1 = 1', message: 5 }],
      'check c: message must be a text of at most 10000 characters, not 5',
    ],
  ]
  for (const [checks, words] of wrong) {
    const message = expectProblem(await fd.putSchema(classOf('A', {}, { checks })), 422, 'InvalidDefinition')
    expect(message).toBe(`Class A: ${words}.`)
  }
})

rule('10.5.1', 'a refused change says what its fields have to be', async () => {
  await fd.define(classOf('A', { a: 'integer' }))
  const alter = (body: object) => server.put(fd.at('/v1/schema/A'), body)
  const refused = async (body: object) => expectProblem(await alter(body), 400, 'MalformedRequest')
  expect(await refused({ attributesToConstrain: 'a' })).toBe('attributesToConstrain must be an array, not "a".')
  expect(await refused({ attributesToConstrain: [{}] })).toBe(
    'An entry of attributesToConstrain must have an attributeName.',
  )
  expect(await refused({ classFields: 5 })).toBe('classFields must be a JSON object, not 5.')
  const text = 'UPDATE SCHEMA { CREATE CLASS B {x: String{MinLenght: 2}} }'
  const reply = await server.post(fd.at('/v1/query'), { query: text })
  expect(expectProblem(reply, 422, 'QueryError')).toContain(
    "a type has no setting 'MinLenght'. Did you mean MinLength?",
  )
})

rule('10.1.1', 'a mistake in the braces of a type is told with what is written there instead', async () => {
  const wrong: [string, string][] = [
    ['n: String{Default: open}', "a text stands in quotes, 'a', and an expression in parentheses, (a + 1)"],
    ['n: Json{Default: {x: 1}}', `objects and arrays of json are written JSON('{"a": [1]}')`],
    ['n: String{Pattern: /a/}', "a regular expression stands in quotes: '^a+$'"],
    ["n: String{Enumeration: ['a']}", "several values stand in parentheses: ('a', 'b')"],
    ['n: DateTime{OnUpdate: NOW()}', 'an expression of the schema stands in parentheses: (a + 1)'],
    ['n: Integer = n + 1', 'an expression of the schema stands in parentheses: (a + 1)'],
    ['n: Reference{A}', 'a setting has a name and a value, as in Reference{Referenced: C}'],
    ['n: String, CHECK LENGTH(n) > 3', 'a check has a name: CHECK name: a > 0'],
    ["n: String, CHECK c: LENGTH(n) > 3 'too short'", "what a check tells stands behind MESSAGE: MESSAGE 'a text'"],
  ]
  for (const [members, hint] of wrong) {
    const reply = await server.post(fd.at('/v1/query'), { query: `UPDATE SCHEMA { CREATE CLASS A {${members}} }` })
    expect(expectProblem(reply, 400, 'QuerySyntaxError'), members).toContain(hint)
  }
})
