/** SUBSTRING, UPPER and the like; positions and lengths count characters (code points). */

import { integerType, type ScalarType, stringType } from '../values/value-type.ts'
import type { Whole } from '../values/whole-number.ts'
import type { FunctionDefinition, TextRoom } from './function-definition.ts'
import {
  characterCount,
  countInPieces,
  indexBehind,
  indexInPieces,
  lowerInPieces,
  textAtOnce,
  upperInPieces,
} from './long-texts.ts'
import { replaceInPieces, splitInPieces, trimInPieces, unshared } from './parts-of-texts.ts'
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
  STARTS_WITH: ofTwoTexts((text, beginning) => text.startsWith(beginning)),
  ENDS_WITH: ofTwoTexts((text, end) => text.endsWith(end)),
  TRIM: {
    operands: ['text', 'text'],
    optional: 1,
    result: stringType,
    calculate: (text: string, characters?: string) => {
      return text.length > textAtOnce
        ? new LongWork(trimInPieces(text, characters))
        : finished(trimInPieces(text, characters))
    },
  },
  REPLACE: {
    operands: ['text', 'text', 'text'],
    result: stringType,
    takesRoom: true,
    calculate: (room: TextRoom, text: string, part: string, other: string) => {
      return part === '' ? text : new LongWork(replaceInPieces(text, part, other, room))
    },
  },
  SPLIT: {
    operands: ['text', 'text'],
    result: { kind: 'collection', form: 'list', element: stringType },
    takesRoom: true,
    calculate: (room: TextRoom, text: string, separator: string) => {
      return separator === '' ? [text] : new LongWork(splitInPieces(text, separator, room))
    },
  },
  LENGTH: textFunction(integerType, (text) => characterCount(text, 0, text.length), countInPieces),
}

function ofTwoTexts(calculate: (text: string, part: string) => boolean): FunctionDefinition {
  return { operands: ['text', 'text'], result: { kind: 'boolean' }, calculate }
}

/** Of short texts. */
function finished(pieces: Pieces): unknown {
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
  }
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
