/** Converts values to the expected type: constant texts, dates to datetimes, integers to reals. */
import { ValueError } from '../../types/logical-type.ts'
import { isLifted } from '../parse/lift-literals.ts'
import { canBeText, valueOfText } from '../values/coerce.ts'
import { jsonOfParameter, jsonOfSingle } from '../values/json-of.ts'
import type { Convert } from '../values/scalars/scalar-kind.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import {
  aTypeName,
  isFraction,
  isMany,
  isNumeric,
  isReference,
  isScalar,
  isText,
  type ValueType,
} from '../values/value-type.ts'
import { type Bound, isConstant } from './bound.ts'
import type { Binder } from './scope.ts'

/** Converts the value to the type, or returns it unchanged if no conversion applies. `what` describes the target. Throws QueryError. */
export function coerced(bound: Bound, type: ValueType, binder: Binder, what?: string): Bound {
  const convert = conversion(bound.type, type, { bound, binder, what })
  if (convert === undefined) return bound
  const { start, end } = bound
  if (bound.kind === 'constant') {
    return { kind: 'constant', value: bound.value === null ? null : convert(bound.value), type, start, end }
  }
  return { kind: 'convert', operand: bound, convert, type, start, end }
}

/** Thrown if a plan needs the value of an extracted literal; the statement is then planned as written. */
export const valueMatters: unique symbol = Symbol('the value matters')

/** Unifies values of one kind; the first datetime decides on the presence of an offset. Throws QueryError. */
export function alikeMoments(values: readonly Bound[], binder: Binder): Bound[] {
  const first = values.find(({ type }) => type.kind === 'datetime' || type.kind === 'datetimeoffset')
  if (first === undefined) return [...values]
  return values.map((value) => {
    const { kind } = value.type
    return kind === 'datetime' || kind === 'datetimeoffset' ? coerced(value, first.type, binder) : value
  })
}

interface Subject {
  readonly bound: Bound
  readonly binder: Binder
  readonly what: string | undefined
}

/** The conversion of values that are not null; undefined if none is needed or possible. */
function conversion(from: ValueType, type: ValueType, subject: Subject): Convert | undefined {
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

/** Of single values, of parameters of any type, and of records, which parameters have within. */
function jsonConversion(from: ValueType, subject: Subject): Convert | undefined {
  const { bound, binder } = subject
  const isWhole = bound.kind === 'variable' || from.kind === 'record'
  const ofParameter = isWhole ? jsonOfParameter(from, binder.catalog) : undefined
  const convert = ofParameter ?? jsonOfSingle(from, binder.catalog)
  return convert && ((value) => toClientError(subject, () => convert(value)))
}

/** The conversion of values that are constant before the rows. */
function constantConversion(from: ValueType, type: ValueType, subject: Subject): Convert | undefined {
  if (from.kind === 'string' && type.kind !== 'string' && canBeText(type)) {
    // An invalid text must be reported at binding, with the text.
    if (subject.bound.kind === 'variable' && isLifted(subject.bound.name)) throw valueMatters
    return (value) => toClientError(subject, () => valueOfText(type, value as string, subject.binder.textFormats))
  }
  if (type.kind !== 'real' || !isNumeric(from)) return undefined
  if (type.isSingle === true) return (value) => Math.fround(Number(value))
  return from.kind === 'integer' ? toDouble : undefined
}

/** Conversions between dates and datetimes. */
function kindConversion(from: ValueType, type: ValueType, subject: Subject): Convert | undefined {
  if (!isScalar(from) || !isScalar(type)) return undefined
  const convert = scalarKinds[type.kind].coerceFrom[from.kind]
  return convert && ((value) => toClientError(subject, () => convert(value)))
}

/** An integer beyond 2^53 is stored in a real as the nearest double, and compared as such. */
function toDouble(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
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
  if (hasFractions(value.type) && isWhole(type)) {
    throw binder.error(
      bound,
      `${what} is ${aTypeName(type)}: a number with a fraction, however small, is not a whole number`,
    )
  }
  if (fits(value.type, type, isConstant(value))) return value
  throw binder.error(bound, `${what} is ${aTypeName(type)}, not ${aTypeName(bound.type)}`)
}

function hasFractions(type: ValueType): boolean {
  return isMany(type) ? hasFractions(type.element) : isFraction(type)
}

function isWhole(type: ValueType): boolean {
  return isMany(type) ? isWhole(type.element) : type.kind === 'integer'
}

function fits(from: ValueType, to: ValueType, isKnownBefore: boolean): boolean {
  if (from.kind === 'null') return true
  if (isNumeric(from) && isNumeric(to)) return true
  if (isText(from) && isText(to)) return true
  if (isReference(from) && isReference(to)) return true
  if (from.kind === 'collection' && (to.kind === 'collection' || to.kind === 'map')) {
    return to.kind === 'collection' && fits(from.element, to.element, isKnownBefore)
  }
  if (from.kind === 'map' && to.kind === 'map') return fits(from.element, to.element, isKnownBefore)
  if (from.kind === 'embedded' && to.kind === 'embedded') return from.cls === to.cls
  // The fields of a JSON object in a parameter are checked like those of a request body.
  if (from.kind === 'record')
    return isKnownBefore && (to.kind === 'embedded' || to.kind === 'map' || to.kind === 'interval')
  return from.kind === to.kind
}
