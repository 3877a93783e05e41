/** Conversion of stored values when the type of their attribute changes (contract 5.3). */

import { isDeepStrictEqual } from 'node:util'
import { unreachable } from '../errors.ts'
import { ticksPerDay, ticksPerSecond } from './calendar.ts'
import { isWithinYears, type OffsetDateTime } from './datetime.ts'
import { type AnyNumber, compareDecimals, type Decimal, powerOfTen, toDecimal, withScale } from './decimal-number.ts'
import { codecFor } from './index.ts'
import { parseJsonText } from './json-value.ts'
import { type Codec, type CodecContext, ValueError } from './logical-type.ts'
import { real } from './real.ts'
import type { DecimalSpec, IntegerSpec, ListSpec, RealSpec, ScalarSpec, TypeSpec } from './type-spec.ts'

export interface Conversion {
  /** The argument is never null; the result may be. */
  convert(value: unknown): unknown
  /** False if information is lost: the result is the default or an approximation. */
  isExact(value: unknown): boolean
  /** The part of a value that would be lost: the value itself, or the elements of a list that are dropped. */
  lossyValues(value: unknown): readonly unknown[]
  /** No value loses information, and distinct values stay distinct. */
  readonly isLossless: boolean
}

/** The result for one value: `isExact` is false for an approximation, and there may be no result. */
interface Converted {
  readonly value: unknown
  readonly isExact: boolean
}
type Step = (value: unknown) => Converted | undefined

/**
 * `strict`: numbers except 0 and 1 are not booleans, and texts are parsed as in requests. `lenient`: the rules of the first builds, needed to read
 * stores written by them: any number except 0 is true, `+7`, `.5` and `TRUE` are values, and a datetime has an offset only if its type stores it,
 * without a blank before it.
 */
export type ConversionRules = 'strict' | 'lenient'

/** For scalars and lists of them; undefined without a conversion. `lost`: the result for values that do not fit, by default the type's default. */
export function conversionFor(
  from: TypeSpec,
  to: TypeSpec,
  rules: ConversionRules = 'strict',
  lost?: unknown,
): Conversion | undefined {
  if (from.logicalType === 'list' && to.logicalType === 'list') return listConversion(from, to, rules)
  if (!isScalar(from) || !isScalar(to)) return undefined
  const step = stepFor(from, to, rules)
  if (step === undefined) return undefined
  const fallback = lost === undefined ? codecFor(to, noContext).defaultValue : lost
  const isExact = (value: unknown): boolean => step(value)?.isExact === true
  return {
    convert: (value) => step(value)?.value ?? fallback,
    isExact,
    lossyValues: (value) => (isExact(value) ? [] : [value]),
    isLossless: isLossless(from, to),
  }
}

/** True if strict and lenient rules may convert a value differently. */
export function dependsOnRules(from: TypeSpec, to: TypeSpec): boolean {
  if (from.logicalType === 'list' && to.logicalType === 'list') return dependsOnRules(from.element, to.element)
  switch (to.logicalType) {
    case 'boolean':
      return isScalar(from) && (isNumber(from) || isText(from))
    case 'integer':
    case 'real':
    case 'datetime':
      return isScalar(from) && isText(from)
    default:
      return false
  }
}

const noContext: CodecContext = {
  embedded: () => {
    unreachable('single values embed nothing')
  },
}

function isScalar(spec: TypeSpec): spec is ScalarSpec {
  return !['reference', 'object', 'list', 'set', 'map'].includes(spec.logicalType)
}

/** Converts element by element; elements that do not fit are dropped. */
function listConversion(from: ListSpec, to: ListSpec, rules: ConversionRules): Conversion | undefined {
  if (!isScalar(from.element) || !isScalar(to.element)) return undefined
  const step = isDeepStrictEqual(from.element, to.element) ? unchanged : stepFor(from.element, to.element, rules)
  if (step === undefined) return undefined
  const isExact = (element: unknown): boolean => step(element)?.isExact === true
  return {
    convert: (value) =>
      (value as readonly unknown[]).flatMap((element) => {
        const converted = step(element)
        return converted === undefined ? [] : [converted.value]
      }),
    isExact: (value) => (value as readonly unknown[]).every(isExact),
    lossyValues: (value) => (value as readonly unknown[]).filter((element) => !isExact(element)),
    isLossless: step === unchanged || isLossless(from.element, to.element),
  }
}

