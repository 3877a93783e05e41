/** Embedded classes: what may embed what, and which may become referenceable. */
import { describe, expect, it } from 'vitest'
import { classOf, embed, embedded, expectFault, list, SchemaUnderTest } from './schema-under-test.ts'

describe('embeddable → referenceable', () => {
  const given = () => {
    const schema = new SchemaUnderTest()
    schema.put(
      classOf('Used', { x: 'integer' }, embedded),
      classOf('InList', {}, embedded),
      classOf('Inner', {}, embedded),
      classOf('Outer', { inner: embed('Inner') }, embedded),
      classOf('Free', {}, embedded),
      classOf('Owner', { used: embed('Used'), all: list(embed('InList')) }),
    )
    return schema
  }

  it.each([
    ['Used', 'used', 'Owner'],
    ['InList', 'all', 'Owner'],
    ['Inner', 'inner', 'Outer'],
  ])('refused for %s, naming attribute and class', (name, attribute, owner) => {
    const schema = given()
    expectFault(
      () => schema.put(classOf('New', {}), classOf(name, {})),
      'ClassIsEmbedded',
      '/1/isReferenceable',
      `attribute ${attribute} of class ${owner}`,
    )
    expect(schema.cls(name).isReferenceable).toBe(false)
  })

  it('refused also when the attribute is listed again, or new, in the same batch', () => {
    for (const type of [embed('Free'), list(embed('Free')), { ...embed('Free'), logicalType: 'OBJECT' }]) {
      expectFault(
        () => given().put(classOf('New', { f: type }), classOf('Free', {})),
        'ClassIsEmbedded',
        '/1/isReferenceable',
        'attribute f of class New',
      )
      expectFault(
        () => given().put(classOf('Free', {}), classOf('New', { f: type })),
        'ClassIsEmbedded',
        '/0/isReferenceable',
      )
    }
    expectFault(
      () => given().put(classOf('Used', {}), classOf('Owner', { used: embed('Used') })),
      'ClassIsEmbedded',
      '/0/isReferenceable',
      'attribute used of class Owner',
    )
    expectFault(
      () => given().put(classOf('Free', {}), classOf('New', { f: embed('1000004') })),
      'ClassIsEmbedded',
      '/0/isReferenceable',
    )
  })

  it('allowed for a class that nothing embeds, even one that embeds others', () => {
    const schema = given()
    schema.put(classOf('Free', {}), classOf('Outer', { n: 'real' }, { isReferenceable: 'true' }))
    expect([schema.cls('Free').isReferenceable, schema.cls('Outer').isReferenceable]).toEqual([true, true])
    expect(schema.cls('Outer').attributes).toHaveLength(2)
  })

  it('a subclass may be embedded no more than the class', () => {
    const schema = given()
    schema.put(classOf('Sub', {}, { ...embedded, superClass: 'Free' }), classOf('Owner', { sub: embed('Sub') }))
    expectFault(
      () => schema.put(classOf('Free', {}), classOf('Sub', {})),
      'ClassIsEmbedded',
      '/1/isReferenceable',
      'Sub',
    )
  })
})

describe('no class embeds itself', () => {
  const part = (name: string, attributes: Record<string, Record<string, unknown> | string>, superClass?: string) =>
    classOf(name, attributes, { ...embedded, ...(superClass === undefined ? {} : { superClass }) })

  it.each([
    ['directly', [part('X', { n: 'real', e: embed('X') })], '/0/attributes/1'],
    ['in a list', [part('X', { e: list(embed('X')) })], '/0/attributes/0'],
    ['through another', [part('X', { e: embed('Y') }), part('Y', { f: list(embed('X')) })], '/0/attributes/0'],
    ['through a subclass', [part('X', { e: embed('Y') }), part('Y', {}, 'X')], '/0/attributes/0'],
    [
      'through an inherited attribute',
      [part('Y', {}, 'X'), part('X', { e: embed('Z') }), part('Z', { f: embed('Y') })],
      '/1/attributes/0',
    ],
  ] as const)('%s', (_words, batch, pointer) => {
    expectFault(
      () => new SchemaUnderTest().put(...batch),
      'InvalidDefinition',
      pointer,
      'itself',
      'attribute e of class',
    )
  })

  it('nor by what is added later', () => {
    const schema = new SchemaUnderTest()
    schema.put(part('X', { e: embed('Y') }), part('Y', {}))
    expectFault(
      () => schema.put({ className: 'Y', attributes: [{ attributeName: 'f', ...embed('X') }] }),
      'InvalidDefinition',
      '/0/attributes/0',
      'itself',
    )
  })

  it('the same class twice, by two ways, and a superclass are no cycle', () => {
    const schema = new SchemaUnderTest()
    const batch = [
      part('X', { a: embed('Y'), b: embed('Y'), c: embed('Z') }),
      part('Y', { z: embed('Z') }),
      part('Z', {}),
      part('W', { y: embed('Y') }, 'Y'),
    ]
    expect(schema.put(...batch)).toHaveLength(4)
  })
})

describe('limits', () => {
  const nested = (levels: number, width: number) =>
    Array.from({ length: levels + 1 }, (_, i) => {
      const inner = Object.fromEntries(Array.from({ length: width }, (_, j) => [`e${j}`, embed(`C${i + 1}`)]))
      return classOf(`C${i}`, i < levels ? inner : { x: 'integer' }, embedded)
    })

  it('30 levels, in any order', () => {
    expect(new SchemaUnderTest().put(...nested(30, 1))).toHaveLength(31)
    for (const levels of [31, 12_000]) {
      expectFault(() => new SchemaUnderTest().put(...nested(levels, 1)), 'LimitExceeded', '/0/attributes/0', '30')
      expectFault(
        () => new SchemaUnderTest().put(...nested(levels, 1).reverse()),
        'LimitExceeded',
        '/31/attributes/0',
        '30',
      )
    }
  })

  it('values that one object would hold', () => {
    expect(new SchemaUnderTest().put(...nested(11, 2))).toHaveLength(12)
    expectFault(() => new SchemaUnderTest().put(...nested(12, 2)), 'LimitExceeded', '/0/attributes/1', 'C0', '10000')
  })

  it('a list is empty at first', () => {
    const schema = new SchemaUnderTest()
    const lists = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`l${i}`, list(embed('C0'))]))
    expect(schema.put(...nested(11, 2), classOf('Owner', lists))).toHaveLength(13)
  })
})
