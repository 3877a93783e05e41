/** string: what each encoding holds, lengths in code points, and texts as they are stored. */
import { describe, expect, it } from 'vitest'
import {
  bytesOf,
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  storedText,
} from './type-under-test.ts'

const string = { logicalType: 'string' }
const fixed = { logicalType: 'string', storage: 'fixed', fixedLength: 3 }

describe('definition', () => {
  it.each([
    [string, { encoding: 'utf8', storage: 'variable' }],
    [
      { ...string, encoding: 'UTF16' },
      { encoding: 'utf16', storage: 'variable' },
    ],
    [
      { ...string, storage: 'Optimized' },
      { encoding: 'utf8', storage: 'optimized' },
    ],
    [
      { ...string, storage: 'optimized', fixedLength: '20' },
      { encoding: 'utf8', storage: 'optimized', fixedLength: 20 },
    ],
    [
      { ...fixed, encoding: 'byte' },
      { encoding: 'byte', storage: 'fixed', fixedLength: 3 },
    ],
  ])('%j', (definition, shown) => {
    expect(described(definition)).toEqual({ logicalType: 'string', ...shown })
  })

  it.each([
    [
      { ...string, storage: 'fixed' },
      { type: 'InvalidDefinition', path: 'fixedLength', words: 'needed' },
    ],
    [
      { ...string, fixedLength: 3 },
      { type: 'InvalidDefinition', path: 'fixedLength', words: 'variable' },
    ],
    [
      { ...fixed, fixedLength: 0 },
      { type: 'InvalidDefinition', path: 'fixedLength', words: 'integer' },
    ],
    [
      { ...fixed, fixedLength: -1 },
      { type: 'InvalidDefinition', path: 'fixedLength' },
    ],
    [
      { ...fixed, fixedLength: 1.5 },
      { type: 'InvalidDefinition', path: 'fixedLength' },
    ],
    [
      { ...fixed, fixedLength: 10n ** 20n },
      { type: 'InvalidDefinition', path: 'fixedLength' },
    ],
    [
      { ...fixed, fixedLength: 'three' },
      { type: 'MalformedValue', path: 'fixedLength' },
    ],
    [
      { ...fixed, fixedLength: true },
      { type: 'MalformedValue', path: 'fixedLength' },
    ],
    [
      { ...string, encoding: 'latin1' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'utf32' },
    ],
    [
      { ...string, storage: 'b32' },
      { type: 'InvalidDefinition', path: 'storage', words: 'optimized' },
    ],
  ] as const)('refuses %o', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([[''], ['plain'], ['\u0000\n"\\ é 漢 😀 \u2028\u007f'], ['x'.repeat(200)], ['é'.repeat(200)], ['__proto__']])(
    'holds %j in every encoding of Unicode',
    (json) => {
      for (const encoding of ['utf8', 'utf16', 'utf32']) {
        expect(storedText({ ...string, encoding }, json)).toBe(JSON.stringify(json))
      }
    },
  )

  it('byte holds U+0000 to U+00FF', () => {
    const all = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code))
    const byte = { ...string, encoding: 'byte' }
    expect(storedText(byte, all)).toBe(JSON.stringify(all))
    expectValueRefused(byte, 'a\u0100', { type: 'ValueNotAllowed', words: 'U+00FF' })
    expectValueRefused(byte, '😀', { type: 'ValueNotAllowed', words: 'byte' })
  })

  it.each([['\ud800'], ['a\udc00b'], ['\udc00\ud800']])('refuses %j: half a surrogate pair', (json) => {
    for (const encoding of ['byte', 'utf8', 'utf16', 'utf32']) {
      expectValueRefused({ ...string, encoding }, json, { type: 'ValueNotAllowed', words: 'surrogate' })
    }
  })

  it('counts a fixed length in code points', () => {
    expect(storedText(fixed, '😀😀😀')).toBe('"😀😀😀"')
    expect(storedText(fixed, 'a')).toBe('"a"')
    expectValueRefused(fixed, 'abcd', { type: 'ValueNotAllowed', words: 'longer than 3' })
    expectValueRefused(fixed, '😀😀😀😀', { type: 'ValueNotAllowed', words: 'longer than 3' })
  })

  it('an optimized string may be longer than what is kept in place', () => {
    const optimized = { ...string, storage: 'optimized', fixedLength: 3 }
    expect(storedText(optimized, 'longer than three')).toBe('"longer than three"')
  })

  it.each([[5], [true], [['a']], [{}], [5n]])('refuses %s', (json) => {
    expectValueRefused(string, json, { type: 'MalformedValue', words: 'not a string' })
  })

  it('is empty unless given', () => {
    expect(codecOf(string)).toMatchObject({ defaultValue: '', isNullable: true, fixedBytes: undefined })
  })

  it('cuts long values in messages', () => {
    expectValueRefused({ ...string, encoding: 'byte' }, '漢'.repeat(10_000), { type: 'ValueNotAllowed', words: '…' })
  })

  it('stores UTF-8 after a byte that tells whether JSON needs escapes in it', () => {
    const codec = codecOf(string)
    expect([...bytesOf(codec, 'aé')]).toEqual([1, 0x61, 0xc3, 0xa9])
    for (const escaped of ['"', '\\', '\n', '\u0000', '\u001f']) expect(bytesOf(codec, escaped)[0]).toBe(0)
  })
})
