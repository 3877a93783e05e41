/** Converts values to the expected type: constant texts, dates to datetimes, integers to reals. */
import { type AnyNumber, toDecimal } from '../../types/decimal-number.ts'
import { ValueError } from '../../types/logical-type.ts'
import { isLifted } from '../parse/lift-literals.ts'
import { arithmeticFor } from '../values/arithmetic.ts'
import { canBeText, valueOfText } from '../values/coerce.ts'
import { jsonOfParameter, jsonOfSingle } from '../values/json-of.ts'
import { normalizeNumber } from '../values/scalars/numbers.ts'
import type { ConvertScalar } from '../values/scalars/scalar-kind.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import {
  aTypeName,
  decimalType,
  fractionType,
  isFraction,
  isMany,
  isNumeric,
  isReference,
  isScalarType,
  isText,
  isWritten,
  jsonType,
  type ValueType,
} from '../values/value-type.ts'
import { type Bound, isConstant } from './bound.ts'
import type { Binder } from './scope.ts'

/** Converts the value to the type, or returns it unchanged if no conversion applies. `what` describes the target. Throws QueryError. */
export function coerced(bound: Bound, type: ValueType, binder: Binder, what?: string): Bound {
  const subject = { bound, binder, what }
  const exact = writtenValue(subject, type)
  if (exact !== undefined) return exact
  const convert = conversion(bound.type, type, subject)
  if (convert === undefined) return bound
  const { start, end } = bound
  if (bound.kind === 'constant') {
    return { kind: 'constant', value: bound.value === null ? null : convert(bound.value), type, start, end }
  }
  return { kind: 'convert', operand: bound, convert, type, start, end }
}

/** Unifies values of one kind: all get the offset of the first datetime, and constants among decimals become decimals. Throws QueryError. */
export function alikeValues(values: readonly Bound[], binder: Binder): Bound[] {
  if (values.some(({ type }) => type.kind === 'decimal')) return withSharedDecimals(values, binder)
  const first = values.find(({ type }) => type.kind === 'datetime' || type.kind === 'datetimeoffset')
  if (first === undefined) return [...values]
  return values.map((value) => {
    const { kind } = value.type
    return kind === 'datetime' || kind === 'datetimeoffset' ? coerced(value, first.type, binder) : value
  })
}

/** A real of an attribute or function makes all values real. */
function withSharedDecimals(values: readonly Bound[], binder: Binder): Bound[] {
  if (values.some((value) => value.type.kind === 'real' && !isWrittenNumber(value))) return [...values]
  return values.map((value) => (isWrittenNumber(value) ? coerced(value, decimalType, binder) : value))
}

/** Whether the value is a literal, a parameter, or computed from such: it becomes a decimal in combination with one. */
export function isWrittenNumber(bound: Bound): boolean {
  if (!isNumeric(bound.type)) return false
  switch (bound.kind) {
    case 'constant':
    case 'variable':
      return true
    case 'convert':
      return isWritten(bound.operand.type)
    case 'unary':
      return isWrittenNumber(bound.operand)
    case 'arithmetic':
      return isWrittenNumber(bound.left) && isWrittenNumber(bound.right)
    default:
      return false
  }
}

interface Subject {
  readonly bound: Bound
  readonly binder: Binder
  readonly what: string | undefined
}

/** The conversion of values that are not null; undefined if none is needed or possible. */
function conversion(from: ValueType, type: ValueType, subject: Subject): ConvertScalar | undefined {
  if (type.kind === 'json') return jsonConversion(from, subject)
  if (from.kind === 'collection' && type.kind === 'collection') {
    const convert = conversion(from.element, type.element, subject)
    return convert && ((values) => (values as unknown[]).map((value) => (value === null ? null : convert(value))))
  }
  return (
    (isConstant(subject.bound) ? constantConversion(from, type, subject) : undefined) ??
    kindConversion(from, type, subject)
  )
}

/** For single values, for parameters of any type, and for records, which parameters may contain. */
function jsonConversion(from: ValueType, subject: Subject): ConvertScalar | undefined {
  const { bound, binder } = subject
  const mayBeComposite = bound.kind === 'variable' || from.kind === 'record'
  const parameterConvert = mayBeComposite ? jsonOfParameter(from, binder.catalog) : undefined
  const convert = parameterConvert ?? jsonOfSingle(from, binder.catalog)
  return convert && ((value) => toClientError(subject, () => convert(value)))
}

/** The conversion of values that are constant before the rows. */
function constantConversion(from: ValueType, type: ValueType, subject: Subject): ConvertScalar | undefined {
  if (from.kind === 'string' && type.kind !== 'string' && canBeText(type)) {
    const convert: ConvertScalar = (value) =>
      toClientError(subject, () => valueOfText(type, value as string, subject.binder.textFormats))
    // An invalid literal is reported at binding, whether or not there are rows.
    const { bound, binder } = subject
    if (bound.kind === 'variable' && isLifted(bound.name)) binder.variables.requireConvertible(bound.name, convert)
    return convert
  }
  if (!isNumeric(from)) return undefined
  // A value that no decimal represents is compared as a double, and cannot be stored.
  if (type.kind === 'decimal') return (value) => toDecimal(value as AnyNumber) ?? value
  if (type.kind !== 'real') return undefined
  if (type.isSingle === true) return (value) => Math.fround(Number(value))
  // An integer beyond 2^53 or a decimal is stored in a real as the nearest double, and compared as such.
  return from.kind === 'real' ? undefined : Number
}

