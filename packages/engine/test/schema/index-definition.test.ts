/** Indexes: the rules of their creation, and what is shown of them. */
import { describe, expect, it } from 'vitest'
import type { CreateIndex } from '../../src/schema/commands.ts'
import { defineIndex, representIndex, withoutIndex, withReadyIndex } from '../../src/schema/index-definition.ts'
import {
  catalogOf,
  classOf,
  embed,
  embedded,
  expectFault,
  list,
  reference,
  SchemaUnderTest,
  set,
} from './schema-under-test.ts'

const base = { name: 'i', indexedClass: 'A', isUnique: true, keyAttributes: [{ attributeName: 'a' }] }

const given = () => {
  const schema = new SchemaUnderTest()
  schema.put(
    classOf('N.Place', { city: 'string', deep: embed('Deep') }, embedded),
    classOf('N.Home', { city: 'string' }, { ...embedded, superClass: 'N.Place' }),
    classOf('Deep', { n: 'integer' }, embedded),
    classOf('N.Base', { id: 'integer', name: 'string' }),
    classOf(
      'Car',
      {
        name: 'string',
        yes: 'boolean',
        letter: 'character',
        n: 'integer',
        r: 'real',
        g: 'guid',
        d: 'date',
        t: 'time',
        dt: 'datetime',
        i: 'interval',
        ref: reference('Car'),
        home: embed('N.Home'),
        l: list('string'),
        s: set(reference('Car')),
        places: list(embed('N.Place')),
        m: { logicalType: 'map', elementSpecification: reference('Car') },
      },
      { superClass: 'N.Base' },
    ),
  )
  return schema
}
const builder = { sessionNumber: 1, isBackground: false }
const define = (schema: SchemaUnderTest, more: Partial<CreateIndex>) => {
  return defineIndex(schema.catalog, { ...base, indexedClass: 'Car', ...more }, 16, builder)
}
const shown = (schema: SchemaUnderTest, attributeName: string) => {
  const definition = schema.index('i', 'Car', attributeName)
  return representIndex(definition, schema.catalog).keyAttributes[0]?.attributeName
}

