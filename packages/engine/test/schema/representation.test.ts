/** Classes and namespaces as replies show them. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { listNamespaces, readNamespace } from '../../src/schema/representation.ts'
import {
  classOf,
  embed,
  embedded,
  list,
  reference,
  SchemaUnderTest,
  set,
  thrownBy,
  withoutNumbers,
} from './schema-under-test.ts'

const fleet = JSON.parse(readFileSync(new URL('./rental-fleet-schema.json', import.meta.url), 'utf8'))

describe('a class', () => {
  it('has its fields in their order', () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('N.A', { x: 'integer' }),
      classOf('B', { s: 'string' }, { superClass: 'N.A' }),
      classOf('E', {}, embedded),
    )
    expect(JSON.stringify(schema.read())).toBe(
      JSON.stringify([
        {
          className: 'N.A',
          classNumber: '1000000',
          shapeNumber: '1000000',
          isReferenceable: true,
          isInternal: false,
          isDeleted: false,
          superClass: null,
          attributes: [{ attributeName: 'x', logicalType: 'integer', encoding: 'signed', storage: 'b32' }],
        },
        {
          className: 'B',
          classNumber: '1000001',
          shapeNumber: '1000001',
          isReferenceable: true,
          isInternal: false,
          isDeleted: false,
          superClass: 'N.A',
          attributes: [{ attributeName: 's', logicalType: 'string', encoding: 'utf8', storage: 'variable' }],
        },
        {
          className: 'E',
          classNumber: '1000002',
          shapeNumber: '1000002',
          isReferenceable: false,
          isInternal: false,
          isDeleted: false,
          superClass: null,
          attributes: [],
        },
      ]),
    )
  })

  it('shows classes and attributes by name, an absent inverse not at all', () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('A', { b: reference('1000001', 'as'), u: reference('B', ''), e: embed('E'), l: list('BOOLEAN') }),
      classOf('B', { as: { ...set(reference('A', 'b')), collectionTypeName: 'HASHSETOFREFERENCES' } }),
      classOf('E', {}, embedded),
    )
    const [a, b] = schema.read()
    expect(a?.attributes).toEqual([
      { attributeName: 'b', logicalType: 'reference', referencedClass: 'B', inverseAttribute: 'as' },
      { attributeName: 'u', logicalType: 'reference', referencedClass: 'B' },
      { attributeName: 'e', logicalType: 'object', class: 'E' },
      {
        attributeName: 'l',
        logicalType: 'list',
        storage: 'variable',
        elementSpecification: { logicalType: 'boolean', encoding: 'binary', storage: 'byte' },
      },
    ])
    expect(b?.attributes).toEqual([
      {
        attributeName: 'as',
        logicalType: 'set',
        collectionTypeName: 'HashSetOfReferences',
        elementSpecification: { logicalType: 'reference', referencedClass: 'A', inverseAttribute: 'b' },
      },
    ])
  })
})

describe('the rental fleet', () => {
  it('is defined in any order', () => {
    const [there, back] = [new SchemaUnderTest(), new SchemaUnderTest()]
    there.put(...fleet)
    back.put(...fleet.toReversed())
    expect(there.read().map(({ className }) => className)).toEqual(
      fleet.map(({ className }: { className: string }) => className),
    )
    expect(withoutNumbers(back.read())).toEqual(withoutNumbers(there.read()))
  })

  it('can be put again as it was read, here and elsewhere', () => {
    const schema = new SchemaUnderTest()
    schema.put(...fleet)
    const { state } = schema.catalog
    schema.put(...schema.read())
    expect(schema.catalog.state).toBe(state)
    const other = new SchemaUnderTest()
    other.put(classOf('First', {}))
    other.put(...schema.read())
    expect(withoutNumbers(other.read().slice(1))).toEqual(withoutNumbers(schema.read()))
  })
})

describe('namespaces', () => {
  const given = (...names: string[]) => {
    const schema = new SchemaUnderTest()
    schema.put(...names.map((name) => classOf(name, {})))
    return schema.catalog
  }
  const classesOf = (catalog: ReturnType<typeof given>, name: string) => {
    const read = readNamespace(catalog, name)
    return [read.name, read.classes.map(({ className }) => className)]
  }

  it('the default one first, always; others while they hold a class', () => {
    expect(listNamespaces(given())).toEqual([null])
    expect(listNamespaces(given('Z.A', 'A', 'N.M.A', 'Z.B'))).toEqual([null, 'N.M', 'Z'])
  })

  it('hold their classes by class number', () => {
    const catalog = given('Z.B', 'A', 'Z.A', 'Z.Y.C')
    expect(classesOf(catalog, 'Z')).toEqual(['Z', ['Z.B', 'Z.A']])
    expect(classesOf(catalog, 'Z.Y')).toEqual(['Z.Y', ['Z.Y.C']])
    expect(readNamespace(catalog, 'Z').classes[0]).toMatchObject({ className: 'Z.B', classNumber: '1000000' })
  })

  it.each(['null', 'Default'])('the default one is %s, unless a namespace really has that name', (name) => {
    expect(classesOf(given(), name)).toEqual([null, []])
    expect(classesOf(given('A', 'Z.B'), name)).toEqual([null, ['A']])
    expect(classesOf(given('A', `${name}.B`), name)).toEqual([name, [`${name}.B`]])
  })

  it.each(['', 'N', 'default', 'A', '__proto__'])('%s is none', (name) => {
    expect(thrownBy(() => readNamespace(given('A', 'N.M.B'), name)).type).toBe('NamespaceNotFound')
  })

  it('near ones are suggested', () => {
    expect(thrownBy(() => readNamespace(given('Fleet.A'), 'Fleat')).message).toContain('Fleet')
  })
})
