/** set: references, each once, in OID order. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const reference = { logicalType: 'reference', referencedClass: 'Fleet.Vehicle' }
const set = { logicalType: 'set', elementSpecification: reference }

describe('definition', () => {
  it.each([
    [set, 'TreeSetOfReferences'],
    [{ ...set, collectionTypeName: 'hashsetofreferences' }, 'HashSetOfReferences'],
    [{ ...set, collectionTypeName: 'TREESETOFREFERENCES' }, 'TreeSetOfReferences'],
  ])('%j', (definition, collectionTypeName) => {
    expect(described(definition)).toEqual({ ...set, collectionTypeName })
  })

  it('may have an inverse', () => {
    const elementSpecification = { ...reference, inverseAttribute: 'owner' }
    expect(described({ ...set, elementSpecification })).toMatchObject({ elementSpecification })
  })

  it.each([
    [{ logicalType: 'set' }, { type: 'InvalidDefinition', path: 'elementSpecification', words: 'needed' }],
    [
      { ...set, elementSpecification: { logicalType: 'integer' } },
      { type: 'InvalidDefinition', path: 'elementSpecification.logicalType', words: 'reference' },
    ],
    [
      { ...set, elementSpecification: { ...reference, referencedClass: 'Fleet.Address' } },
      { type: 'InvalidDefinition', path: 'elementSpecification.referencedClass' },
    ],
    [
      { ...set, elementSpecification: { ...reference, fixedLength: 3 } },
      { type: 'InvalidDefinition', path: 'elementSpecification.fixedLength' },
    ],
    [
      { ...set, elementSpecification: 5 },
      { type: 'MalformedRequest', path: 'elementSpecification' },
    ],
    [
      { ...set, collectionTypeName: 'TreeListOfReferences' },
      { type: 'InvalidDefinition', path: 'collectionTypeName', words: 'HashSetOfReferences' },
    ],
    [
      { ...set, storage: 'variable' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type set' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    [['3-3-1-10', '3-3-1-9', '3-3-1-10'], '["3-3-1-9","3-3-1-10"]'],
    [['10-0-0-1', '9-1-1-1'], '["9-1-1-1","10-0-0-1"]'],
    [[], '[]'],
    [null, '[]'],
  ])('%j is read back as %s', (json, text) => {
    expect(storedText(set, json)).toBe(text)
  })

  it.each([
    [['3-3-1-1', null], { type: 'ValueNotAllowed', path: '1', words: 'nothing' }],
    [['0-0-0-0'], { type: 'ValueNotAllowed', path: '0', words: 'nothing' }],
    [['x'], { type: 'ValueNotAllowed', path: '0', words: 'not an OID' }],
    [[5], { type: 'MalformedValue', path: '0' }],
    [{}, { type: 'MalformedValue', words: 'not an array' }],
    ['3-3-1-1', { type: 'MalformedValue', words: 'not an array' }],
  ] as const)('refuses %j', (json, refusal) => expectValueRefused(set, json, refusal))

  it('is empty unless given, and no key', () => {
    expect(codecOf(set)).toMatchObject({ defaultValue: [], isNullable: false })
    expect(codecOf(set).key).toBeUndefined()
  })
})
