/** Batches of classes: what is new, what is extended, numbers and shapes. */
import { describe, expect, it } from 'vitest'
import { classOf, embedded, expectFault, list, reference, SchemaUnderTest } from './schema-under-test.ts'

const shapeNumbers = (schema: SchemaUnderTest) => schema.read().map(({ shapeNumber }) => Number(shapeNumber))

describe('new classes', () => {
  it('are numbered in request order, each with a shape of its number', () => {
    const schema = new SchemaUnderTest()
    expect(schema.put(classOf('B', { x: 'integer' }), classOf('A', {}))).toEqual([1_000_000, 1_000_001])
    expect(
      schema.read().map(({ className, classNumber, shapeNumber }) => [className, classNumber, shapeNumber]),
    ).toEqual([
      ['B', '1000000', '1000000'],
      ['A', '1000001', '1000001'],
    ])
    expect(schema.cls('B').shape).toEqual({
      number: 1_000_000,
      classNumber: 1_000_000,
      attributes: [{ number: 1, spec: { logicalType: 'integer', encoding: 'signed', storage: 'b32' } }],
    })
  })

  it('need isReferenceable', () => {
    const schema = new SchemaUnderTest()
    expectFault(() => schema.put({ className: 'A', attributes: [] }), 'InvalidDefinition', '/0/isReferenceable', 'A')
  })

  it('have names that are allowed', () => {
    const schema = new SchemaUnderTest()
    expectFault(() => schema.put(classOf('A', {}), classOf('__b', {})), 'InvalidName', '/1/className', '__b')
    expectFault(
      () => schema.put(classOf('A', { x: 'real', 'a.b': 'real' })),
      'InvalidName',
      '/0/attributes/1/attributeName',
    )
    expect(
      schema.put(classOf('constructor', { toString: 'string', constructor: reference('constructor') })),
    ).toHaveLength(1)
    expect(schema.cls('constructor').findAttribute('valueOf')).toBeUndefined()
  })

  it('mode create refuses those that exist', () => {
    const schema = new SchemaUnderTest()
    expect(schema.define([classOf('A', {})], 'create')).toEqual([1_000_000])
    expectFault(() => schema.define([classOf('B', {}), classOf('A', {})], 'create'), 'ClassExists', '/1/className', 'A')
    expectFault(
      () => schema.define([{ classNumber: 1_000_000, attributes: [] }], 'create'),
      'ClassExists',
      '/0/className',
    )
    expect(schema.read()).toHaveLength(1)
  })
})

describe('existing classes', () => {
  const given = () => {
    const schema = new SchemaUnderTest()
    schema.put(classOf('A', { x: 'integer' }), classOf('B', {}))
    return schema
  }

  it('get the listed attributes after those they have', () => {
    const schema = given()
    schema.put(classOf('A', { y: 'string', x: 'integer', z: 'real' }))
    expect(schema.cls('A').attributes.map(({ name, number }) => [name, number])).toEqual([
      ['x', 1],
      ['y', 2],
      ['z', 3],
    ])
  })

  it.each([
    ['by name', { className: 'A' }, 1_000_000],
    ['by digits for a name', { className: '1000001' }, 1_000_001],
    ['by number', { classNumber: 1_000_001 }, 1_000_001],
    ['by quoted number', { classNumber: '1000001' }, 1_000_001],
    ['by number rather than name', { classNumber: '1000001', className: 'A' }, 1_000_001],
    ['by name in what was read', { classNumber: '1000001', className: 'A', shapeNumber: '1' }, 1_000_000],
    ['without isReferenceable', { className: 'A', isReferenceable: undefined }, 1_000_000],
  ])('are found %s', (_words, how, number) => {
    expect(given().put({ attributes: [], ...how })).toEqual([number])
  })

  it.each([
    ['number', { classNumber: '5', className: 'A' }, '/0/classNumber'],
    ['digits', { className: '5' }, '/0/className'],
    ['digits beyond all numbers', { className: '9'.repeat(40) }, '/0/className'],
  ])('an unknown %s is no new class', (_words, how, pointer) => {
    expectFault(() => given().put({ attributes: [], isReferenceable: true, ...how }), 'UnknownClass', pointer)
  })

  it.each([
    ['by name', classOf('A', {})],
    ['by digits', classOf('1000000', {})],
    ['by number', { classNumber: 1_000_000, attributes: [] }],
  ])('are described once in a batch (%s)', (_words, again) => {
    expectFault(() => given().put(classOf('A', {}), again), 'InvalidDefinition', '/1', 'A')
  })

  it('a new class too is described once, and each attribute', () => {
    expectFault(() => given().put(classOf('C', {}), classOf('C', {})), 'InvalidDefinition', '/1', 'C')
    const x = { attributeName: 'x', logicalType: 'integer' }
    const y = { attributeName: 'y', logicalType: 'integer' }
    for (const attributes of [
      [x, y, x],
      [y, x, y],
    ]) {
      const pointer = '/0/attributes/2/attributeName'
      expectFault(
        () => given().put({ className: 'A', attributes }),
        'InvalidDefinition',
        pointer,
        'A',
        attributes[0]?.attributeName ?? '',
      )
    }
  })
})

