/** integer: four widths, signed and unsigned, exact in both directions. */
import { describe, expect, it } from 'vitest'
import { formatForMessage } from '../../src/types/logical-type.ts'
import {
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
} from './type-under-test.ts'

const integer = { logicalType: 'integer' }
const wide = { logicalType: 'integer', storage: 'b64' }

describe('definition', () => {
  it.each([
    [integer, 'signed', 'b32'],
    [{ logicalType: 'Integer', encoding: 'Unsigned', storage: 'B8' }, 'unsigned', 'b8'],
    [{ ...integer, encoding: null, storage: 'b64' }, 'signed', 'b64'],
  ])('%j', (definition, encoding, storage) => {
    expect(described(definition)).toEqual({ logicalType: 'integer', encoding, storage })
  })

  it.each([
    [
      { ...integer, encoding: 'utf8' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'signed or unsigned' },
    ],
    [
      { ...integer, storage: 'b7' },
      { type: 'InvalidDefinition', path: 'storage', words: 'not "b7"' },
    ],
    [
      { ...integer, storage: 32 },
      { type: 'MalformedValue', path: 'storage', words: '32' },
    ],
    [
      { ...integer, class: 'Fleet.Address' },
      { type: 'InvalidDefinition', path: 'class', words: 'type integer' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe.each([
  ['signed', 'b8', -128n, 127n],
  ['unsigned', 'b8', 0n, 255n],
  ['signed', 'b16', -32_768n, 32_767n],
  ['unsigned', 'b16', 0n, 65_535n],
  ['signed', 'b32', -2_147_483_648n, 2_147_483_647n],
  ['unsigned', 'b32', 0n, 4_294_967_295n],
  ['signed', 'b64', -9_223_372_036_854_775_808n, 9_223_372_036_854_775_807n],
  ['unsigned', 'b64', 0n, 18_446_744_073_709_551_615n],
])('%s %s', (encoding, storage, min, max) => {
  const definition = { logicalType: 'integer', encoding, storage }

  it('holds its least and greatest, as bigint and as digits', () => {
    for (const value of [min, max, 0n, 1n]) {
      expect(storedText(definition, value)).toBe(String(value))
      expect(storedText(definition, String(value))).toBe(String(value))
      if (Number.isSafeInteger(Number(value))) expect(storedText(definition, Number(value))).toBe(String(value))
    }
  })

  it('refuses what is beyond, telling the range', () => {
    const refusal = {
      type: 'ValueNotAllowed',
      words: `not between ${min} and ${max}, the range of the storage ${storage}`,
    } as const
    for (const value of [min - 1n, max + 1n, 10n ** 24n]) {
      expectValueRefused(definition, value, refusal)
      expectValueRefused(definition, String(value), refusal)
      expectValueRefused(definition, Number(value) + (value < 0n ? -3_000 : 3_000), refusal)
    }
  })

  it('is 0 unless given', () => {
    const codec = codecOf(definition)
    expect(Number(codec.defaultValue)).toBe(0)
    expect(codec).toMatchObject({ isNullable: true, fixedBytes: Number(storage.slice(1)) / 8 })
  })
})

describe('values', () => {
  it.each([
    [1.0, '1'],
    [-0, '0'],
    ['-0', '0'],
    ['007', '7'],
    [1e3, '1000'],
  ])('%j is read back as %s', (json, text) => {
    expect(storedText(integer, json)).toBe(text)
    expect(storedText(wide, json)).toBe(text)
  })

  it('is exact beyond 2^53', () => {
    expect(storedText(wide, 9_007_199_254_740_993n)).toBe('9007199254740993')
    expect(storedText(wide, '-9007199254740993')).toBe('-9007199254740993')
  })

  it.each([[1.5], [1e-9], [Number.POSITIVE_INFINITY]])('%j is not an integer', (json) => {
    for (const definition of [integer, wide]) {
      expectValueRefused(definition, json, {
        type: 'ValueNotAllowed',
        words: `${formatForMessage(json)} is not an integer`,
      })
    }
  })

  it('refuses digits without end before counting them', () => {
    expectValueRefused(wide, '9'.repeat(100_000), { type: 'ValueNotAllowed', words: 'digits' })
  })

  it.each([[''], ['abc'], ['1.5'], ['1e3'], ['+1'], [' 1'], ['--1'], ['٣'], [true], [[1]], [{}]])(
    'refuses %j',
    (json) => {
      for (const definition of [integer, wide]) expectValueRefused(definition, json, { type: 'MalformedValue' })
    },
  )

  it('has keys that are the same in every width', () => {
    const keys = ['b8', 'b16', 'b32', 'b64'].flatMap((storage) => {
      return ['signed', 'unsigned'].map((encoding) => {
        const codec = codecOf({ logicalType: 'integer', encoding, storage })
        return keyOf(codec, codec.parse(100)).toString('hex')
      })
    })
    expect(new Set(keys).size).toBe(1)
  })
})