const unchanged: Step = (value) => ({ value, isExact: true })

function stepFor(from: ScalarSpec, to: ScalarSpec, rules: ConversionRules): Step | undefined {
  const codec = codecFor(to, noContext)
  if (isText(to)) return toText(from, codec)
  if (isText(from)) return to.logicalType === 'json' ? toJsonOfText : fromText(to, codec, rules)
  switch (to.logicalType) {
    case 'boolean':
      return isNumber(from) ? toBoolean(rules) : same(from, to)
    case 'integer':
      if (from.logicalType === 'decimal') return decimalToInteger(codec)
      return isNumber(from) || from.logicalType === 'boolean' ? toInteger(codec) : undefined
    case 'real':
      if (from.logicalType === 'decimal') return decimalToReal(to)
      return isNumber(from) || from.logicalType === 'boolean' ? toReal(to.storage === 'b32') : undefined
    case 'decimal':
      return isNumber(from) || from.logicalType === 'decimal' ? toDecimalOf(from, to) : undefined
    case 'date':
    case 'time':
    case 'datetime':
      return toMoment(from, to)
    default:
      return same(from, to)
  }
}

function isNumber({ logicalType }: ScalarSpec): boolean {
  return logicalType === 'integer' || logicalType === 'real'
}

function isText({ logicalType }: ScalarSpec): boolean {
  return logicalType === 'string' || logicalType === 'character'
}

function toBoolean(rules: ConversionRules): Step {
  return (value) => {
    const number = Number(value)
    if (number === 0 || number === 1) return { value: number === 1, isExact: true }
    return rules === 'lenient' ? { value: true, isExact: false } : undefined
  }
}

function same(from: ScalarSpec, to: ScalarSpec): Step | undefined {
  return from.logicalType === to.logicalType ? unchanged : undefined
}

/** Converts to text as in replies; no result if that is too long or not in the encoding. */
function toText(from: ScalarSpec, to: Codec): Step {
  const { toJson } = codecFor(from, noContext)
  return (value) => {
    const json = toJson(value)
    return json === null ? undefined : parsed(to, String(json))
  }
}

/** The text is parsed as JSON, not converted to a JSON string. */
function toJsonOfText(text: unknown): Converted | undefined {
  return attempted(() => {
    const json = parseJsonText(text as string)
    return json === 'null' ? null : json
  })
}

/** Surrounding blanks are ignored. */
function fromText(to: ScalarSpec, codec: Codec, rules: ConversionRules): Step {
  if (rules === 'strict') return (value) => parsed(codec, (value as string).trim())
  const read = lenientReader(to)
  return (value) => {
    const json = read((value as string).trim())
    return json === undefined ? undefined : parsed(codec, json)
  }
}

const anyOffset = /(Z|[+-]\d\d:\d\d)$/
const offsetAfterBlank = / (Z|[+-]\d\d:\d\d)$/

/** The JSON by which the first builds read the text; undefined if there was none. */
function lenientReader(to: ScalarSpec): (text: string) => unknown {
  switch (to.logicalType) {
    case 'boolean':
      return (text) => ({ true: true, false: false })[text.toLowerCase()]
    case 'integer':
      return (text) => (/^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined)
    case 'real':
      return (text) => (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined)
    case 'datetime':
      return (text) => ((to.storage === 'datetime' ? anyOffset : offsetAfterBlank).test(text) ? undefined : text)
    default:
      return (text) => text
  }
}

function parsed(codec: Codec, json: unknown): Converted | undefined {
  return attempted(() => codec.parse(json))
}