describe('attributes listed again', () => {
  const given = () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('A', {
        x: 'integer',
        s: { logicalType: 'string', storage: 'fixed', fixedLength: 3 },
        r: reference('B', 'as'),
        u: reference('B'),
      }),
      classOf('B', { as: list(reference('A', 'r')) }),
    )
    return schema
  }

  it.each([
    ['x', { logicalType: 'INTEGER', storage: 'B32', encoding: 'Signed' }],
    ['s', { logicalType: 'string', encoding: 'utf8', storage: 'fixed', fixedLength: '3' }],
    ['r', { logicalType: 'reference', referencedClass: '1000001', inverseAttribute: 'as' }],
    ['u', { logicalType: 'reference', referencedClass: 'B', inverseAttribute: '' }],
    ['u', { logicalType: 'reference', referencedClass: 'B', inverseAttribute: null }],
  ])('%s the same in other words: nothing changes', (name, type) => {
    const schema = given()
    const { state } = schema.catalog
    expect(schema.put(classOf('A', { [name]: type }))).toEqual([1_000_000])
    expect(schema.catalog.state).toBe(state)
  })

  it.each([
    ['x', { logicalType: 'integer', storage: 'b64' }, 'integer signed b32', 'integer signed b64'],
    ['x', { logicalType: 'string' }, 'integer signed b32', 'string utf8 variable'],
    ['s', { logicalType: 'string', storage: 'fixed', fixedLength: 4 }, 'string utf8 fixed 3', 'string utf8 fixed 4'],
    ['r', reference('B'), 'reference B inverse as', 'reference B'],
    ['r', reference('A'), 'reference B inverse as', 'reference A'],
    ['u', list(reference('B')), 'reference B', 'list variable of (reference B)'],
  ])('%s otherwise: refused, naming both definitions', (name, type, present, wanted) => {
    const schema = given()
    expectFault(
      () => schema.put(classOf('A', { n: 'real', [name]: type })),
      'AttributeExists',
      '/0/attributes/1',
      'Class A',
      `attribute ${name} exists as ${present}, not as ${wanted}.`,
    )
  })
})

describe('shape numbers', () => {
  const given = () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('Base', { x: 'integer' }),
      classOf('Sub', { y: 'integer' }, { superClass: 'Base' }),
      classOf('SubSub', {}, { superClass: 'Sub' }),
      classOf('Apart', {}),
      classOf('Part', {}, embedded),
      classOf('Owner', { part: { logicalType: 'object', class: 'Part' } }),
      classOf('Free', { f: 'integer' }, embedded),
    )
    return schema
  }
  const [base, sub, subSub, apart, part, owner, free] = [0, 1, 2, 3, 4, 5, 6].map((i) => 1_000_000 + i)

  it('grow for the class and its subclasses, by class number', () => {
    const schema = given()
    schema.put(classOf('Sub', { z: 'real' }))
    expect(shapeNumbers(schema)).toEqual([base, 1_000_007, 1_000_008, apart, part, owner, free])
    schema.put(classOf('Base', { w: 'real' }))
    expect(shapeNumbers(schema)).toEqual([1_000_009, 1_000_010, 1_000_011, apart, part, owner, free])
    expect(schema.cls('SubSub').shape.attributes.map(({ number }) => schema.catalog.attribute(number)?.name)).toEqual([
      'x',
      'w',
      'y',
      'z',
    ])
    expect(schema.put(classOf('New', {}))).toEqual([1_000_012])
  })

  it('once a batch, new classes first', () => {
    const schema = given()
    const numbers = schema.put(
      classOf('Sub', { z: 'real' }),
      classOf('New', {}, { superClass: 'Base' }),
      classOf('Base', { w: 'real' }),
    )
    expect(numbers).toEqual([sub, 1_000_007, base])
    expect(shapeNumbers(schema)).toEqual([1_000_008, 1_000_009, 1_000_010, apart, part, owner, free, 1_000_007])
  })

  it('earlier shapes stay as they were', () => {
    const schema = given()
    const before = schema.catalog.state.shapes
    schema.put(classOf('Base', { w: 'real' }))
    expect(schema.catalog.state.shapes.slice(0, before.length)).toEqual(before)
    expect(schema.catalog.shape(subSub as never)?.attributes).toHaveLength(2)
  })

  it('do not grow for owners of an embedded class, which has its own', () => {
    const schema = given()
    schema.put({ className: 'Part', attributes: [{ attributeName: 'q', logicalType: 'string' }] })
    expect(shapeNumbers(schema)).toEqual([base, sub, subSub, apart, 1_000_007, owner, free])
  })

  it('grow when an embeddable class becomes referenceable, and not otherwise', () => {
    const schema = given()
    schema.put(classOf('Free', {}))
    expect(shapeNumbers(schema)[6]).toBe(1_000_007)
    const { state } = schema.catalog
    schema.put(classOf('Free', { f: 'integer' }), { className: 'Base', superClass: null, attributes: [] })
    expect(schema.catalog.state).toBe(state)
  })
})

