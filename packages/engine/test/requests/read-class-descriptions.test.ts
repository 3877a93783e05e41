/** The strict reading of class descriptions. */
import { describe, expect, it } from 'vitest'
import { readDefineClasses } from '../../src/requests/read-class-descriptions.ts'
import { classOf, expectFault } from '../schema/schema-under-test.ts'

const readClassDescriptions = (body: unknown) => readDefineClasses(body, 'create').classes
const [plain] = [classOf('A', { x: 'integer' })]
const readOne = (description: unknown) => {
  const [read] = readClassDescriptions([description])
  if (read === undefined) throw new Error('nothing was read')
  return read
}

describe('what is refused, and where', () => {
  it.each([
    ['an object for a body', plain, 'MalformedRequest', ''],
    ['a text for a body', 'x', 'MalformedRequest', ''],
    ['null for a body', null, 'MalformedRequest', ''],
    ['a text for a description', ['x'], 'MalformedRequest', '/0'],
    ['an array for a description', [plain, []], 'MalformedRequest', '/1'],
    ['no name', [{ attributes: [] }], 'MalformedRequest', '/0/className'],
    ['a number for a name', [{ ...plain, className: 5 }], 'MalformedValue', '/0/className'],
    ['null for a name', [{ ...plain, className: null }], 'MalformedValue', '/0/className'],
    ['an empty name', [{ ...plain, className: '' }], 'MalformedValue', '/0/className'],
    ['no attributes', [{ className: 'A', isReferenceable: true }], 'MalformedRequest', '/0/attributes'],
    ['null for attributes', [{ ...plain, attributes: null }], 'MalformedRequest', '/0/attributes'],
    ['an object for attributes', [{ ...plain, attributes: {} }], 'MalformedRequest', '/0/attributes'],
    ['an unknown field', [{ ...plain, colour: 1 }], 'UnknownField', '/0/colour'],
    ['a field with slash and tilde', [{ ...plain, 'a/b~c': 1 }], 'UnknownField', '/0/a~1b~0c'],
    ['__proto__', JSON.parse('[{"className":"A","attributes":[],"__proto__":{}}]'), 'UnknownField', '/0/__proto__'],
    ['yes for a boolean', [{ ...plain, isReferenceable: 'yes' }], 'MalformedValue', '/0/isReferenceable'],
    ['null for a boolean', [{ ...plain, isReferenceable: null }], 'MalformedValue', '/0/isReferenceable'],
    ['0 for a boolean', [{ ...plain, isReferenceable: 0 }], 'MalformedValue', '/0/isReferenceable'],
    ['TRUE for a boolean', [{ ...plain, isReferenceable: 'TRUE' }], 'MalformedValue', '/0/isReferenceable'],
    ['a number for a superclass', [{ ...plain, superClass: 5 }], 'MalformedValue', '/0/superClass'],
    ['an empty superclass', [{ ...plain, superClass: '' }], 'MalformedValue', '/0/superClass'],
    ['an array of superclasses', [{ ...plain, superClass: ['A'] }], 'MalformedValue', '/0/superClass'],
    ['an empty object for a superclass', [{ ...plain, superClass: {} }], 'MalformedValue', '/0/superClass'],
    ['more in a superclass', [{ ...plain, superClass: { className: 'A', x: 1 } }], 'UnknownField', '/0/superClass/x'],
    ['words for a number', [{ ...plain, classNumber: 'ten' }], 'MalformedValue', '/0/classNumber'],
    ['a fraction for a number', [{ ...plain, classNumber: 1.5 }], 'MalformedValue', '/0/classNumber'],
    ['a negative number', [{ ...plain, classNumber: -1 }], 'MalformedValue', '/0/classNumber'],
    ['an object for a number', [{ ...plain, classNumber: {} }], 'MalformedValue', '/0/classNumber'],
  ] as const)('%s', (_words, body, type, pointer) => {
    expectFault(() => readClassDescriptions(body), type, pointer)
  })

  const attribute = { attributeName: 'x', logicalType: 'list' }
  it.each([
    ['a text', 'x', 'MalformedRequest', ''],
    ['no name', { logicalType: 'integer' }, 'MalformedRequest', '/attributeName'],
    ['a number for a name', { ...attribute, attributeName: 5 }, 'MalformedValue', '/attributeName'],
    ['no type', { attributeName: 'x' }, 'MalformedRequest', '/logicalType'],
    ['an unknown field', { ...attribute, foo: 1 }, 'UnknownField', '/foo'],
    ['a text for elements', { ...attribute, elementSpecification: 'x' }, 'MalformedRequest', '/elementSpecification'],
    [
      'a name for elements',
      { ...attribute, elementSpecification: attribute },
      'UnknownField',
      '/elementSpecification/attributeName',
    ],
    [
      'an unknown field of keys',
      { ...attribute, keySpecification: { foo: 1 } },
      'UnknownField',
      '/keySpecification/foo',
    ],
  ] as const)('attribute: %s', (_words, given, type, pointer) => {
    const body = [plain, { ...plain, attributes: [attribute, attribute, attribute, given] }]
    expectFault(() => readClassDescriptions(body), type, `/1/attributes/3${pointer}`)
  })

  it('messages cut what is long', () => {
    expectFault(
      () => readClassDescriptions([{ ...plain, ['x'.repeat(10_000)]: 1 }]),
      'UnknownField',
      `/0/${'x'.repeat(10_000)}`,
    )
    expectFault(() => readClassDescriptions([{ className: 'x'.repeat(10_000) }]), 'MalformedRequest', '/0/attributes')
  })
})

describe('what is read', () => {
  it('fields as given', () => {
    expect(readOne({ ...plain, superClass: 'B' })).toEqual({
      className: 'A',
      classNumber: undefined,
      isReferenceable: true,
      superClass: 'B',
      attributes: [{ attributeName: 'x', type: { logicalType: 'integer' } }],
    })
    expect(readClassDescriptions([])).toEqual([])
  })

  it.each([
    [true, true],
    ['true', true],
    [false, false],
    ['false', false],
    [undefined, undefined],
  ])('isReferenceable %j', (given, isReferenceable) => {
    expect(readOne({ className: 'A', attributes: [], isReferenceable: given }).isReferenceable).toBe(isReferenceable)
  })

  it.each([
    ['B', 'B'],
    ['1000000', '1000000'],
    [{ className: 'B' }, 'B'],
    [null, null],
    [undefined, undefined],
  ])('superClass %j', (superClass, read) => expect(readOne({ ...plain, superClass }).superClass).toBe(read))

  it.each([
    [7, '7'],
    ['7', '7'],
    [12345678901234567890n, '12345678901234567890'],
    [null, undefined],
    [undefined, undefined],
  ])('classNumber %s', (classNumber, read) => {
    expect(readOne({ ...plain, classNumber }).classNumber).toBe(read)
  })

  it.each(['shapeNumber', 'isInternal', 'isDeleted'])('with %s the class number is informational', (field) => {
    expect(readOne({ ...plain, classNumber: '7', [field]: false }).classNumber).toBeUndefined()
    expect(readOne({ classNumber: '7', attributes: [], [field]: false }).classNumber).toBe('7')
  })
})