describe('the definition', () => {
  it('is building, with the next number', () => {
    const schema = given()
    const request = {
      name: 'one',
      isUnique: true,
      keyAttributes: [{ attributeName: 'name' }, { attributeName: 'n' }],
    }
    const { definition, state } = define(schema, request)
    const [name, n] = ['name', 'n'].map((word) => schema.cls('Car').findAttribute(word)?.number)
    expect(definition).toEqual({
      number: 1,
      name: 'one',
      indexedClass: 1_000_004,
      isUnique: true,
      state: 'building',
      session: 1,
      keyAttributes: [{ path: [name], maxStoredStringLength: 24 }, { path: [n] }],
    })
    expect(state).toEqual({
      ...schema.catalog.state,
      indexes: [definition],
      counters: { ...schema.catalog.state.counters, index: 2 },
    })
    expect(schema.catalog.indexes).toEqual([])
  })

  it('keeps maxStoredStringLength for strings only', () => {
    const key = (attributeName: string) => ({ attributeName, maxStoredStringLength: 7 })
    const { definition } = define(given(), { keyAttributes: ['name', 'id', 'home.city'].map(key) })
    expect(definition.keyAttributes.map(({ maxStoredStringLength }) => maxStoredStringLength)).toEqual([
      7,
      undefined,
      7,
    ])
  })

  it.each(['name', 'id', 'yes', 'letter', 'n', 'r', 'g', 'd', 't', 'dt', 'i', 'ref', 'home.city', 'home.deep.n'])(
    'key %s',
    (name) => {
      expect(shown(given(), name)).toBe(name)
    },
  )

  it.each([
    ['Base::name', 'N.Base::name'],
    ['N.Base::name', 'N.Base::name'],
    ['Car::name', 'name'],
    ['Base::id', 'id'],
    ['home.Place::city', 'home.N.Place::city'],
    ['home.N.Place::city', 'home.N.Place::city'],
    ['Car::home.N.Place::city', 'home.N.Place::city'],
    ['home.N.Place::deep.n', 'home.deep.n'],
  ])('key %s is shown as %s, and accepted so', (name, shownName) => {
    expect(shown(given(), name)).toBe(shownName)
    expect(shown(given(), shownName)).toBe(shownName)
    expect(define(given(), { keyAttributes: [{ attributeName: name }] }).definition).toEqual(
      define(given(), { keyAttributes: [{ attributeName: shownName }] }).definition,
    )
  })

  const at = '/keyAttributes/0/attributeName'
  it.each([
    ['l', 'AttributeNotIndexable', 'list'],
    ['s', 'AttributeNotIndexable', 'set'],
    ['m', 'AttributeNotIndexable', 'map'],
    ['home', 'AttributeNotIndexable', 'object'],
    ['home.deep', 'AttributeNotIndexable', 'object'],
    ['naem', 'UnknownAttribute', 'name'],
    ['home.ctiy', 'UnknownAttribute', 'city'],
    ['home.', 'UnknownAttribute', 'N.Home'],
    ['.home', 'UnknownAttribute', 'Car'],
    ['name.x', 'UnknownAttribute', 'no embedded object'],
    ['ref.name', 'UnknownAttribute', 'no embedded object'],
    ['places.city', 'UnknownAttribute', 'no embedded object'],
    ['Nope::name', 'UnknownAttribute', 'Nope::name'],
    ['home.Nope::city', 'UnknownAttribute', 'Nope::city'],
    ['__proto__', 'UnknownAttribute', '__proto__'],
    ['a.'.repeat(50_000), 'UnknownAttribute', 'Car'],
  ] as const)('refused: %.40s', (attributeName, type, word) => {
    expectFault(() => define(given(), { keyAttributes: [{ attributeName }] }), type, at, word)
  })

  it.each([
    ['a bad name', { name: 'a b' }, 'InvalidName', '/name'],
    ['an unknown class', { indexedClass: 'Cra' }, 'UnknownClass', '/indexedClass'],
    ['an unknown number', { indexedClass: '5' }, 'UnknownClass', '/indexedClass'],
    ['an embeddable class', { indexedClass: 'N.Place' }, 'ClassNotReferenceable', '/indexedClass'],
    [
      'a key twice',
      { keyAttributes: [{ attributeName: 'n' }, { attributeName: 'Car::n' }] },
      'InvalidDefinition',
      '/keyAttributes/1',
    ],
    [
      '17 keys',
      { keyAttributes: Array.from({ length: 17 }, () => ({ attributeName: 'n' })) },
      'LimitExceeded',
      '/keyAttributes',
    ],
  ] as const)('refused: %s', (_words, more, type, pointer) => {
    expectFault(() => define(given(), { keyAttributes: [{ attributeName: 'n' }], ...more }), type, pointer)
  })

  it('a name is taken once; by number or name it is the same class', () => {
    const schema = given()
    schema.index('i', '1000004', 'n')
    expectFault(() => schema.index('i', 'Car', 'r'), 'IndexExists', '/name', 'i')
    schema.catalog = catalogOf(withoutIndex(schema.catalog.state, 1 as never))
    expect(schema.index('i', 'Car', 'r').number).toBe(2)
  })
})

describe('the record', () => {
  it('has its fields, and the state', () => {
    const schema = given()
    const definition = schema.index('i', '1000004', 'home.city', 'n')
    const record = {
      name: 'i',
      indexedClass: 'Car',
      isUnique: false,
      keyAttributes: [
        { attributeName: 'home.city', properties: { maxStoredStringLength: 24 } },
        { attributeName: 'n' },
      ],
    }
    expect(representIndex(definition, schema.catalog)).toEqual({ ...record, state: 'building' })
    const ready = catalogOf(withReadyIndex(schema.catalog.state, definition.number))
    expect(representIndex(ready.indexByName('i') as typeof definition, ready)).toEqual({ ...record, state: 'ready' })
  })

  it('names an attribute with its class once it is hidden', () => {
    const schema = given()
    const definition = schema.index('i', 'Car', 'id')
    schema.put(classOf('Car', { id: 'string' }))
    expect(representIndex(definition, schema.catalog).keyAttributes[0]?.attributeName).toBe('N.Base::id')
  })
})