describe('limits', () => {
  const many = (count: number, prefix = 'a') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'integer']))

  it('attributes of a class, inherited ones included', () => {
    const schema = new SchemaUnderTest()
    const put = (...body: unknown[]) => schema.define(body, 'createOrExtend', 10)
    put(classOf('A', many(10)), classOf('B', many(6)), classOf('C', many(4, 'c'), { superClass: 'B' }))
    expectFault(
      () => put(classOf('D', {}), classOf('A', many(1, 'b'))),
      'LimitExceeded',
      '/1/attributes',
      'A',
      '11',
      '10',
    )
    expectFault(() => put(classOf('B', many(1, 'b'))), 'LimitExceeded', '/0/attributes', 'Class C', '11')
    expectFault(() => put(classOf('D', many(11))), 'LimitExceeded', '/0/attributes', 'D')
    put(classOf('A', many(10)))
  })

  it('a batch far beyond them is refused at once', () => {
    const schema = new SchemaUnderTest()
    expectFault(() => schema.put(classOf('A', many(100_000))), 'LimitExceeded', '/0/attributes')
    const chain = Array.from({ length: 20_000 }, (_, i) =>
      classOf(`C${i}`, {}, i > 0 ? { superClass: `C${i - 1}` } : {}),
    )
    expectFault(() => schema.put(...chain), 'LimitExceeded', '/251/superClass', 'C251', '250')
    expectFault(() => schema.put(...chain.toReversed()), 'LimitExceeded', '/0/superClass')
    expect(schema.put(...chain.slice(0, 251))).toHaveLength(251)
  })
})

describe('unknown classes and impossible types', () => {
  const given = () => {
    const schema = new SchemaUnderTest()
    schema.put(classOf('Fleet.Vehicle', { model: 'string' }), classOf('Part', {}, embedded))
    return schema
  }
  const at = '/0/attributes/0'

  it.each([
    ['an unknown referenced class', reference('Fleet.Vehicel'), 'UnknownClass', '/referencedClass', 'Fleet.Vehicle?'],
    ['an unknown class number', reference('77'), 'UnknownClass', '/referencedClass', '77'],
    [
      'an unknown class of elements',
      list(reference('Vehicle')),
      'UnknownClass',
      '/elementSpecification/referencedClass',
      'Fleet.Vehicle?',
    ],
    ['an unknown embedded class', { logicalType: 'object', class: 'Pert' }, 'UnknownClass', '/class', 'Part?'],
    ['a reference to an embeddable class', reference('Part'), 'InvalidDefinition', '/referencedClass', 'embeddable'],
    [
      'an embedded referenceable class',
      { logicalType: 'object', class: 'Fleet.Vehicle' },
      'InvalidDefinition',
      '/class',
      'referenceable',
    ],
    ['an unknown inverse', reference('Fleet.Vehicle', 'modle'), 'UnknownAttribute', '/inverseAttribute', 'model?'],
    [
      'an unknown inverse of elements',
      list(reference('Fleet.Vehicle', 'x')),
      'UnknownAttribute',
      '/elementSpecification/inverseAttribute',
      'Fleet.Vehicle',
    ],
    ['an unknown type', { logicalType: 'intege' }, 'InvalidDefinition', '/logicalType', 'integer'],
    ['a wrong storage', { logicalType: 'integer', storage: 'b31' }, 'InvalidDefinition', '/storage', 'b31'],
    ['a storage of another JSON type', { logicalType: 'integer', storage: 5 }, 'MalformedValue', '/storage', '5'],
    [
      'a field of another type',
      { logicalType: 'integer', fixedLength: 3 },
      'InvalidDefinition',
      '/fixedLength',
      'integer',
    ],
    [
      'a wrong element',
      list({ logicalType: 'integer', storage: 'b31' }),
      'InvalidDefinition',
      '/elementSpecification/storage',
      'b31',
    ],
    ['a list of lists', list(list('integer')), 'InvalidDefinition', '/elementSpecification/logicalType', 'collection'],
  ] as const)('%s', (_words, type, word, pointer, part) => {
    expectFault(
      () => given().put(classOf('A', { v: type as Record<string, unknown> })),
      word,
      `${at}${pointer}`,
      'Class A',
      'attribute v',
      part,
    )
  })
})
