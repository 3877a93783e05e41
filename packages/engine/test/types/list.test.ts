/** list: elements of every type but collections, in the order given. */
import { describe, expect, it } from 'vitest'
import {
  bytesOf,
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  storedText,
} from './type-under-test.ts'

const reference = { logicalType: 'reference', referencedClass: 'Fleet.Vehicle' }
const shownInteger = { logicalType: 'integer', encoding: 'signed', storage: 'b32' }
const list = (elementSpecification: unknown, more: object = {}) => ({
  logicalType: 'list',
  elementSpecification,
  ...more,
})
const integers = list({ logicalType: 'integer' })
const references = list(reference)

describe('definition', () => {
  it.each([
    [integers, list(shownInteger, { storage: 'variable' })],
    [list({ logicalType: 'Integer' }, { storage: 'VARIABLE' }), list(shownInteger, { storage: 'variable' })],
    [
      list(shownInteger, { collectionTypeName: 'segmentedarray' }),
      list(shownInteger, { collectionTypeName: 'SegmentedArray' }),
    ],
    [
      list(reference, { collectionTypeName: 'TREELISTOFREFERENCES', storage: 'variable' }),
      list(reference, { collectionTypeName: 'TreeListOfReferences' }),
    ],
    [
      list({ ...reference, inverseAttribute: 'owner' }),
      list({ ...reference, inverseAttribute: 'owner' }, { storage: 'variable' }),
    ],
    [
      list({ logicalType: 'object', class: '1000001' }),
      list({ logicalType: 'object', class: 'Fleet.Address' }, { storage: 'variable' }),
    ],
  ])('%j', (definition, shown) => {
    expect(described(definition)).toEqual(shown)
  })

  it.each([
    [{ logicalType: 'list' }, { type: 'InvalidDefinition', path: 'elementSpecification', words: 'needed' }],
    [list('integer'), { type: 'MalformedRequest', path: 'elementSpecification' }],
    [list([shownInteger]), { type: 'MalformedRequest', path: 'elementSpecification' }],
    [list({}), { type: 'MalformedValue', path: 'elementSpecification.logicalType' }],
    [list({ logicalType: 'number' }), { type: 'InvalidDefinition', path: 'elementSpecification.logicalType' }],
    [list(integers), { type: 'InvalidDefinition', path: 'elementSpecification.logicalType', words: 'collection' }],
    [
      list({ logicalType: 'integer', storage: 'b7' }),
      { type: 'InvalidDefinition', path: 'elementSpecification.storage', words: 'b7' },
    ],
    [
      list({ logicalType: 'integer', fixedLength: 3 }),
      { type: 'InvalidDefinition', path: 'elementSpecification.fixedLength', words: 'type integer' },
    ],
    [
      list(shownInteger, { collectionTypeName: 'TreeListOfReferences' }),
      { type: 'InvalidDefinition', path: 'collectionTypeName', words: 'references only' },
    ],
    [
      list(reference, { collectionTypeName: 'TreeSetOfReferences' }),
      { type: 'InvalidDefinition', path: 'collectionTypeName', words: 'TreeListOfReferences or SegmentedArray' },
    ],
    [list(reference, { collectionTypeName: 5 }), { type: 'MalformedValue', path: 'collectionTypeName' }],
    [list(reference, { storage: 'fixed' }), { type: 'InvalidDefinition', path: 'storage', words: 'variable' }],
    [list(reference, { encoding: 'binary' }), { type: 'InvalidDefinition', path: 'encoding', words: 'type list' }],
    [
      list(reference, { inverseAttribute: 'owner' }),
      { type: 'InvalidDefinition', path: 'inverseAttribute', words: 'type list' },
    ],
    [
      list(reference, { keySpecification: { logicalType: 'string' } }),
      { type: 'InvalidDefinition', path: 'keySpecification' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    [integers, [3, 1, '3'], '[3,1,3]'],
    [integers, [], '[]'],
    [integers, null, '[]'],
    [list({ logicalType: 'string' }), ['b', '', 'ä"'], '["b","","ä\\""]'],
    [list({ logicalType: 'date' }), ['2024/02/29'], '["2024-02-29"]'],
    [list({ logicalType: 'integer', storage: 'b64' }), [2n ** 62n], '[4611686018427387904]'],
    [references, ['3-3-1-2', null, '3-3-1-2', '0-0-0-0'], '["3-3-1-2","0-0-0-0","3-3-1-2","0-0-0-0"]'],
    [
      list({ logicalType: 'object', class: 'Fleet.Address' }),
      [
        { street: '', number: 1 },
        { street: 'ä', number: 2 },
      ],
      '[{"street":"","number":1},{"street":"ä","number":2}]',
    ],
  ])('%j: %o is read back as %s', (definition, json, text) => {
    expect(storedText(definition, json)).toBe(text)
  })

  it('packs elements of a fixed width', () => {
    expect(bytesOf(codecOf(list({ logicalType: 'integer', storage: 'b8' })), [1, -1])).toEqual(Buffer.of(1, 255))
    expect(bytesOf(codecOf(references), ['3-3-1-2']).length).toBe(8)
  })

  it.each([
    [integers, [1, 'x'], { type: 'MalformedValue', path: '1' }],
    [integers, [1, 2, 1.5], { type: 'ValueNotAllowed', path: '2' }],
    [integers, [null], { type: 'MalformedValue', path: '0', words: 'lists of references only' }],
    [list({ logicalType: 'string' }), ['', null], { type: 'MalformedValue', path: '1' }],
    [list({ logicalType: 'interval' }), [{ days: 'x' }], { type: 'MalformedValue', path: '0.days' }],
    [references, ['3-3-1-2', 'x'], { type: 'ValueNotAllowed', path: '1' }],
    [integers, [[1]], { type: 'MalformedValue', path: '0' }],
    [integers, {}, { type: 'MalformedValue', words: 'not an array' }],
    [integers, '[]', { type: 'MalformedValue', words: 'not an array' }],
    [integers, 5, { type: 'MalformedValue', words: 'not an array' }],
  ] as const)('%j refuses %j', (definition, json, refusal) => expectValueRefused(definition, json, refusal))

  it('is empty unless given, and no key', () => {
    expect(codecOf(integers)).toMatchObject({ defaultValue: [], isNullable: false })
    expect(codecOf(integers).key).toBeUndefined()
  })
})
