/** guid: the canonical form only, in any case. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const guid = { logicalType: 'guid' }

describe('definition', () => {
  it('has no further fields', () => {
    expect(described({ logicalType: 'GUID' })).toEqual(guid)
    for (const [field, given] of Object.entries({ encoding: 'binary', storage: 'binary', fixedLength: 16 })) {
      const refusal = { type: 'InvalidDefinition', path: field, words: 'type guid' } as const
      expectDefinitionRefused({ ...guid, [field]: given }, refusal)
    }
    expectDefinitionRefused({ ...guid, fixedLength: 'binary' }, { type: 'MalformedValue', path: 'fixedLength' })
  })
})

describe('values', () => {
  it.each([
    ['0a1b2c3d-0000-4000-8000-abcdefabcdef', '"0a1b2c3d-0000-4000-8000-abcdefabcdef"'],
    ['0A1B2C3D-0000-4000-8000-ABCDEFabcdef', '"0a1b2c3d-0000-4000-8000-abcdefabcdef"'],
    ['00000000-0000-0000-0000-000000000000', '"00000000-0000-0000-0000-000000000000"'],
  ])('%s is read back as %s', (json, text) => {
    expect(storedText(guid, json)).toBe(text)
  })

  it.each([
    [''],
    ['x'],
    ['0a1b2c3d000040008000abcdefabcdef'],
    ['{0a1b2c3d-0000-4000-8000-abcdefabcdef}'],
    ['0a1b2c3d-0000-4000-8000-abcdefabcdeg'],
    ['0a1b2c3d-0000-4000-8000-abcdefabcdef\n'],
    [' 0a1b2c3d-0000-4000-8000-abcdefabcdef'],
  ])('refuses %j', (json) => expectValueRefused(guid, json, { type: 'ValueNotAllowed', words: 'GUID' }))

  it.each([[5], [true], [[]], [{}]])('refuses %j', (json) => {
    expectValueRefused(guid, json, { type: 'MalformedValue' })
  })

  it('is null unless given', () => {
    expect(codecOf(guid)).toMatchObject({ defaultValue: null, isNullable: true, fixedBytes: 16 })
  })
})
