/** SUBSTRING, UPPER and the like; positions and lengths count characters (code points). */
import { integerType, stringType } from '../values/value-type.ts'
import type { FunctionDefinition } from './function-definition.ts'
import type { Whole } from './whole-number.ts'

const substring: FunctionDefinition = {
  operands: ['text', 'integer', 'integer'],
  optional: 1,
  result: stringType,
  calculate: (text: string, start: Whole, length?: Whole) => {
    const first = Math.max(0, Number(start))
    const end = length === undefined ? Number.POSITIVE_INFINITY : Number(start) + Math.max(0, Number(length))
    const from = unitsOf(text, first, 0)
    return unshared(text, text.slice(from, unitsOf(text, Math.max(first, end) - first, from)))
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
  let count = text.length
  for (let at = 0; at < text.length; at++) if (isPair(text, at)) count--
  return count
}

/** The index behind so many characters from `from` on, where a character begins. */
function unitsOf(text: string, characters: number, from: number): number {
  let at = from
  for (let left = characters; left > 0 && at < text.length; left--) at += isPair(text, at) ? 2 : 1
  return at
}

const [leadFirst, leadLast, trailFirst, trailLast] = [0xd800, 0xdbff, 0xdc00, 0xdfff]

function isPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  if (unit < leadFirst || unit > leadLast) return false
  const next = text.charCodeAt(at + 1)
  return next >= trailFirst && next <= trailLast
}

const sharedCharactersMax = 4_096

/** The engine keeps the whole text for a part of it: a small part becomes a text of its own, so that it takes what it is charged. */
function unshared(text: string, part: string): string {
  return text.length <= sharedCharactersMax || part.length * 4 > text.length
    ? part
    : Buffer.from(part, 'utf16le').toString('utf16le')
}
