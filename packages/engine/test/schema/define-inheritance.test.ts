/** Superclasses: how they are named, which are possible, kinds of classes. */
import { describe, expect, it } from 'vitest'
import { classOf, embedded, expectFault, reference, SchemaUnderTest } from './schema-under-test.ts'

const given = () => {
  const schema = new SchemaUnderTest()
  schema.put(
    classOf('Base', { x: 'integer' }),
    classOf('Sub', {}, { superClass: 'Base' }),
    classOf('Part', {}, embedded),
    classOf('SubPart', {}, { ...embedded, superClass: 'Part' }),
  )
  return schema
}

describe('the superclass of a new class', () => {
  it.each(['Base', '1000000', { className: 'Base' }, { className: '1000000' }])('named as %j', (superClass) => {
    const schema = given()
    schema.put(classOf('New', {}, { superClass }))
    expect(schema.read().at(-1)?.superClass).toBe('Base')
  })

  it('null or left out is none', () => {
    const schema = given()
    schema.put(classOf('New', {}, { superClass: null }), classOf('Other', {}))
    expect(
      schema
        .read()
        .slice(-2)
        .map(({ superClass }) => superClass),
    ).toEqual([null, null])
  })

  it('may come later in the batch', () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('C', {}, { superClass: 'B' }),
      classOf('B', {}, { superClass: 'A' }),
      classOf('A', { x: 'integer' }),
    )
    expect(schema.cls('C').findAttribute('x')?.declaringClass.name).toBe('A')
    expect(schema.cls('A').subclasses.map(({ name }) => name)).toEqual(['C', 'B'])
  })

  it.each([
    ['unknown', [classOf('N', {}, { superClass: 'Bsae' })], 'UnknownClass', '/0/superClass', 'Did you mean Base?'],
    ['itself', [classOf('N', {}, { superClass: 'N' })], 'InvalidDefinition', '/0/superClass', 'N'],
    [
      'a cycle',
      [classOf('N', {}, { superClass: 'M' }), classOf('M', {}, { superClass: 'N' })],
      'InvalidDefinition',
      '/0/superClass',
      'itself',
    ],
    [
      'below a cycle',
      [
        classOf('O', {}, { superClass: 'N' }),
        classOf('N', {}, { superClass: 'M' }),
        classOf('M', {}, { superClass: 'N' }),
      ],
      'InvalidDefinition',
      '/1/superClass',
      'itself',
    ],
    [
      'embeddable above referenceable',
      [classOf('N', {}, { superClass: 'Part' })],
      'InvalidDefinition',
      '/0/superClass',
      'Part',
    ],
    [
      'referenceable above embeddable',
      [classOf('N', {}, { superClass: 'Base', ...embedded })],
      'InvalidDefinition',
      '/0/superClass',
      'Base',
    ],
    [
      'of another kind in the batch',
      [classOf('N', {}, { superClass: 'M' }), classOf('M', {}, embedded)],
      'InvalidDefinition',
      '/0/superClass',
      'M',
    ],
  ] as const)('refused: %s', (_words, batch, type, pointer, word) => {
    expectFault(() => given().put(...batch), type, pointer, word)
  })

  it('a cycle longer than the depth that is allowed is told as a cycle', () => {
    const ring = Array.from({ length: 300 }, (_, i) => classOf(`C${i}`, {}, { superClass: `C${(i + 1) % 300}` }))
    expectFault(() => given().put(...ring), 'InvalidDefinition', '/0/superClass', 'inherits from itself')
  })
})

describe('the superclass of an existing class', () => {
  it.each(['Base', '1000000', { className: 'Base' }, null, undefined])('matches as %j', (superClass) => {
    expect(given().put(classOf('Sub', { y: 'real' }, { superClass }))).toEqual([1_000_001])
  })

  it.each([
    ['another', classOf('Sub', {}, { superClass: 'Sub' }), 'SuperClassMismatch', 'Base'],
    ['one where there is none', classOf('Base', {}, { superClass: 'Sub' }), 'SuperClassMismatch', 'none'],
    ['an unknown one', classOf('Sub', {}, { superClass: 'Nope' }), 'UnknownClass', 'Nope'],
  ] as const)('refused: %s', (_words, description, type, word) => {
    expectFault(() => given().put(description), type, '/0/superClass', word)
  })

  it('is the direct one, not the one above it', () => {
    const schema = given()
    schema.put(classOf('SubSub', {}, { superClass: 'Sub' }))
    expectFault(
      () => schema.put(classOf('SubSub', {}, { superClass: 'Base' })),
      'SuperClassMismatch',
      '/0/superClass',
      'Sub',
    )
  })
})

describe('kinds', () => {
  it('a referenceable class stays so', () => {
    expectFault(() => given().put(classOf('Base', {}, embedded)), 'ClassIsReferenceable', '/0/isReferenceable', 'Base')
    expectFault(
      () => given().put(classOf('Base', {}, { isReferenceable: 'false' })),
      'ClassIsReferenceable',
      '/0/isReferenceable',
    )
  })

  it('an embeddable class becomes referenceable with its superclass and subclasses, or not at all', () => {
    const schema = given()
    expectFault(() => schema.put(classOf('Part', {})), 'InvalidDefinition', '/0/isReferenceable', 'SubPart', 'Part')
    expectFault(() => schema.put(classOf('SubPart', {})), 'InvalidDefinition', '/0/isReferenceable', 'SubPart', 'Part')
    schema.put(classOf('SubPart', {}), classOf('Part', {}))
    expect([schema.cls('Part').isReferenceable, schema.cls('SubPart').isReferenceable]).toEqual([true, true])
  })

  it('and can be referred to in the same batch', () => {
    const schema = given()
    schema.put(classOf('Base', { part: reference('Part') }), classOf('SubPart', {}), classOf('Part', {}))
    expect(schema.cls('Base').findAttribute('part')?.spec).toMatchObject({ referencedClass: 1_000_002 })
  })
})

describe('shadowing', () => {
  it('a subclass may declare an inherited name, before and after', () => {
    const schema = given()
    schema.put(classOf('Sub', { x: 'string', late: 'real' }))
    schema.put(classOf('Base', { late: 'string' }))
    expect(schema.cls('Sub').attributes.map(({ outputName, isHidden }) => [outputName, isHidden])).toEqual([
      ['Base::x', true],
      ['Base::late', true],
      ['x', false],
      ['late', false],
    ])
  })

  it('another definition of an inherited name is no conflict', () => {
    const schema = given()
    expect(schema.put(classOf('Other', { x: reference('Base') }, { superClass: 'Base' }))).toHaveLength(1)
  })
})
