/** character: one code point, within its storage. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const character = { logicalType: 'character' }

describe('definition', () => {
  it.each([
    [character, 'b32'],
    [{ ...character, encoding: 'BINARY', storage: 'B8' }, 'b8'],
    [{ ...character, storage: 'b16' }, 'b16'],
  ])('%j', (definition, storage) => {
    expect(described(definition)).toEqual({ logicalType: 'character', encoding: 'binary', storage })
  })

  it.each([
    [
      { ...character, encoding: 'utf8' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'binary' },
    ],
    [
      { ...character, storage: 'b64' },
      { type: 'InvalidDefinition', path: 'storage', words: 'b8 or b16 or b32' },
    ],
    [
      { ...character, fixedLength: 1 },
      { type: 'InvalidDefinition', path: 'fixedLength' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    ['b8', 'x'],
    ['b8', '\u00ff'],
    ['b8', '\u0000'],
    ['b8', '"'],
    ['b16', '\uffff'],
    ['b16', '漢'],
    ['b32', '😀'],
    ['b32', '\u{10ffff}'],
  ])('%s holds %j', (storage, json) => {
    expect(storedText({ ...character, storage }, json)).toBe(JSON.stringify(json))
  })

  it.each([
    ['b8', '\u0100', 'U+FF'],
    ['b16', '😀', 'U+FFFF'],
    ['b32', '', 'single character'],
    ['b32', 'ab', 'single character'],
    ['b32', 'e\u0301', 'single character'],
    ['b32', '\ud83d', 'single character'],
    ['b16', '\udc00', 'single character'],
  ])('%s refuses %j', (storage, json, words) => {
    expectValueRefused({ ...character, storage }, json, { type: 'ValueNotAllowed', words })
  })

  it.each([[5], [true], [['a']], [{}]])('refuses %j', (json) => {
    expectValueRefused(character, json, { type: 'MalformedValue', words: 'not a string' })
  })

  it('is null unless given', () => {
    expect(codecOf(character)).toMatchObject({ defaultValue: null, isNullable: true })
  })
})
