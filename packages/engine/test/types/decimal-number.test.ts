/** Calculations with decimals, against fractions of whole numbers. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalDecimal,
  compareDecimals,
  Decimal,
  difference,
  parseDecimal,
  product,
  quotient,
  remainder,
  roundedTo,
  sum,
  toDecimal,
} from '../../src/types/decimal-number.ts'
import { runs } from '../bytes/property-runs.ts'

/** Exact: `over` is greater than 0. */
interface Fraction {
  readonly units: bigint
  readonly over: bigint
}

const power = (exponent: number): bigint => 10n ** BigInt(exponent)
const size = (units: bigint): bigint => (units < 0n ? -units : units)
const fraction = ({ units, scale }: Decimal): Fraction => ({ units, over: power(scale) })
const areEqual = (one: Fraction, other: Fraction): boolean => one.units * other.over === other.units * one.over

const decimals = fc
  .tuple(fc.bigInt({ min: -power(38) + 1n, max: power(38) - 1n }), fc.nat(37), fc.nat(38))
  .map(([digits, dropped, scale]) => new Decimal(digits / power(dropped), scale))

/** The model has a result; so has the calculation, unless it has more than 76 digits. */
function check(result: Decimal | null | undefined, wanted: Fraction, scale: number): void {
  const exact = (wanted.units * power(scale)) / wanted.over
  if (size(exact) >= power(76)) expect(result).toBeUndefined()
  else {
    expect(result?.scale).toBe(scale)
    expect(areEqual(fraction(result as Decimal), wanted)).toBe(true)
  }
}

describe('calculations', () => {
  it('+, - and * are exact, with the larger scale or the sum', () => {
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        const [one, other] = [fraction(a), fraction(b)]
        const [left, right] = [one.units * other.over, other.units * one.over]
        const over = one.over * other.over
        const scale = Math.max(a.scale, b.scale)
        check(sum(a, b), { units: left + right, over }, scale)
        check(difference(a, b), { units: left - right, over }, scale)
        check(product(a, b), { units: one.units * other.units, over }, a.scale + b.scale)
        expect(Math.sign(compareDecimals(a, b))).toBe(left < right ? -1 : left > right ? 1 : 0)
      }),
      runs(10_000),
    )
  })

  it('/ has 38 significant digits, half to even', () => {
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        const result = quotient(a, b)
        if (b.units === 0n) {
          expect(result).toBeNull()
          return
        }
        const { units, scale } = result as Decimal
        expect(scale === 0 || units % 10n !== 0n).toBe(true)
        const sign = b.units < 0n ? -1n : 1n
        const exact = { units: a.units * power(b.scale) * sign, over: size(b.units) * power(a.scale) }
        // Twice the distance, in units of the last of 38 digits, is at most 1.
        const digits = String(size(units)).replace(/^0+/, '').length
        const unit = scale + 38 - digits
        const distance = size(
          exact.units * power(Math.max(unit, scale)) - units * exact.over * power(Math.max(unit, scale) - scale),
        )
        const last = exact.over * power(Math.max(unit, scale) - unit)
        expect(2n * distance <= last).toBe(true)
        if (2n * distance === last) expect(digits < 38 || units % 2n === 0n).toBe(true)
      }),
      runs(10_000),
    )
  })

  it('% has the sign of the dividend', () => {
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        fc.pre(b.units !== 0n)
        const scale = Math.max(a.scale, b.scale)
        const [one, other] = [a.units * power(scale - a.scale), b.units * power(scale - b.scale)]
        check(remainder(a, b), { units: one % other, over: power(scale) }, scale)
      }),
      runs(2_000),
    )
  })

  it.each([
    ['1', '3', '0.33333333333333333333333333333333333333'],
    ['2', '3', '0.66666666666666666666666666666666666667'],
    ['-1', '8', '-0.125'],
    ['100', '0.1', '1000'],
    ['1e-38', '99999999999999999999999999999999999999', '1.0000000000000000000000000000000000000e-76'],
    // Exactly between two of 38 digits: to the even one.
    ['10000000000000000000000000000000000000.5', '1', '10000000000000000000000000000000000000'],
    ['10000000000000000000000000000000000001.5', '1', '10000000000000000000000000000000000002'],
    ['9.99999999999999999999999999999999999995', '1', '10'],
  ])('%s / %s = %s', (one, other, wanted) => {
    const result = quotient(parseDecimal(one), parseDecimal(other)) as Decimal
    expect(canonicalDecimal(result)).toBe(canonicalDecimal(parseDecimal(wanted)))
  })

  it('has no result beyond 76 digits', () => {
    const large = parseDecimal('9'.repeat(76))
    expect(sum(large, parseDecimal('1'))).toBeUndefined()
    expect(product(large, parseDecimal('2'))).toBeUndefined()
    expect(quotient(large, parseDecimal('0.1'))).toBeUndefined()
    expect(product(parseDecimal('1e-100'), parseDecimal('1e-100'))).toBeUndefined()
  })
})

describe('texts', () => {
  it('are read as they are written', () => {
    fc.assert(
      fc.property(decimals, (value) => {
        expect(parseDecimal(String(value))).toEqual(value)
        expect(canonicalDecimal(parseDecimal(canonicalDecimal(value)))).toBe(canonicalDecimal(value))
      }),
      runs(5_000),
    )
  })

  it('of doubles are the shortest', () => {
    expect(String(toDecimal(0.1))).toBe('0.1')
    expect(String(toDecimal(1e21))).toBe('1000000000000000000000')
    expect(toDecimal(1e300)).toBeUndefined()
    expect(toDecimal(Number.NaN)).toBeUndefined()
  })
})

it.each([
  ['12.345', 2, '12.35', '12.35', '12.34', '12.34'],
  ['-12.345', 2, '-12.35', '-12.34', '-12.35', '-12.34'],
  ['12.5', 0, '13', '13', '12', '12'],
  ['-0.4', 0, '0', '0', '-1', '0'],
  ['12.5', 3, '12.500', '12.500', '12.500', '12.500'],
  ['1250', -2, '1300', '1300', '1200', '1200'],
  ['1250', -90, '0', undefined, '0', '0'],
])('%s rounded to %d digits', (text, digits, nearest, up, down, truncated) => {
  const value = parseDecimal(text)
  const wanted = { nearest, up, down, truncate: truncated }
  const found = Object.keys(wanted).map((way) => [
    way,
    roundedTo(value, digits, way as keyof typeof wanted)?.toString(),
  ])
  expect(Object.fromEntries(found)).toEqual(wanted)
})