function attempted(convert: () => unknown): Converted | undefined {
  try {
    return { value: convert(), isExact: true }
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}

/** Fractions are truncated. */
function toInteger(codec: Codec): Step {
  return (value) => {
    if (typeof value === 'number' && !Number.isFinite(value)) return undefined
    const truncated = typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value)))
    const result = parsed(codec, truncated)
    return result && { ...result, isExact: typeof value !== 'number' || Number.isInteger(value) }
  }
}

function toReal(isSingle: boolean): Step {
  return (value) => {
    const number = Number(value)
    const result = isSingle ? Math.fround(number) : number
    if (Number.isFinite(number) && !Number.isFinite(result)) return undefined
    const isExact = typeof value === 'bigint' ? BigInt(result) === value : Object.is(result, number)
    return { value: result, isExact }
  }
}

/** Converts the number as shown in replies. Excess fractional digits are truncated. */
function toDecimalOf(from: ScalarSpec, { precision, scale }: DecimalSpec): Step {
  const sourceCodec = codecFor(from, noContext)
  const end = powerOfTen(precision)
  return (value) => {
    const decimal = toDecimal((from.logicalType === 'real' ? sourceCodec.toJson(value) : value) as AnyNumber)
    const cut = decimal && withScale(decimal, scale)
    if (decimal === undefined || cut === undefined || cut.units >= end || cut.units <= -end) return undefined
    return { value: cut, isExact: withScale(cut, decimal.scale)?.units === decimal.units }
  }
}

function decimalToInteger(codec: Codec): Step {
  return (value) => {
    const { units, scale } = value as Decimal
    const result = parsed(codec, units / powerOfTen(scale))
    return result && { ...result, isExact: (value as Decimal).isInteger }
  }
}

/** The nearest real, which is exact if replies show it as the same number. */
function decimalToReal(to: RealSpec): Step {
  const codec = real.codec(to, noContext)
  return (value) => {
    const result = codec.parse(String(value))
    const restored = toDecimal(codec.toJson(result) as number)
    return { value: result, isExact: restored !== undefined && compareDecimals(restored, value as Decimal) === 0 }
  }
}

const ticksPerMinute = 60 * ticksPerSecond
const dayOf = (ticks: number): number => Math.floor(ticks / ticksPerDay)

/** Between dates, times and datetimes; a time of day has no date to convert to. */
function toMoment(from: ScalarSpec, to: ScalarSpec): Step | undefined {
  if (from.logicalType === to.logicalType && from.logicalType !== 'datetime') return same(from, to)
  const isWithOffset = to.logicalType === 'datetime' && to.storage === 'datetimeoffset'
  if (from.logicalType === 'date') {
    if (to.logicalType !== 'datetime') return undefined
    return (value) => ({ value: moment((value as number) * ticksPerDay, isWithOffset), isExact: true })
  }
  if (from.logicalType !== 'datetime') return undefined
  const local = (value: unknown): { ticks: number; offsetMinutes: number } => {
    if (from.storage === 'datetime') return { ticks: value as number, offsetMinutes: 0 }
    const { ticks, offsetMinutes } = value as OffsetDateTime
    return { ticks: ticks + offsetMinutes * ticksPerMinute, offsetMinutes }
  }
  return (value) => {
    const { ticks, offsetMinutes } = local(value)
    const day = dayOf(ticks)
    switch (to.logicalType) {
      case 'date':
        return { value: day, isExact: ticks === day * ticksPerDay && offsetMinutes === 0 }
      case 'time':
        return { value: ticks - day * ticksPerDay, isExact: false }
      default:
        if (from.storage === 'datetimeoffset' && isWithOffset) return { value, isExact: true }
        // Preserves the instant, not the local time: without an offset, UTC is assumed.
        return toUtc(ticks - offsetMinutes * ticksPerMinute, isWithOffset, offsetMinutes === 0)
    }
  }
}

/** No result outside the years of a plain datetime. */
function toUtc(ticks: number, isWithOffset: boolean, isExact: boolean): Converted | undefined {
  return isWithOffset || isWithinYears(ticks) ? { value: moment(ticks, isWithOffset), isExact } : undefined
}

