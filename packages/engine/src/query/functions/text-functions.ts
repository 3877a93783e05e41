/** SUBSTRING, UPPER and the like; positions and lengths count characters (code points). */

import { integerType, type ScalarType, stringType } from '../values/value-type.ts'
import type { Whole } from '../values/whole-number.ts'
import type { FunctionDefinition } from './function-definition.ts'
import {
  characterCount,
  countInPieces,
  indexBehind,
  indexInPieces,
  lowerInPieces,
  textAtOnce,
  upperInPieces,
} from './long-texts.ts'
import { LongWork, type Pieces } from './work.ts'

const substring: FunctionDefinition = {
  operands: ['text', 'integer', 'integer'],
  optional: 1,
  result: stringType,
  calculate: (text: string, start: Whole, length?: Whole) => {
    const first = Math.max(0, Number(start))
    const end = length === undefined ? Number.POSITIVE_INFINITY : Number(start) + Math.max(0, Number(length))
    const characters = Math.max(first, end) - first
    if (text.length > textAtOnce) return new LongWork(longSubstring(text, first, characters))
    const from = indexBehind(text, first, 0)
    return unshared(text, text.slice(from, indexBehind(text, characters, from)))
  },
}

function* longSubstring(text: string, first: number, characters: number): Pieces {
  const from = yield* indexInPieces(text, first, 0)
  const isToEnd = characters === Number.POSITIVE_INFINITY
  return unshared(text, text.slice(from, isToEnd ? text.length : yield* indexInPieces(text, characters, from)))
}

export const textFunctions: Readonly<Record<string, FunctionDefinition>> = {
  SUBSTRING: substring,
  SUBSTR: substring,
  UPPER: textFunction(stringType, (text) => text.toUpperCase(), upperInPieces),
  LOWER: textFunction(stringType, (text) => text.toLowerCase(), lowerInPieces),
  LENGTH: textFunction(integerType, (text) => characterCount(text, 0, text.length), countInPieces),
}

/** Of one text; `inPieces` comes to the same. */
function textFunction(
  result: ScalarType,
  atOnce: (text: string) => unknown,
  inPieces: (text: string) => Pieces,
): FunctionDefinition {
  return {
    operands: ['text'],
    result,
    calculate: (text: string) => (text.length > textAtOnce ? new LongWork(inPieces(text)) : atOnce(text)),
  }
}

const sharedCharactersMax = 4_096

/** The engine keeps the whole text for a part of it: a small part becomes a text of its own, so that it takes what it is charged. */
function unshared(text: string, part: string): string {
  return text.length <= sharedCharactersMax || part.length * 4 > text.length
    ? part
    : Buffer.from(part, 'utf16le').toString('utf16le')
}
