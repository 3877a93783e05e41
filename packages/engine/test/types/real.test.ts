/** real: shortest texts, both widths, never anything infinite. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../bytes/property-runs.ts'
import {
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
} from './type-under-test.ts'

const real = { logicalType: 'real' }
const single = { logicalType: 'real', storage: 'b32' }

describe('definition', () => {
  it.each([
    [real, 'b64'],
    [single, 'b32'],
    [{ logicalType: 'Real', encoding: 'IEEE', storage: 'B32' }, 'b32'],
  ])('%j', (definition, storage) => {
    expect(described(definition)).toEqual({ logicalType: 'real', encoding: 'ieee', storage })
  })

  it.each([
    [
      { ...real, encoding: 'signed' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'ieee' },
    ],
    [
      { ...real, storage: 'b16' },
      { type: 'InvalidDefinition', path: 'storage', words: 'b32 or b64' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    [real, 0.1, '0.1'],
    [real, '2.5e-3', '0.0025'],
    [real, 0.1 + 0.2, '0.30000000000000004'],
    [real, 1e300, '1e+300'],
    [real, 5e-324, '5e-324'],
    [real, -0, '-0'],
    [real, 3, '3'],
    [real, '1e-999', '0'],
    [real, 9_007_199_254_740_993n, '9007199254740992'],
    [single, 0.1, '0.1'],
    [single, 9.99, '9.99'],
    [single, 16_777_217, '16777216'],
    [single, 16_777_218, '16777218'],
    [single, 3.4028234663852886e38, '3.4028235e+38'],
    [single, 2 ** -149, '1e-45'],
    [single, 2 ** -126, '1.1754944e-38'],
    [single, -0, '-0'],
    [single, 1e-60, '0'],
  ])('%j: %s is read back as %s', (definition, json, text) => {
    expect(storedText(definition, json)).toBe(text)
  })

  it('writes powers of two with as few digits as there can be, though the gap below them is narrower', () => {
    expect(storedText(single, 2 ** -96)).toBe('1.2621775e-29')
    expect(storedText(single, 2 ** 87)).toBe('1.5474251e+26')
    expect(storedText(single, -(2 ** 90))).toBe('-1.2379401e+27')
  })

  it('writes a b32 so that it reads back the same, and no text with a digit less does', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = storedText(single, value)
        expect(Math.fround(Number(text))).toBe(value)
        const digits = text.replace(/e.*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '').length
        if (digits < 2) return
        const shorter = Number(value.toPrecision(digits - 1))
        expect(Math.fround(shorter)).not.toBe(value)
      }),
      runs(2_000),
    )
  })

  it.each([
    [single, 1e39],
    [single, 3.4028236e38],
    [single, '-1e39'],
    [real, Number.POSITIVE_INFINITY],
    [real, '1e999'],
    [real, 10n ** 400n],
  ])('%j refuses %s as too great', (definition, json) => {
    expectValueRefused(definition, json, { type: 'ValueNotAllowed', words: 'beyond' })
  })

  it.each([
    [''],
    ['NaN'],
    ['Infinity'],
    ['1.'],
    ['.5'],
    ['+1'],
    ['01'],
    ['0x10'],
    ['1e'],
    [' 1'],
    [false],
    [[1]],
    [{}],
  ])('refuses %j', (json) => expectValueRefused(real, json, { type: 'MalformedValue', words: 'not a number' }))

  it('is 0 unless given', () => {
    expect(codecOf(real)).toMatchObject({ defaultValue: 0, isNullable: true, fixedBytes: 8 })
    expect(codecOf(single)).toMatchObject({ defaultValue: 0, isNullable: true, fixedBytes: 4 })
  })

  it('−0 is 0 in a key, and both widths have the same keys', () => {
    const [wide, narrow] = [codecOf(real), codecOf(single)]
    expect(keyOf(wide, -0)).toEqual(keyOf(wide, 0))
    expect(keyOf(narrow, 1.5)).toEqual(keyOf(wide, 1.5))
  })
})