/** A number, or the elements of a list, by the digits that are written; undefined where the type takes no notice of them. */
function writtenValue(subject: Subject, type: ValueType): Bound | undefined {
  if (type.kind === 'decimal') return writtenDecimal(subject)
  if (type.kind === 'json') return writtenJson(subject)
  return writtenElements(subject, type)
}

/** The number of a literal or parameter with all its digits, as json compares and keeps them. */
function writtenJson({ bound, binder, what }: Subject): Bound | undefined {
  if (bound.kind === 'convert' && isWritten(bound.operand.type)) return coerced(bound.operand, jsonType, binder, what)
  if (bound.kind !== 'constant' || bound.digits === undefined) return undefined
  const { digits, start, end } = bound
  return { kind: 'constant', value: normalizeNumber(digits), type: jsonType, start, end }
}

/** The exact value of a number written in the statement or its parameters, or computed from such numbers. */
function writtenDecimal({ bound, binder, what }: Subject): Bound | undefined {
  const { start, end } = bound
  switch (bound.kind) {
    case 'constant': {
      const { digits } = bound
      if (digits === undefined) return undefined
      const value = toClientError({ bound, binder, what }, () => valueOfText(decimalType, digits))
      return { kind: 'constant', value, type: decimalType, start, end }
    }
    case 'convert':
      return isWritten(bound.operand.type) ? { ...bound.operand, type: decimalType } : undefined
    case 'unary': {
      const operand = bound.type.kind === 'real' ? writtenDecimal({ bound: bound.operand, binder, what }) : undefined
      if (operand === undefined) return undefined
      const calculate = bound.operator === 'negate' ? scalarKinds.decimal.negate : bound.calculate
      return calculate && { ...bound, operand, calculate, type: decimalType }
    }
    case 'arithmetic': {
      if (bound.type.kind !== 'real' || !isWrittenNumber(bound)) return undefined
      const [left, right] = [coerced(bound.left, decimalType, binder), coerced(bound.right, decimalType, binder)]
      const found = arithmeticFor(bound.operator, left.type, right.type)
      return found?.type.kind === 'decimal' ? { ...bound, left, right, ...found } : undefined
    }
    default:
      return undefined
  }
}

/** A number with more digits than a double holds is a real unless it is combined with a decimal. */
export function asReal(bound: Bound): Bound {
  const { type, start, end } = bound
  if (isWritten(type)) return { kind: 'convert', operand: bound, convert: Number, type: fractionType, start, end }
  if (type.kind !== 'collection' || !isWritten(type.element)) return bound
  const convert = (values: unknown): unknown =>
    (values as unknown[]).map((value) => (value === null ? null : Number(value)))
  return { kind: 'convert', operand: bound, convert, type: { ...type, element: fractionType }, start, end }
}

/** Like `writtenDecimal` and `writtenJson`, for the elements of a list. */
function writtenElements({ bound, binder, what }: Subject, type: ValueType): Bound | undefined {
  if (bound.kind !== 'elements' || type.kind !== 'collection') return undefined
  const { element } = type
  const areExact = element.kind === 'json' || (element.kind === 'decimal' && isConstant(bound))
  if (!areExact) return undefined
  const elements = bound.elements.map((one) => coerced(one, element, binder, what))
  const isJson =
    element.kind === 'json' && elements.every((one) => one.type.kind === 'json' || one.type.kind === 'null')
  return isJson || element.kind === 'decimal' ? { ...bound, elements, type } : undefined
}

/** Conversions between dates and datetimes. */
function kindConversion(from: ValueType, type: ValueType, subject: Subject): ConvertScalar | undefined {
  if (!isScalarType(from) || !isScalarType(type)) return undefined
  const convert = scalarKinds[type.kind].coerceFrom[from.kind]
  return convert && ((value) => toClientError(subject, () => convert(value)))
}

/** Reports an invalid value with its position. */
function toClientError({ bound, binder, what }: Subject, convert: () => unknown): unknown {
  try {
    return convert()
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw binder.error(bound, what === undefined ? error.message : `${what}: ${error.message}`)
  }
}

/** Throws QueryError if values of the type can never be assigned to the attribute. */
export function assignable(bound: Bound, type: ValueType, what: string, binder: Binder): Bound {
  const value = coerced(bound, type, binder, what)
  if (hasFractions(value.type) && isIntegral(type)) {
    throw binder.error(
      bound,
      `${what} is ${aTypeName(type)}: a number with a fraction, however small, is not an integer`,
    )
  }
  if (fits(value.type, type, isConstant(value))) return value
  throw binder.error(bound, `${what} is ${aTypeName(type)}, not ${aTypeName(bound.type)}`)
}

function hasFractions(type: ValueType): boolean {
  return isMany(type) ? hasFractions(type.element) : isFraction(type)
}

function isIntegral(type: ValueType): boolean {
  return isMany(type) ? isIntegral(type.element) : type.kind === 'integer'
}

function fits(from: ValueType, to: ValueType, isConstantValue: boolean): boolean {
  if (from.kind === 'null') return true
  if (isNumeric(from) && isNumeric(to)) return true
  if (isText(from) && isText(to)) return true
  if (isReference(from) && isReference(to)) return true
  if (from.kind === 'collection' && (to.kind === 'collection' || to.kind === 'map')) {
    return to.kind === 'collection' && fits(from.element, to.element, isConstantValue)
  }
  if (from.kind === 'map' && to.kind === 'map') return fits(from.element, to.element, isConstantValue)
  if (from.kind === 'embedded' && to.kind === 'embedded') return from.cls === to.cls
  // The fields of a JSON object in a parameter are checked like the fields of a request body.
  if (from.kind === 'record')
    return isConstantValue && (to.kind === 'embedded' || to.kind === 'map' || to.kind === 'interval')
  return from.kind === to.kind
}
