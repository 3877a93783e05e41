/** The look-ups of a catalog. */
import { describe, expect, it } from 'vitest'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { CatalogState } from '../../src/schema/class-definition.ts'
import { withoutIndex } from '../../src/schema/index-definition.ts'
import { catalogOf, classOf, embedded, expectFault, SchemaUnderTest, thrownBy } from './schema-under-test.ts'

const given = () => {
  const schema = new SchemaUnderTest()
  schema.put(
    classOf('N.Base', { id: 'integer', name: 'string', shared: 'real' }),
    classOf('N.Mid', { name: 'string', extra: 'real' }, { superClass: 'N.Base' }),
    classOf('M.Leaf', { name: 'string' }, { superClass: 'N.Mid' }),
    classOf('Apart', {}, embedded),
  )
  return schema
}

it('an empty catalog has nothing, and begins at class number 1000000', () => {
  const version = Buffer.from([1, 2])
  const catalog = buildCatalog(emptyCatalogState(), version)
  expect([catalog.version, catalog.classes, catalog.indexes]).toEqual([version, [], []])
  expect(catalog.state.counters.classOrShape).toBe(1_000_000)
})

describe('classes', () => {
  it('are found by name, number and digits', () => {
    const { catalog } = given()
    const base = catalog.classByName('N.Base')
    expect(base?.number).toBe(1_000_000)
    expect(catalog.classByNumber(1_000_000 as never)).toBe(base)
    expect([catalog.findClass('N.Base'), catalog.findClass('1000000')]).toEqual([base, base])
    expect(base?.namespace).toBe('N')
    expect(catalog.classByName('Apart')?.namespace).toBeNull()
  })

  it.each([
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    'Base',
    'n.base',
    '5',
    '1000000.0',
    '1e6',
    ' ',
    '9'.repeat(400),
  ])('%s is none', (name) => {
    const { catalog } = given()
    expect([catalog.findClass(name), catalog.classByName(name), catalog.indexByName(name)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(catalog.classByName('N.Base')?.findAttribute(name)).toBeUndefined()
  })

  it('know those above and below', () => {
    const schema = given()
    const [base, mid, leaf, apart] = [
      schema.cls('N.Base'),
      schema.cls('N.Mid'),
      schema.cls('M.Leaf'),
      schema.cls('Apart'),
    ]
    expect(base.subclasses).toEqual([mid, leaf])
    expect(mid.subclasses).toEqual([leaf])
    expect([base.superClass, mid.superClass, leaf.superClass]).toEqual([null, base, mid])
    expect([leaf, mid, base, apart].map((cls) => leaf.isOrInherits(cls.number))).toEqual([true, true, true, false])
    expect(base.isOrInherits(leaf.number)).toBe(false)
  })

  it('that are deleted are not found; their numbers and names are in the state only', () => {
    const { state } = given().catalog
    const deleted: CatalogState = {
      ...state,
      classes: state.classes.map((cls) => (cls.name === 'Apart' ? { ...cls, isDeleted: true } : cls)),
    }
    const catalog = catalogOf(deleted)
    expect([catalog.findClass('Apart'), catalog.findClass('1000003'), catalog.classes.length]).toEqual([
      undefined,
      undefined,
      3,
    ])
    const schema = new SchemaUnderTest(deleted)
    expect(schema.put(classOf('Apart', { x: 'integer' }))).toEqual([1_000_004])
    expect(schema.catalog.state.classes).toHaveLength(5)
  })
})

describe('attributes', () => {
  it('stand in the order of the shape, superclass attributes first, hidden ones with their class', () => {
    const leaf = given().cls('M.Leaf')
    expect(leaf.attributes.map(({ outputName }) => outputName)).toEqual([
      'id',
      'N.Base::name',
      'shared',
      'N.Mid::name',
      'extra',
      'name',
    ])
    expect(leaf.attributes.map(({ number }) => number)).toEqual(leaf.shape.attributes.map(({ number }) => number))
    expect(leaf.attributes.map(({ declaringClass }) => declaringClass.name)).toEqual([
      'N.Base',
      'N.Base',
      'N.Base',
      'N.Mid',
      'N.Mid',
      'M.Leaf',
    ])
  })

  it.each([
    ['name', 'name', 'M.Leaf'],
    ['id', 'id', 'N.Base'],
    ['N.Base::name', 'N.Base::name', 'N.Base'],
    ['Base::name', 'N.Base::name', 'N.Base'],
    ['Mid::name', 'N.Mid::name', 'N.Mid'],
    ['Leaf::name', 'name', 'M.Leaf'],
    ['M.Leaf::name', 'name', 'M.Leaf'],
    ['Base::id', 'id', 'N.Base'],
    ['Mid::id', 'id', 'N.Base'],
    ['Leaf::extra', 'extra', 'N.Mid'],
  ])('%s', (name, outputName, declaring) => {
    const found = given().cls('M.Leaf').findAttribute(name)
    expect([found?.outputName, found?.declaringClass.name]).toEqual([outputName, declaring])
  })

  it.each([
    'nope',
    'Base::nope',
    'Base::extra',
    'Apart::name',
    'base::name',
    '::name',
    'N.Base::',
    'N.Base:name',
    'Base::name::name',
    '1000000::name',
  ])('%s is none', (name) => expect(given().cls('M.Leaf').findAttribute(name)).toBeUndefined())

  it('a simple name that two superclasses have is ambiguous; the full name and the class of that very name are not', () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('N.A', { x: 'real' }),
      classOf('M.A', { x: 'real' }, { superClass: 'N.A' }),
      classOf('B', { x: 'real' }, { superClass: 'M.A' }),
    )
    const error = thrownBy(() => schema.cls('B').findAttribute('A::x'))
    expect(error.type).toBe('AmbiguousAttribute')
    for (const word of ['Class B', 'M.A', 'N.A']) expect(error.message).toContain(word)
    expect(schema.cls('B').findAttribute('N.A::x')?.declaringClass.name).toBe('N.A')
    schema.put(classOf('A', { x: 'real' }, { superClass: 'B' }))
    expect(schema.cls('A').findAttribute('A::x')?.declaringClass.name).toBe('A')
    expectFault(() => schema.index('i', 'B', 'A::x'), 'AmbiguousAttribute', '/keyAttributes/0/attributeName')
  })

  it('are found by number', () => {
    const { catalog } = given()
    expect(catalog.attribute(2 as never)?.name).toBe('name')
    expect(catalog.attribute(99 as never)).toBeUndefined()
  })
})

it('indexes cover the class and its subclasses', () => {
  const schema = given()
  const [base, leaf] = [schema.index('base', 'N.Base', 'id'), schema.index('leaf', 'M.Leaf', 'id')]
  const names = (name: string) => schema.cls(name).indexes.map((index) => index.name)
  expect([names('N.Base'), names('N.Mid'), names('M.Leaf')]).toEqual([['base'], ['base'], ['base', 'leaf']])
  expect([schema.catalog.indexByName('leaf'), schema.catalog.indexByNumber(base.number)]).toEqual([leaf, base])
  expect(catalogOf(withoutIndex(schema.catalog.state, base.number)).classByName('M.Leaf')?.indexes).toEqual([leaf])
})

it('a thousand classes of twenty attributes', () => {
  const schema = new SchemaUnderTest()
  const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, 'integer']))
  schema.put(
    ...Array.from({ length: 1_000 }, (_, i) =>
      classOf(`C${i}`, attributes, i % 10 > 0 ? { superClass: `C${i - (i % 10)}` } : {}),
    ),
  )
  expect(schema.cls('C999').attributes).toHaveLength(40)
  expect(schema.cls('C990').subclasses).toHaveLength(9)
})
