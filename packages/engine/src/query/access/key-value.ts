/** Converts values that do not depend on rows to the type of a key attribute, for example a real compared with an integer. */

import { type AnyNumber, canonicalDecimal, Decimal, roundedTo, toDecimal } from '../../types/decimal-number.ts'
import type { Bound, BoundAttribute } from '../bind/bound.ts'
import type { Compiler } from '../evaluate/compile-expression.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import { isNumeric, type ValueType } from '../values/value-type.ts'
import { toInteger } from '../values/whole-number.ts'
import type { KeyValue } from './access-path.ts'
import { noKeyValue } from './no-key-value.ts'

export type KeyUse = 'equal' | 'lower' | 'upper'

/** `use`: for whole numbers, > 2.5 is equivalent to > 2, but = 2.5 is never true. */
export function keyValueOf(
  bound: Bound,
  key: readonly BoundAttribute[],
  use: KeyUse,
  { compiler, text }: { readonly compiler: Compiler; readonly text: string },
): KeyValue {
  const evaluate = compiler.compile(bound)
  const { type } = key.at(-1) as BoundAttribute
  const written = text.slice(bound.start, bound.end)
  const element = bound.type.kind === 'collection' ? bound.type.element : bound.type
  if (!isNumeric(type) || !isNumeric(element)) return { evaluate, text: written }
  const fit = fitFor(type, use)
  return { evaluate: fitted(evaluate, fit), text: written }
}

function fitFor({ kind }: ValueType, use: KeyUse): (value: unknown) => unknown {
  if (kind === 'decimal') return (value) => toDecimal(value as AnyNumber) ?? noKeyValue
  return kind === 'integer' ? (value) => toIntegerKey(value, use) : toReal
}

function fitted(evaluate: Evaluate, fit: (value: unknown) => unknown): Evaluate {
  return (evaluation) => {
    const value = evaluate(evaluation)
    if (value === null || value === undefined) return null
    if (value === noKeyValue) return value
    return Array.isArray(value) ? value.map((element) => (element === null ? null : fit(element))) : fit(value)
  }
}

function toIntegerKey(value: unknown, use: KeyUse): unknown {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return value
  if (value instanceof Decimal) return decimalToIntegerKey(value, use)
  const number = value as number
  if (Number.isNaN(number)) return noKeyValue
  // There is no key far outside the range of integers: all results are checked on the object anyway.
  if (Math.abs(number) >= 2 ** 64) return noKeyValue
  if (Number.isInteger(number)) return BigInt(number)
  if (use === 'equal') return noKeyValue
  return BigInt(use === 'lower' ? Math.floor(number) : Math.ceil(number))
}

function decimalToIntegerKey(value: Decimal, use: KeyUse): unknown {
  if (!value.isInteger && use === 'equal') return noKeyValue
  const rounded = roundedTo(value, 0, use === 'lower' ? 'down' : 'up')
  return (rounded && toInteger(BigInt(canonicalDecimal(rounded)))) ?? noKeyValue
}

function toReal(value: unknown): unknown {
  const number = Number(value)
  if (Number.isNaN(number)) return noKeyValue
  return typeof value === 'bigint' && BigInt(Math.trunc(number)) !== value ? noKeyValue : number
}
