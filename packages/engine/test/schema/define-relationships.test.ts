/** Bidirectional links: both sides are declared, and fit each other. */
import { describe, expect, it } from 'vitest'
import { classOf, embedded, expectFault, list, reference, SchemaUnderTest, set } from './schema-under-test.ts'

const inverses = (schema: SchemaUnderTest) =>
  schema.catalog.state.classes.map(({ attributes }) =>
    attributes.map(({ spec }) => {
      if (spec.logicalType === 'reference') return spec.inverseAttribute
      return 'element' in spec && spec.element.logicalType === 'reference' ? spec.element.inverseAttribute : undefined
    }),
  )

describe('pairs', () => {
  it.each([
    ['1–1', reference('B', 'a'), reference('A', 'b')],
    ['1–n', reference('B', 'a'), list(reference('A', 'b'))],
    ['n–1', set(reference('B', 'a')), reference('A', 'b')],
    ['n–n', list(reference('B', 'a')), set(reference('A', 'b'))],
    [
      'n–n of a named list',
      { ...list(reference('B', 'a')), collectionTypeName: 'treelistofreferences' },
      list(reference('A', 'b')),
    ],
  ])('%s, in either order and added later', (_words, there, back) => {
    const together = new SchemaUnderTest()
    together.put(classOf('A', { b: there }), classOf('B', { a: back }))
    expect(inverses(together)).toEqual([[2], [1]])
    const reversed = new SchemaUnderTest()
    reversed.put(classOf('B', { a: back }), classOf('A', { b: there }))
    expect(inverses(reversed)).toEqual([[2], [1]])
    const later = new SchemaUnderTest()
    later.put(classOf('A', {}), classOf('B', {}))
    later.put(classOf('B', { a: back }), classOf('A', { b: there }))
    expect(inverses(later)).toEqual([[1], [2]])
  })

  it('within one class, also with itself', () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('Person', {
        parent: reference('Person', 'children'),
        children: list(reference('Person', 'parent')),
        spouse: reference('Person', 'spouse'),
      }),
    )
    expect(inverses(schema)).toEqual([[2, 1, 3]])
  })

  it('of a superclass, inherited by both sides', () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('Car', {}, { superClass: 'Vehicle' }),
      classOf('Vehicle', { owner: reference('Person', 'vehicles') }),
      classOf('Person', { vehicles: list(reference('Vehicle', 'owner')) }),
    )
    expect(schema.cls('Car').findAttribute('owner')?.declaringClass.name).toBe('Vehicle')
  })
})

describe('refused', () => {
  const at = '/0/attributes/0/inverseAttribute'
  const elements = '/0/attributes/0/elementSpecification/inverseAttribute'
  it.each([
    ['the other side names none', [classOf('A', { b: reference('B', 'a') }), classOf('B', { a: reference('A') })], at],
    [
      'the other side names another',
      [classOf('A', { b: reference('B', 'a'), c: reference('B', 'a') }), classOf('B', { a: reference('A', 'c') })],
      at,
    ],
    ['the other side is no reference', [classOf('A', { b: reference('B', 'a') }), classOf('B', { a: 'integer' })], at],
    [
      'the other side is a list of no references',
      [classOf('A', { b: list(reference('B', 'a')) }), classOf('B', { a: list('integer') })],
      elements,
    ],
    [
      'the other side is a map',
      [
        classOf('A', { b: set(reference('B', 'm')) }),
        classOf('B', { m: { logicalType: 'map', elementSpecification: reference('A') } }),
      ],
      elements,
    ],
    [
      'the other side refers elsewhere',
      [
        classOf('A', { b: reference('B', 'a') }),
        classOf('B', { a: reference('C', 'b') }),
        classOf('C', { b: reference('B', 'a') }),
      ],
      at,
    ],
    [
      'the inverse is declared by a superclass of the referenced class',
      [
        classOf('Person', { cars: list(reference('Car', 'owner')) }),
        classOf('Vehicle', { owner: reference('Person', 'cars') }),
        classOf('Car', {}, { superClass: 'Vehicle' }),
      ],
      elements,
    ],
    [
      'the inverse refers to a subclass of the declaring class',
      [
        classOf('Vehicle', { owner: reference('Person', 'cars') }),
        classOf('Person', { cars: list(reference('Car', 'owner')) }),
        classOf('Car', {}, { superClass: 'Vehicle' }),
      ],
      at,
    ],
    ['an embeddable class', [classOf('E', { b: reference('B', 'a') }, embedded), classOf('B', { a: 'integer' })], at],
  ] as const)('%s', (_words, batch, pointer) => {
    const schema = new SchemaUnderTest()
    expectFault(() => schema.put(...batch), 'InvalidDefinition', pointer, 'Class ', 'attribute ')
    expect(schema.catalog.classes).toEqual([])
  })

  it('a map has no inverse, in elements or keys', () => {
    const b = classOf('B', { a: reference('A', 'm') })
    for (const [field, type] of [
      ['elementSpecification', { elementSpecification: reference('B', 'a') }],
      ['keySpecification', { keySpecification: reference('B', 'a'), elementSpecification: reference('B') }],
    ] as const) {
      const batch = [classOf('A', { m: { logicalType: 'map', ...type } }), b]
      expectFault(
        () => new SchemaUnderTest().put(...batch),
        'InvalidDefinition',
        `/0/attributes/0/${field}`,
        'Class A',
        'map',
      )
    }
  })

  it('a unidirectional reference that exists is paired by a batch that lists it with its new inverse, and by no other', () => {
    const schema = new SchemaUnderTest()
    schema.put(classOf('A', { b: reference('B') }), classOf('B', {}))
    expectFault(
      () => schema.put(classOf('B', { a: reference('A', 'b') })),
      'InvalidDefinition',
      at,
      'b',
      'does not name it as inverse in turn; to give it that inverse, list it in the same request, with the inverse a',
    )
    schema.put(classOf('A', { b: reference('B', 'a') }), classOf('B', { a: reference('A', 'b') }))
    const [a] = schema.read()
    expect(a).toMatchObject({ attributes: [{ attributeName: 'b', inverseAttribute: 'a' }] })
  })
})
