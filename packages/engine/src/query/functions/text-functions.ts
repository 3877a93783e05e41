/** String functions; positions and lengths count characters (code points). */
import { randomUUID } from 'node:crypto'
import { integerType, type ScalarType, stringType } from '../values/value-type.ts'
import type { Integer } from '../values/whole-number.ts'
import type { FunctionDefinition, TextRoom } from './function-definition.ts'
import { characterCount, indexBehind } from './long-texts.ts'
import { replaceYielding, splitYielding, trim, unshared } from './parts-of-texts.ts'
import { LongWork } from './work.ts'

const substring: FunctionDefinition = {
  operands: ['text', 'integer', 'integer'],
  optional: 1,
  result: stringType,
  calculate: (text: string, start: Integer, length?: Integer) => {
    const first = Math.max(0, Number(start))
    const end = length === undefined ? Number.POSITIVE_INFINITY : Number(start) + Math.max(0, Number(length))
    const characters = Math.max(first, end) - first
    const from = indexBehind(text, first, 0)
    return unshared(text, text.slice(from, indexBehind(text, characters, from)))
  },
}

export const textFunctions: Readonly<Record<string, FunctionDefinition>> = {
  GUID: { operands: [], result: { kind: 'guid' }, calculate: () => randomUUID(), isVolatile: true },
  SUBSTRING: substring,
  SUBSTR: substring,
  UPPER: textFunction(stringType, (text) => text.toUpperCase()),
  LOWER: textFunction(stringType, (text) => text.toLowerCase()),
  STARTS_WITH: textPredicate((text, beginning) => text.startsWith(beginning)),
  ENDS_WITH: textPredicate((text, end) => text.endsWith(end)),
  TRIM: {
    operands: ['text', 'text'],
    optional: 1,
    result: stringType,
    calculate: trim,
  },
  REPLACE: {
    operands: ['text', 'text', 'text'],
    result: stringType,
    takesRoom: true,
    calculate: (room: TextRoom, text: string, part: string, other: string) => {
      return part === '' ? text : new LongWork(replaceYielding(text, part, other, room))
    },
  },
  SPLIT: {
    operands: ['text', 'text'],
    result: { kind: 'collection', form: 'list', element: stringType },
    takesRoom: true,
    calculate: (room: TextRoom, text: string, separator: string) => {
      return separator === '' ? [text] : new LongWork(splitYielding(text, separator, room))
    },
  },
  // Bytes are a character each in memory.
  LENGTH: { operands: ['textOrBytes'], result: integerType, calculate: characterCount },
}

function textPredicate(calculate: (text: string, part: string) => boolean): FunctionDefinition {
  return { operands: ['text', 'text'], result: { kind: 'boolean' }, calculate }
}

function textFunction(result: ScalarType, calculate: (text: string) => unknown): FunctionDefinition {
  return { operands: ['text'], result, calculate }
}
