/** Values of type json in queries: equal by content, unordered, and converted by CAST. */

import { unreachable } from '../../../errors.ts'
import { codecFor } from '../../../types/index.ts'
import { isArrayAt, isObjectAt, isStringAt, stringAt } from '../../../types/json-text.ts'
import { canonicalJson, jsonTextOf, parseJsonText } from '../../../types/json-value.ts'
import { ValueError } from '../../../types/logical-type.ts'
import { noTextFormats } from '../text-format.ts'
import { booleanScalar } from './boolean.ts'
import { bytesScalar } from './bytes.ts'
import { decimalScalar } from './decimals.ts'
import { guidScalar } from './guid.ts'
import { intervalScalar } from './interval.ts'
import { dateScalar, datetimeoffsetScalar, datetimeScalar, timeScalar } from './moments.ts'
import { integerScalar, realScalar } from './numbers.ts'
import { apart, type ByKind, type ConvertScalar, type ScalarDefinition, sameKind } from './scalar-kind.ts'
import { characterScalar } from './texts.ts'

const codec = codecFor(
  { logicalType: 'json' },
  {
    embedded: () => {
      unreachable('json embeds nothing')
    },
  },
)

export const jsonScalar: ScalarDefinition = {
  ...apart,
  codec,
  words: ['json'],
  isLong: true,
  commonWith: sameKind,
  compareWith: {},
  // A text is a JSON string here; JSON('…') and CAST parse one.
  fromText: jsonTextOf,
  toText: (value) => plainTextOf(value as string),
  castFrom: { string: parsed, character: parsed },
  castTo: casts({
    boolean: booleanScalar,
    character: characterScalar,
    integer: integerScalar,
    real: realScalar,
    decimal: decimalScalar,
    guid: guidScalar,
    date: dateScalar,
    time: timeScalar,
    datetime: datetimeScalar,
    datetimeoffset: datetimeoffsetScalar,
    interval: intervalScalar,
    bytes: bytesScalar,
  }),
  toJson: codec.toJson,
  writeJson: (to, value) => to.raw(Buffer.from(value as string)),
  writeKey: (value, writer) => writer.text(canonicalJson(value as string)),
}

function parsed(text: unknown): unknown {
  return orNull(() => {
    const json = parseJsonText(text as string)
    return json === 'null' ? null : json
  })
}

/** The characters of a JSON string; otherwise the JSON text. */
function plainTextOf(text: string): string {
  return isStringAt(text, 0) ? stringAt(text, { start: 0, end: text.length }) : text
}

function casts(kinds: ByKind<ScalarDefinition>): ByKind<ConvertScalar> {
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, definition]) => [
      kind,
      (value: unknown) => orNull(() => castTo(kind, definition, value as string)),
    ]),
  )
}

/** The kinds that have values for true, false or numbers of JSON. */
const kindsOfWordsAndNumbers = ['boolean', 'integer', 'real', 'decimal', 'character']

/** Null if the JSON value has no counterpart of the kind. Throws ValueError for a malformed one. */
function castTo(kind: string, definition: ScalarDefinition, text: string): unknown {
  if (isObjectAt(text, 0) || isArrayAt(text, 0)) return null
  if (kind === 'integer' && (text === 'true' || text === 'false')) return Number(text === 'true')
  const isNumber = /^[-\d]/.test(text)
  if (kind === 'boolean' && isNumber) return Number(text) !== 0
  if (kind === 'integer' && /[.eE]/.test(text) && isNumber) return integerScalar.castFrom.real?.(Number(text))
  if (!isStringAt(text, 0) && !kindsOfWordsAndNumbers.includes(kind)) return null
  return definition.fromText(plainTextOf(text).trim(), noTextFormats)
}

function orNull(convert: () => unknown): unknown {
  try {
    return convert()
  } catch (error) {
    if (error instanceof ValueError) return null
    throw error
  }
}
