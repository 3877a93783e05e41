/** decimal: exact, refused where digits would be lost, and in the order of the values as a key. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Decimal } from '../../src/types/decimal-number.ts'
import { runs } from '../bytes/property-runs.ts'
import {
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
} from './type-under-test.ts'

const decimal = (precision: number, scale: number) => ({ logicalType: 'decimal', precision, scale })
const price = decimal(5, 2)

describe('definition', () => {
  it.each([
    [{ logicalType: 'Decimal' }, decimal(38, 0)],
    [{ logicalType: 'decimal', precision: 5 }, decimal(5, 0)],
    [{ logicalType: 'decimal', scale: '3' }, decimal(38, 3)],
    [{ logicalType: 'decimal', precision: '38', scale: 38 }, decimal(38, 38)],
  ])('%j', (definition, wanted) => expect(described(definition)).toEqual(wanted))

  it.each([
    [{ precision: 0 }, 'precision', 'from 1 to 38'],
    [{ precision: 39 }, 'precision', 'from 1 to 38'],
    [{ precision: 5, scale: 6 }, 'scale', 'from 0 to 5'],
    [{ scale: -1 }, 'scale', 'from 0 to 38'],
    [{ storage: 'b64' }, 'storage', 'type decimal'],
  ])('refuses %j', (fields, path, words) => {
    expectDefinitionRefused({ logicalType: 'decimal', ...fields }, { type: 'InvalidDefinition', path, words })
  })
})

describe('values', () => {
  it.each([
    [price, '12.5', '"12.50"'],
    [price, 12.5, '"12.50"'],
    [price, '-0', '"0.00"'],
    [price, -0.01, '"-0.01"'],
    [price, '999.99', '"999.99"'],
    [price, '1.25e1', '"12.50"'],
    [price, '12500000e-6', '"12.50"'],
    [price, `1.${'0'.repeat(10_000)}`, '"1.00"'],
    [price, `0e${'9'.repeat(400)}`, '"0.00"'],
    [price, 7n, '"7.00"'],
    [price, Symbol('1.5000000000000000000000000000'), '"1.50"'],
    [decimal(38, 38), '0.99999999999999999999999999999999999999', '"0.99999999999999999999999999999999999999"'],
    [decimal(38, 0), -99999999999999999999999999999999999999n, '"-99999999999999999999999999999999999999"'],
    [decimal(38, 0), 1e25, '"10000000000000000000000000"'],
  ])('%j: %s is read back as %s', (definition, json, text) => expect(storedText(definition, json)).toBe(text))

  it.each([
    [price, '12.345', 'more than 2 digits behind the point'],
    [price, 0.125, 'more than 2 digits behind the point'],
    [price, '1000', 'more than 3 digits before the point'],
    [price, -1000, 'more than 3 digits before the point'],
    [price, Symbol('1.00000000000000000001'), 'more than 2 digits behind the point'],
    [price, '1e-400', 'more than 76 digits'],
    [price, `1e${'9'.repeat(400)}`, 'more than 76 digits'],
    [decimal(1, 1), '1', 'more than 0 digits before the point'],
    [decimal(38, 0), '1e38', 'more than 38 digits before the point'],
    [decimal(38, 0), 1e300, 'beyond what a decimal holds'],
    [decimal(38, 0), Number.POSITIVE_INFINITY, 'beyond'],
    [decimal(38, 0), '1'.repeat(100_000), 'more than 76 digits'],
  ])('%j refuses %s', (definition, json, words) => {
    expectValueRefused(definition, json, { type: 'ValueNotAllowed', words })
  })

  it.each([[''], ['x'], ['1,5'], ['.5'], ['5.'], ['+5'], ['007'], ['0x1F'], ['NaN'], [' 1'], [true], [[]], [{}]])(
    'refuses %j',
    (json) => expectValueRefused(price, json, { type: 'MalformedValue', words: 'is not a number' }),
  )

  it('are 0 unless given, of a fixed width', () => {
    expect(codecOf(price)).toMatchObject({ defaultValue: new Decimal(0n, 2), isNullable: true, fixedBytes: 3 })
    expect(codecOf(decimal(2, 0))).toMatchObject({ fixedBytes: 1 })
    expect(codecOf(decimal(38, 19))).toMatchObject({ fixedBytes: 16 })
  })
})

describe('keys', () => {
  const amount = fc.record({
    digits: fc.bigInt({ min: -(10n ** 38n - 1n), max: 10n ** 38n - 1n }),
    dropped: fc.nat(38),
    scale: fc.nat(38),
  })
  /** Small and large numbers alike, as their units at a scale of 38. */
  const cases = amount.map(({ digits, dropped, scale }) => {
    const units = digits / 10n ** BigInt(dropped)
    return { value: new Decimal(units, scale), rank: units * 10n ** BigInt(38 - scale) }
  })
  const key = (value: Decimal): Buffer => keyOf(codecOf(decimal(38, value.scale)), value)

  it('have the order of the values, whatever their scales, and read back as they were', () => {
    fc.assert(
      fc.property(cases, cases, fc.nat(9), (one, given, near) => {
        const other = near > 6 ? { ...one, rank: one.rank + BigInt(near - 8) } : given
        const value = near > 6 ? new Decimal(other.rank, 38) : other.value
        const order = one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0
        expect(Buffer.compare(key(one.value), key(value))).toBe(order)
        const read = codecOf(decimal(38, one.value.scale)).key?.read?.(key(one.value), 1, 0)
        expect(read).toEqual(one.value)
      }),
      runs(20_000),
    )
  })
})
