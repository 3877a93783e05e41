/** Values made to fit where another type is meant: texts known before the rows, dates as datetimes, whole numbers as reals. */
import { ticksPerDay } from '../../types/calendar.ts'
import type { OffsetDateTime } from '../../types/datetime.ts'
import { ValueError } from '../../types/logical-type.ts'
import { canBeText, valueOfText } from '../values/coerce.ts'
import { aTypeName, isNumeric, isReference, isText, type ValueType } from '../values/value-type.ts'
import { type Bound, isConstant } from './bound.ts'
import type { Binding } from './scope.ts'

/**
 * The same value as of another type, or the value as it is where nothing has to be done. `what`: what the value is
 * meant for, for the message. Throws QueryError.
 */
export function coerced(bound: Bound, type: ValueType, binding: Binding, what?: string): Bound {
  const convert = conversion(bound, type, binding, what)
  if (convert === undefined) return bound
  const { start, end } = bound
  if (bound.kind === 'constant') {
    return { kind: 'constant', value: bound.value === null ? null : convert(bound.value), type, start, end }
  }
  return { kind: 'convert', operand: bound, convert, type, start, end }
}

function conversion(
  bound: Bound,
  type: ValueType,
  binding: Binding,
  what: string | undefined,
): ((value: unknown) => unknown) | undefined {
  const from = bound.type
  if (from.kind === 'string' && type.kind !== 'string' && canBeText(type) && isConstant(bound)) {
    return (value) => readText(value as string, type, bound, binding, what)
  }
  if (isNumeric(from) && type.kind === 'real' && type.isSingle === true && isConstant(bound)) {
    return (value) => Math.fround(Number(value))
  }
  if (from.kind === 'integer' && type.kind === 'real' && isConstant(bound)) return toDouble
  if (from.kind === 'collection' && type.kind === 'collection' && from.element.kind === 'string' && isConstant(bound)) {
    if (type.element.kind === 'string' || !canBeText(type.element)) return undefined
    return (value) =>
      (value as unknown[]).map((text) =>
        text === null ? null : readText(text as string, type.element, bound, binding, what),
      )
  }
  if (
    from.kind === 'collection' &&
    type.kind === 'collection' &&
    type.element.kind === 'real' &&
    type.element.isSingle === true
  ) {
    return isConstant(bound)
      ? (value) => (value as unknown[]).map((number) => (number === null ? null : Math.fround(Number(number))))
      : undefined
  }
  if (
    from.kind === 'collection' &&
    type.kind === 'collection' &&
    from.element.kind === 'integer' &&
    type.element.kind === 'real' &&
    isConstant(bound)
  ) {
    return (value) => (value as unknown[]).map((number) => (number === null ? null : toDouble(number)))
  }
  if (from.kind === 'date' && type.kind === 'datetime') return (value) => (value as number) * ticksPerDay
  if (from.kind === 'date' && type.kind === 'datetimeoffset') {
    return (value) => ({ ticks: (value as number) * ticksPerDay, offsetMinutes: 0 })
  }
  if (from.kind === 'datetime' && type.kind === 'datetimeoffset') {
    return (value) => ({ ticks: value as number, offsetMinutes: 0 })
  }
  if (from.kind === 'datetimeoffset' && type.kind === 'datetime' && bound.kind === 'now') {
    return (value) => (value as OffsetDateTime).ticks
  }
  return undefined
}

/** A whole number beyond 2^53 is stored in a real as the nearest double, and so it is compared with one. */
function toDouble(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function readText(text: string, type: ValueType, bound: Bound, binding: Binding, what: string | undefined): unknown {
  try {
    return valueOfText(type, text, binding.textFormats)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw binding.error(bound, what === undefined ? error.message : `${what}: ${error.message}`)
  }
}

/** Throws QueryError where a value of that type can never be given to an attribute of this one. */
export function assignable(bound: Bound, type: ValueType, what: string, binding: Binding): Bound {
  const value = coerced(bound, type, binding, what)
  if (fits(value.type, type, isConstant(value))) return value
  throw binding.error(bound, `${what} is ${aTypeName(type)}, not ${aTypeName(bound.type)}`)
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
  // A JSON object given as a parameter: its fields are checked as a request body's are.
  if (from.kind === 'record')
    return isKnownBefore && (to.kind === 'embedded' || to.kind === 'map' || to.kind === 'interval')
  return from.kind === to.kind
}
