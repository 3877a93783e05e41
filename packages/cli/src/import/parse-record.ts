/** Parses the JSON of records without loss: numbers that a double cannot represent exactly become bigints or strings. */
import { parse as parseNumbers } from 'lossless-json'
import { isExactReal } from './cell-kinds.ts'

/** Detects long numbers, which are rare; JSON.parse is much faster. */
const longNumber = /[\d.]{17}|[eE][+-]?\d{3}|\d{16}/
const numbers = /\d[\d.]*(?:[eE][+-]?\d+)?/g
const shortDigits = 16

/** Returns integers of up to 40 digits beyond the precision of a double as bigints, and other such numbers as strings. Throws SyntaxError. */
export function parseRecord(text: string): unknown {
  if (!longNumber.test(text) || (text.match(numbers) ?? []).every(isExact)) return JSON.parse(text)
  const parseNumber = (digits: string): unknown => {
    if (isExact(digits.replace('-', ''))) return Number(digits)
    return /^-?\d{1,40}$/.test(digits) ? BigInt(digits) : digits
  }
  // The last of duplicate keys counts, as in JSON.parse.
  return parseNumbers(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
}

function isExact(digits: string): boolean {
  if (digits.length < shortDigits && !/[eE]/.test(digits)) return true
  const [mantissa = '', exponent] = digits.split(/[eE]/)
  if (exponent === undefined && !mantissa.includes('.')) return Number.isSafeInteger(Number(digits))
  return isExactReal(digits, mantissa.replace('.', ''))
}

/** `value`: the parsed JSON of `text`. */
export function duplicateKey(text: string, value: unknown): string | undefined {
  return countKeys(value) < countColons(text) ? findDuplicate(text) : undefined
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  const values: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  if (values !== value) count = values.length
  for (const inner of values) if (typeof inner === 'object') count += countKeys(inner)
  return count
}

/** Counts colons after a quote: one per key, and rarely more, such as one at the beginning of a string. */
function countColons(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    let before = at - 1
    while (isBlank(text.charCodeAt(before))) before--
    if (text[before] === '"') count++
  }
  return count
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}

/** Slow, but exact. */
function findDuplicate(text: string): string | undefined {
  /** The keys of each open object; undefined for arrays. */
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '{') open.push(new Set())
    else if (character === '[') open.push(undefined)
    else if (character === '}' || character === ']') open.pop()
    else if (character === '"') {
      const end = endOfString(text, at)
      const keys = open.at(-1)
      if (keys !== undefined && isFollowedByColon(text, end)) {
        const key: string = JSON.parse(text.slice(at, end + 1))
        if (keys.has(key)) return key
        keys.add(key)
      }
      at = end
    }
  }
  return undefined
}

function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text[before] === '\\') before--
    if ((end - before) % 2 === 1) return end
  }
}

function isFollowedByColon(text: string, end: number): boolean {
  let next = end + 1
  while (isBlank(text.charCodeAt(next))) next++
  return text[next] === ':'
}
