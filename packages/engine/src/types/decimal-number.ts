/** Exact decimal numbers: an integer times a power of ten. Calculations that would need more than 76 digits have no result. */
import { formatForMessage, ValueError } from './logical-type.ts'

/** Maximum number of digits of the units, without leading zeros. */
const digitsMax = 76
/** Maximum number of digits after the point, which a product of two values with 76 each has, and a quotient may have. */
const scaleMax = 2 * digitsMax
const quotientDigits = 38

const powers = Array.from({ length: digitsMax + 1 }, (_, exponent) => 10n ** BigInt(exponent))
const unitsEnd = powerOfTen(digitsMax)

export function powerOfTen(exponent: number): bigint {
  return powers[exponent] ?? 10n ** BigInt(exponent)
}

/** `units` times 10 to the power of −`scale`. Used as a double, it is the nearest one. */
export class Decimal {
  readonly units: bigint
  readonly scale: number

  constructor(units: bigint, scale: number) {
    this.units = units
    this.scale = scale
  }

  /** With `scale` digits after the point. */
  toString(): string {
    const { units, scale } = this
    if (scale === 0) return String(units)
    const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
    const point = digits.length - scale
    return `${units < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`
  }

  toJSON(): string {
    return this.toString()
  }

  valueOf(): number {
    return Number(this.toString())
  }

  get isInteger(): boolean {
    return this.units % powerOfTen(this.scale) === 0n
  }
}

/** The in-memory representations of numeric types. */
export type AnyNumber = Decimal | number | bigint

const form = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Keeps trailing zeros. Throws ValueError if the text is not a JSON number or has too many digits. */
export function parseDecimal(text: string): Decimal {
  const match = form.exec(text)
  if (match === null || /^-?0\d/.test(text)) throw new ValueError('MalformedValue', `${unquoted(text)} is not a number`)
  const [, sign, integer = '', fraction = '', exponent = '0'] = match
  const written = (integer + fraction).replace(/^0+/, '')
  // The exponent of zero is irrelevant, however large.
  let scale = written === '' ? Math.min(fraction.length, scaleMax) : fraction.length - Number(exponent)
  const spare = Math.min(zerosAtEnd(written), scale, Math.max(written.length - digitsMax, scale - scaleMax))
  let digits = written
  if (spare > 0) {
    digits = written.slice(0, -spare)
    scale -= spare
  }
  if (digits.length + Math.max(-scale, 0) > digitsMax || scale > scaleMax) throw tooLong(text)
  if (scale < 0) {
    digits += '0'.repeat(-scale)
    scale = 0
  }
  const units = BigInt(digits)
  return new Decimal(sign === '-' ? -units : units, scale)
}

export function zerosAtEnd(digits: string): number {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.length - end
}

function tooLong(text: string): ValueError {
  return new ValueError('ValueNotAllowed', `${unquoted(text)} has more than ${digitsMax} digits`)
}

/** A number without the quotation marks of a text. */
function unquoted(text: string): string {
  return form.test(text) ? formatForMessage(Symbol(text)) : formatForMessage(text)
}

