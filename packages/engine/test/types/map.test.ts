/** map: references by text or by reference, in key order, whatever the keys are called. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const reference = { logicalType: 'reference', referencedClass: 'Fleet.Vehicle' }
const string = { logicalType: 'string', encoding: 'utf8', storage: 'variable' }
const byName = { logicalType: 'map', elementSpecification: reference }
const byReference = { ...byName, keySpecification: reference }

describe('definition', () => {
  it.each([
    [byName, 'NameToReferenceMap', string],
    [{ ...byName, collectionTypeName: 'nametoreferencemap' }, 'NameToReferenceMap', string],
    [
      { ...byName, keySpecification: { logicalType: 'String', encoding: 'byte' } },
      'NameToReferenceMap',
      { ...string, encoding: 'byte' },
    ],
    [byReference, 'TreeMapOfReferences', reference],
    [{ ...byReference, collectionTypeName: 'HASHMAPOFREFERENCES' }, 'HashMapOfReferences', reference],
    [{ ...byReference, collectionTypeName: 'TreeMapOfReferences' }, 'TreeMapOfReferences', reference],
  ])('%j', (definition, collectionTypeName, keySpecification) => {
    expect(described(definition)).toEqual({ ...byName, collectionTypeName, keySpecification })
  })

  it.each([
    [{ logicalType: 'map' }, { type: 'InvalidDefinition', path: 'elementSpecification', words: 'needed' }],
    [
      { ...byName, elementSpecification: string },
      { type: 'InvalidDefinition', path: 'elementSpecification.logicalType', words: 'reference' },
    ],
    [
      { ...byName, elementSpecification: { ...reference, inverseAttribute: 'owner' } },
      { type: 'InvalidDefinition', path: 'elementSpecification', words: 'inverseAttribute' },
    ],
    [
      { ...byName, keySpecification: { ...reference, inverseAttribute: 'owner' } },
      { type: 'InvalidDefinition', path: 'keySpecification', words: 'inverseAttribute' },
    ],
    [
      { ...byName, keySpecification: { logicalType: 'integer' } },
      { type: 'InvalidDefinition', path: 'keySpecification.logicalType', words: 'string or reference' },
    ],
    [
      { ...byName, keySpecification: { ...string, referencedClass: 'Fleet.Vehicle' } },
      { type: 'InvalidDefinition', path: 'keySpecification.referencedClass' },
    ],
    [
      { ...byName, keySpecification: 'string' },
      { type: 'MalformedRequest', path: 'keySpecification' },
    ],
    [
      { ...byName, collectionTypeName: 'TreeMapOfReferences' },
      { type: 'InvalidDefinition', path: 'keySpecification', words: 'TreeMapOfReferences' },
    ],
    [
      { ...byName, keySpecification: string, collectionTypeName: 'HashMapOfReferences' },
      { type: 'InvalidDefinition', path: 'collectionTypeName', words: 'NameToReferenceMap' },
    ],
    [
      { ...byReference, collectionTypeName: 'NameToReferenceMap' },
      { type: 'InvalidDefinition', path: 'collectionTypeName', words: 'TreeMapOfReferences' },
    ],
    [
      { ...byName, collectionTypeName: 5 },
      { type: 'MalformedValue', path: 'collectionTypeName' },
    ],
    [
      { ...byName, storage: 'variable' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type map' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    [byName, { b: '3-3-1-2', a: '3-3-1-1', '': null }, '{"":"0-0-0-0","a":"3-3-1-1","b":"3-3-1-2"}'],
    [byName, { 10: '3-3-1-2', 9: '3-3-1-1' }, '{"10":"3-3-1-2","9":"3-3-1-1"}'],
    [byName, { '😀': '3-3-1-2', '\uffff': '3-3-1-1' }, '{"\uffff":"3-3-1-1","😀":"3-3-1-2"}'],
    [byName, { 'a"\n': '3-3-1-2' }, '{"a\\"\\n":"3-3-1-2"}'],
    [
      byName,
      [
        { key: 'a', value: '3-3-1-1' },
        { key: 'a', value: '3-3-1-2', exists: 'ignore' },
      ],
      '{"a":"3-3-1-2"}',
    ],
    [byName, {}, '{}'],
    [byName, [], '{}'],
    [byName, null, '{}'],
    [byReference, { '3-3-1-10': '3-3-1-1', '3-3-1-9': '3-3-1-2' }, '{"3-3-1-9":"3-3-1-2","3-3-1-10":"3-3-1-1"}'],
  ])('%j: %o is read back as %s', (definition, json, text) => {
    expect(storedText(definition, json)).toBe(text)
  })

  it('has room for the names of JavaScript', () => {
    const text = '{"__proto__":"3-3-1-1","constructor":"3-3-1-2","toString":"3-3-1-3"}'
    expect(storedText(byName, JSON.parse(text))).toBe(text)
    const pairs = [{ key: '__proto__', value: '3-3-1-1' }]
    expect(storedText(byName, pairs)).toBe('{"__proto__":"3-3-1-1"}')
    const codec = codecOf(byName)
    expect(JSON.stringify(codec.toJson(codec.parse(pairs)))).toBe('{"__proto__":"3-3-1-1"}')
  })

  it.each([
    [byName, { a: 'x' }, { type: 'ValueNotAllowed', path: 'a', words: 'not an OID' }],
    [byName, { a: 5 }, { type: 'MalformedValue', path: 'a' }],
    [byName, [{ key: 'a', value: 5 }], { type: 'MalformedValue', path: '0.value' }],
    [byName, [{ key: 5, value: null }], { type: 'MalformedValue', path: '0.key' }],
    [byName, [{ key: null, value: null }], { type: 'MalformedValue', path: '0.key' }],
    [byName, [{ key: 'a' }], { type: 'MalformedValue', path: '0' }],
    [byName, [null], { type: 'MalformedValue', path: '0' }],
    [byName, [{ key: 'a', value: null, more: 1 }], { type: 'UnknownField', path: '0.more', words: 'more' }],
    [byName, { '\ud800': null }, { type: 'ValueNotAllowed', path: '\ud800' }],
    [byReference, { a: '3-3-1-1' }, { type: 'ValueNotAllowed', path: 'a', words: 'not an OID' }],
    [byReference, { '0-0-0-0': '3-3-1-1' }, { type: 'ValueNotAllowed', path: '0-0-0-0', words: 'nothing' }],
    [byName, 5, { type: 'MalformedValue' }],
    [byName, 'a', { type: 'MalformedValue' }],
  ] as const)('%j refuses %j', (definition, json, refusal) => expectValueRefused(definition, json, refusal))

  it('holds keys within what their encoding holds', () => {
    const byByte = { ...byName, keySpecification: { logicalType: 'string', encoding: 'byte' } }
    expectValueRefused(byByte, { 漢: null }, { type: 'ValueNotAllowed', path: '漢', words: 'U+00FF' })
  })

  it('is empty unless given, and no key', () => {
    expect(codecOf(byName)).toMatchObject({ defaultValue: [], isNullable: false })
    expect(codecOf(byName).key).toBeUndefined()
  })
})
