/** SUBSTRING, UPPER and the like; positions and lengths count characters (code points). */
import { integerType, stringType } from '../values/value-type.ts'
import type { FunctionDefinition } from './function-definition.ts'
import type { Whole } from './whole-number.ts'

const substring: FunctionDefinition = {
  operands: ['text', 'integer', 'integer'],
  optional: 1,
  result: stringType,
  calculate: (text: string, start: Whole, length?: Whole) => {
    const characters = Array.from(text)
    const from = Math.max(0, Number(start))
    const end = length === undefined ? characters.length : Number(start) + Math.max(0, Number(length))
    return characters.slice(from, Math.max(from, end)).join('')
  },
}

export const textFunctions: Readonly<Record<string, FunctionDefinition>> = {
  SUBSTRING: substring,
  SUBSTR: substring,
  UPPER: { operands: ['text'], result: stringType, calculate: (text: string) => text.toUpperCase() },
  LOWER: { operands: ['text'], result: stringType, calculate: (text: string) => text.toLowerCase() },
  LENGTH: { operands: ['text'], result: integerType, calculate: characterCount },
}

function characterCount(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