/** A double is converted by its shortest decimal representation. Undefined for too many digits, and for NaN and infinities. */
export function toDecimal(value: AnyNumber): Decimal | undefined {
  if (value instanceof Decimal) return value
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return bounded(BigInt(value), 0)
  if (!Number.isFinite(value)) return undefined
  try {
    return parseDecimal(String(value))
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}

/** Undefined beyond 76 digits. */
function bounded(units: bigint, scale: number): Decimal | undefined {
  const isWithin = units < unitsEnd && units > -unitsEnd && scale <= scaleMax
  return isWithin ? new Decimal(units, scale) : undefined
}

/** Adjusts the scale; excess digits are truncated. Undefined if the result has too many digits. */
export function withScale(value: Decimal, scale: number): Decimal | undefined {
  if (scale === value.scale) return value
  if (scale > value.scale) return bounded(value.units * powerOfTen(scale - value.scale), scale)
  return new Decimal(value.units / powerOfTen(value.scale - scale), scale)
}

export function compareDecimals(one: Decimal, other: Decimal): number {
  const [a, b] = alignedUnits(one, other)
  return a < b ? -1 : a > b ? 1 : 0
}

function alignedUnits(one: Decimal, other: Decimal): [bigint, bigint] {
  if (one.scale === other.scale) return [one.units, other.units]
  return one.scale < other.scale
    ? [one.units * powerOfTen(other.scale - one.scale), other.units]
    : [one.units, other.units * powerOfTen(one.scale - other.scale)]
}

/** Equal values have equal texts. */
export function canonicalDecimal(value: Decimal): string {
  const text = value.toString()
  if (value.scale === 0) return text
  return text.replace(/\.?0+$/, '')
}

export function negated({ units, scale }: Decimal): Decimal {
  return new Decimal(-units, scale)
}

/** The scale is the larger one. Undefined beyond 76 digits, as in the functions below. */
export function sum(one: Decimal, other: Decimal): Decimal | undefined {
  const [a, b] = alignedUnits(one, other)
  return bounded(a + b, Math.max(one.scale, other.scale))
}

export function difference(one: Decimal, other: Decimal): Decimal | undefined {
  return sum(one, negated(other))
}

/** The scale is the sum of both. */
export function product(one: Decimal, other: Decimal): Decimal | undefined {
  return bounded(one.units * other.units, one.scale + other.scale)
}

/** The sign is that of the dividend. Null for a division by zero. */
export function remainder(one: Decimal, other: Decimal): Decimal | null | undefined {
  if (other.units === 0n) return null
  const [a, b] = alignedUnits(one, other)
  return bounded(a % b, Math.max(one.scale, other.scale))
}

/** Rounds half to even, to 38 significant digits or 152 after the point, without trailing zeros. Null for a division by zero. */
export function quotient(one: Decimal, other: Decimal): Decimal | null | undefined {
  if (other.units === 0n) return null
  const isNegative = one.units < 0n !== other.units < 0n
  const [dividend, divisor] = [magnitude(one.units), magnitude(other.units)]
  // With this many more digits, the quotient of the integers has 38 or 39 digits.
  let shift = quotientDigits - (String(dividend).length - String(divisor).length)
  let units = rounded(dividend, divisor, shift)
  if (units >= powerOfTen(quotientDigits)) units = rounded(dividend, divisor, --shift)
  const shiftMax = scaleMax - one.scale + other.scale
  if (shift > shiftMax) {
    shift = shiftMax
    units = rounded(dividend, divisor, shift)
  }
  const zeros = units === 0n ? 0 : zerosAtEnd(String(units))
  const scale = units === 0n ? 0 : one.scale - other.scale + shift - zeros
  const significant = units / powerOfTen(zeros)
  if (scale < -digitsMax) return undefined
  const integer = scale < 0 ? significant * powerOfTen(-scale) : significant
  return bounded(isNegative ? -integer : integer, Math.max(scale, 0))
}

function magnitude(units: bigint): bigint {
  return units < 0n ? -units : units
}

/** The integer nearest to `dividend` times 10 to the power of `shift`, divided; ties to even. */
function rounded(dividend: bigint, divisor: bigint, shift: number): bigint {
  const [a, b] = shift >= 0 ? [dividend * powerOfTen(shift), divisor] : [dividend, divisor * powerOfTen(-shift)]
  const [integer, rest] = [a / b, a % b]
  const roundsUp = 2n * rest > b || (2n * rest === b && integer % 2n === 1n)
  return roundsUp ? integer + 1n : integer
}

export type Rounding = 'up' | 'down' | 'truncate' | 'nearest'

/** Rounds to so many digits after the point, negative for digits before it. `nearest`: ties away from zero. */
export function roundedTo(value: Decimal, digits: number, rounding: Rounding): Decimal | undefined {
  if (digits >= value.scale) return digits > scaleMax ? undefined : withScale(value, digits)
  const dropped = value.scale - digits
  // All digits are dropped, so a larger power makes no difference.
  const power = powerOfTen(Math.min(dropped, digitsMax + scaleMax + 1))
  const [integer, rest] = [value.units / power, value.units % power]
  const units = integer + adjustment(rest, power, rounding)
  return digits >= 0 ? bounded(units, digits) : bounded(units === 0n ? 0n : units * powerOfTen(-digits), 0)
}

/** The correction of the quotient truncated towards zero: −1, 0 or 1. */
function adjustment(rest: bigint, power: bigint, rounding: Rounding): bigint {
  if (rest === 0n) return 0n
  switch (rounding) {
    case 'up':
      return rest > 0n ? 1n : 0n
    case 'down':
      return rest < 0n ? -1n : 0n
    case 'truncate':
      return 0n
    case 'nearest':
      return 2n * magnitude(rest) < power ? 0n : rest > 0n ? 1n : -1n
  }
}
