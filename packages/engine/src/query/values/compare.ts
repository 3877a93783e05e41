/** Order and equality of values that are not null (docs/query-language.md, Operators). */

import { ticksPerDay } from '../../types/calendar.ts'
import type { OffsetDateTime } from '../../types/datetime.ts'
import { compareOids, noOid } from '../../types/oid.ts'
import { isNumeric, isReference, isText, type ValueType } from './value-type.ts'

/** Negative, zero or positive. */
export type Compare = (one: unknown, other: unknown) => number
export type Equals = (one: unknown, other: unknown) => boolean

/** Undefined where the two types have no order among each other. */
export function compareFor(one: ValueType, other: ValueType): Compare | undefined {
  if (isNumeric(one) && isNumeric(other)) return comparePlain
  if (isText(one) && isText(other)) return compareTexts as Compare
  if (isReference(one) && isReference(other)) return compareOids as unknown as Compare
  if (isMoment(one) && isMoment(other)) {
    if (one.kind === other.kind && one.kind !== 'datetimeoffset') return comparePlain
    const [toTicks, otherToTicks] = [ticksOf(one), ticksOf(other)]
    return (a, b) => toTicks(a) - otherToTicks(b)
  }
  if (one.kind !== other.kind) return undefined
  switch (one.kind) {
    case 'boolean':
    case 'guid':
    case 'time':
    case 'interval':
      return comparePlain
    default:
      return undefined
  }
}

/** Undefined where the two types cannot be compared. */
export function equalsFor(one: ValueType, other: ValueType): Equals | undefined {
  if (isReference(one) && isReference(other)) return Object.is
  if (one.kind === 'collection' && other.kind === 'collection') {
    const equals = equalsFor(one.element, other.element)
    return equals === undefined ? undefined : (a, b) => haveEqualElements(a as unknown[], b as unknown[], equals)
  }
  if (one.kind === 'embedded' && other.kind === 'embedded') return one.cls === other.cls ? isDeepEqual : undefined
  const compare = compareFor(one, other)
  return compare === undefined ? undefined : (a, b) => compare(a, b) === 0
}

/** Numbers mix with bigints exactly. */
function comparePlain(one: unknown, other: unknown): number {
  const [a, b] = [one as number, other as number]
  if (a < b) return -1
  return a > b ? 1 : a <= b ? 0 : Number.NaN
}

const surrogateFirst = 0xd800
const surrogateLast = 0xdfff

/** By code point, which differs from the order of UTF-16 where one text has a surrogate pair. */
function compareTexts(one: string, other: string): number {
  if (one === other) return 0
  const length = Math.min(one.length, other.length)
  for (let i = length > shortCharacters ? equalCharacters(one, other, length) : 0; i < length; i++) {
    const [a, b] = [one.charCodeAt(i), other.charCodeAt(i)]
    if (a === b) continue
    const isPair = a >= surrogateFirst && a <= surrogateLast
    const isOtherPair = b >= surrogateFirst && b <= surrogateLast
    if (isPair === isOtherPair) return a - b
    return isPair ? 1 : -1
  }
  return one.length - other.length
}

const shortCharacters = 256
const comparedAtOnce = 8_192

/** Some of the first characters that are equal: the engine compares pieces faster than a loop does characters. */
function equalCharacters(one: string, other: string, length: number): number {
  let at = 0
  while (at < length && one.slice(at, at + comparedAtOnce) === other.slice(at, at + comparedAtOnce))
    at += comparedAtOnce
  return Math.min(at, length)
}

function isMoment(type: ValueType): boolean {
  return type.kind === 'date' || type.kind === 'datetime' || type.kind === 'datetimeoffset'
}

/** Without an offset, UTC is meant; a date is its midnight. */
export function ticksOf(type: ValueType): (value: unknown) => number {
  switch (type.kind) {
    case 'date':
      return (value) => (value as number) * ticksPerDay
    case 'datetimeoffset':
      return (value) => (value as OffsetDateTime).ticks
    default:
      return (value) => value as number
  }
}

function haveEqualElements(one: readonly unknown[], other: readonly unknown[], equals: Equals): boolean {
  if (one.length !== other.length) return false
  return one.every((value, i) => {
    const opposite = other[i]
    return value === null || opposite === null ? value === opposite : equals(value, opposite)
  })
}

/** Embedded values of one class: scalars, arrays, and offset datetimes, which are equal by instant. */
function isDeepEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) return haveEqualElements(one, other, isDeepEqual)
  if (typeof one === 'object' && typeof other === 'object' && one !== null && other !== null) {
    if ('ticks' in one && 'ticks' in other) return one.ticks === other.ticks
    const [a, b] = [Object.values(one), Object.values(other)]
    return haveEqualElements(a, b, isDeepEqual)
  }
  return comparePlain(one, other) === 0
}

/** Null, or of a type of references the one to nothing; a text that looks like that is a text. */
export function isNullOf(type: ValueType, value: unknown): boolean {
  return value === null || value === undefined || (isReference(type) && value === noOid)
}

/** Of a reference. */
export function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '0-0-0-0'
}