function moment(ticks: number, isWithOffset: boolean): number | OffsetDateTime {
  return isWithOffset ? { ticks, offsetMinutes: 0 } : ticks
}

/** Decides by the types alone, so that values need not be scanned. */
function isLossless(from: ScalarSpec, to: ScalarSpec): boolean {
  switch (from.logicalType) {
    case 'boolean':
      return to.logicalType !== 'string' && to.logicalType !== 'character' ? true : fitsAnyText(to, 5)
    case 'integer':
      return integerFits(from, to)
    case 'real':
      return to.logicalType === 'real' ? from.storage === to.storage || to.storage === 'b64' : fitsAnyText(to, 25)
    case 'decimal':
      return decimalFits(from, to)
    case 'character':
      return to.logicalType === 'character'
        ? bitsOf(from.storage) <= bitsOf(to.storage)
        : fitsAnyText(to, 1) && to.logicalType === 'string' && (to.encoding !== 'byte' || from.storage === 'b8')
    case 'string':
      return to.logicalType === 'string' && stringFits(from, to)
    case 'bytes':
    case 'json':
      return from.logicalType === to.logicalType || fitsAnyText(to, Number.POSITIVE_INFINITY)
    case 'date':
      return to.logicalType === 'datetime' || fitsAnyText(to, 10)
    case 'datetime':
      return to.logicalType === 'datetime'
        ? from.storage === 'datetime' || to.storage === 'datetimeoffset'
        : fitsAnyText(to, 32)
    default:
      return from.logicalType === to.logicalType || fitsAnyText(to, 40)
  }
}

/** Texts of this length in the narrowest encoding fit. */
function fitsAnyText(to: ScalarSpec, characters: number): boolean {
  if (to.logicalType !== 'string') return false
  return to.storage !== 'fixed' || (to.fixedLength ?? 0) >= characters
}

type TextSpec = Extract<ScalarSpec, { logicalType: 'string' }>

function stringFits(from: TextSpec, to: TextSpec): boolean {
  const isLongEnough =
    to.storage !== 'fixed' || (from.storage === 'fixed' && (to.fixedLength ?? 0) >= (from.fixedLength ?? 0))
  return isLongEnough && (to.encoding !== 'byte' || from.encoding === 'byte')
}

function bitsOf(storage: 'b8' | 'b16' | 'b32' | 'b64'): number {
  return Number(storage.slice(1))
}

/** A sign, a zero before the point, and the point. */
const nonDigitCharacters = 3
/** Number of decimal digits up to which distinct numbers stay distinct as a real, or as an integer of that width. */
const exactDigits = { real: { b32: 6, b64: 15 }, integer: { b8: 2, b16: 4, b32: 9, b64: 18 } } as const

function decimalFits(from: DecimalSpec, to: ScalarSpec): boolean {
  switch (to.logicalType) {
    case 'decimal':
      return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale
    case 'real':
      return from.precision <= exactDigits.real[to.storage]
    case 'integer':
      return from.scale === 0 && to.encoding === 'signed' && from.precision <= exactDigits.integer[to.storage]
    default:
      return fitsAnyText(to, from.precision + nonDigitCharacters)
  }
}

/** Digits of the greatest integer. */
const integerDigits = { b8: 3, b16: 5, b32: 10, b64: 20 } as const

const exactBitsOfReal = { b32: 24, b64: 53 } as const

function integerFits(from: IntegerSpec, to: ScalarSpec): boolean {
  const isSigned = from.encoding === 'signed'
  const bits = bitsOf(from.storage)
  if (to.logicalType === 'real') return bits <= exactBitsOfReal[to.storage]
  if (to.logicalType === 'decimal') return integerDigits[from.storage] <= to.precision - to.scale
  if (to.logicalType !== 'integer') return fitsAnyText(to, 20)
  if (to.encoding === from.encoding) return bits <= bitsOf(to.storage)
  return !isSigned && bits < bitsOf(to.storage)
}
