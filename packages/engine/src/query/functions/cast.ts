/** CAST: converts values to another type (docs/query-language.md, Operators). Strings that cannot be converted give null. */

import { decimalSpec } from '../../types/decimal.ts'
import { compareDecimals, type Decimal } from '../../types/decimal-number.ts'
import { wrongForm } from '../../types/definition-fields.ts'
import { isStringAt } from '../../types/json-text.ts'
import { ValueError } from '../../types/logical-type.ts'
import type { TypeExpression } from '../language/ast.ts'
import { valueOfText } from '../values/coerce.ts'
import { castToDigits } from '../values/scalars/decimals.ts'
import type { ConvertScalar } from '../values/scalars/scalar-kind.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import type { TextFormats } from '../values/text-format.ts'
import {
  isReference,
  isScalarType,
  isText,
  type ScalarKind,
  type ScalarType,
  type ValueType,
  wordOfType,
} from '../values/value-type.ts'

const kindOfWord: ReadonlyMap<string, ScalarKind> = new Map(
  Object.entries(scalarKinds).flatMap(([kind, { words }]) => words.map((word) => [word, kind as ScalarKind])),
)

/** Undefined for names that are no logical type of single values, and so may be a class. */
export function castTarget(type: TypeExpression): ScalarType | undefined {
  const word = type.name.toLowerCase()
  const kind = kindOfWord.get(word)
  if (kind === undefined) return undefined
  const storage = type.settings.find(({ name }) => name.toLowerCase() === 'storage')?.value
  const isSingle =
    storage === undefined
      ? word === 'float'
      : typeof storage === 'object' && 'name' in storage && storage.name.toLowerCase() === 'b32'
  if (kind === 'decimal' && type.settings.length > 0) return { kind, digits: digitsOf(type) }
  return kind === 'real' && isSingle ? { kind, isSingle: true } : { kind }
}

/** Of a decimal with settings; without any, CAST keeps all digits of a value. Throws ValueError. */
function digitsOf({ settings }: TypeExpression): NonNullable<ScalarType['digits']> {
  const definition: Record<string, number | bigint> = {}
  for (const { name, value } of settings) {
    const field = name.toLowerCase()
    if (field !== 'precision' && field !== 'scale') {
      throw new ValueError('InvalidDefinition', `a Decimal has no setting '${name}'; it has Precision, Scale`)
    }
    if (typeof value !== 'number') {
      throw new ValueError('InvalidDefinition', wrongForm(field, 'name' in value ? value.name : value.json))
    }
    definition[field] = value
  }
  return decimalSpec(definition)
}

/** Types that are younger than CAST: it still means a class of that name, where there is one. */
export function mayBeClass({ name }: TypeExpression): boolean {
  return ['bytes', 'json'].includes(name.toLowerCase())
}

/** Type names that CAST accepts, for suggestions. */
export const castTypes: readonly string[] = [...kindOfWord.keys()].map((word) => wordOfType(word))

/** Undefined where the conversion does not exist. */
export function castFor(from: ValueType, to: ScalarType, formats: TextFormats): ConvertScalar | undefined {
  const convert = conversion(from, to, formats)
  if (convert === undefined) return undefined
  if (to.digits !== undefined) return decimalConversion(from, to.digits, convert)
  return to.isSingle === true ? (value) => single(convert(value)) : convert
}

function conversion(from: ValueType, to: ScalarType, formats: TextFormats): ConvertScalar | undefined {
  const convert = isScalarType(from)
    ? (scalarKinds[to.kind].castFrom[from.kind] ?? scalarKinds[from.kind].castTo[to.kind])
    : undefined
  if (convert !== undefined) return convert
  if (from.kind === to.kind) return (value) => value
  if (to.kind === 'string') return toText(from)
  return isText(from) ? (value) => fromText(value as string, to, formats) : undefined
}

/** Digits behind the point that are too many are cut, as they are where an attribute changes its type; a text with such digits is no such value. */
function decimalConversion(
  from: ValueType,
  digits: NonNullable<ScalarType['digits']>,
  convert: ConvertScalar,
): ConvertScalar {
  const fit = castToDigits(digits)
  return (value) => {
    const converted = convert(value) as Decimal | null
    const fitted = fit(converted) as Decimal | null
    if (converted === null || fitted === null) return null
    return isTextOf(from, value) && compareDecimals(converted, fitted) !== 0 ? null : fitted
  }
}

/** A text, or a string of JSON. */
function isTextOf(type: ValueType, value: unknown): boolean {
  return isText(type) || (type.kind === 'json' && isStringAt(value as string, 0))
}

function single(value: unknown): unknown {
  return value === null ? null : Math.fround(value as number)
}

function toText(from: ValueType): ConvertScalar | undefined {
  if (isReference(from)) return (value) => value
  return isScalarType(from) ? (value) => scalarKinds[from.kind].toText(value, from) : undefined
}

function fromText(text: string, to: ScalarType, formats: TextFormats): unknown {
  try {
    return valueOfText(to, text.trim(), formats)
  } catch (error) {
    if (error instanceof ValueError) return null
    throw error
  }
}
