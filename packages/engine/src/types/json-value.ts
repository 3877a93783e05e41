/** Texts of type json: validation, removal of white space, and a canonical form for comparison. */
import { jsonBytesMax, jsonDepthMax } from '../limits.ts'
import { elementsOf, endOfString, isArrayAt, JsonFragment, skipBlanks, stringAt, type TextRange } from './json-text.ts'
import { formatForMessage, ValueError } from './logical-type.ts'

const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/** A value of type json between a body or statement and an attribute: its compact text. */
export class JsonValue {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }

  toString(): string {
    return this.text
  }
}

/** Validates any text. Throws ValueError. */
export function parseJsonText(text: string): string {
  try {
    JSON.parse(text)
  } catch {
    throw new ValueError('ValueNotAllowed', `${formatForMessage(text)} is not JSON`)
  }
  return compactJson(text)
}

/** Serializes plain data from a program, or from a body whose text is not available. Throws ValueError. */
export function jsonTextOf(value: unknown): string {
  return compactJson(textOf(value))
}

function textOf(value: unknown): string {
  if (value instanceof JsonValue) return value.text
  if (typeof value === 'bigint') return String(value)
  // A symbol carries the digits of a number that a double cannot represent.
  if (typeof value === 'symbol') return value.description ?? 'null'
  // 1e400 is parsed to Infinity, which would be written as null.
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ValueError('ValueNotAllowed', `the value has ${formatForMessage(value)}`)
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}:${textOf(one)}`)
    .join(',')}}`
}

/** Compacts a well-formed text. Throws ValueError. */
export function compactJson(input: string | JsonFragment): string {
  const [text, replace] = input instanceof JsonFragment ? [input.toString(), input.replace] : [input, undefined]
  if (!text.isWellFormed()) throw halfOfPair()
  const compact = new Compactor(text, replace).run()
  if (compact.length * 3 > jsonBytesMax && Buffer.byteLength(compact) > jsonBytesMax) {
    throw new ValueError('ValueNotAllowed', `the value has more than ${jsonBytesMax} bytes of JSON (jsonBytesMax)`)
  }
  return compact
}

function halfOfPair(): ValueError {
  return new ValueError('ValueNotAllowed', 'the value has half of a surrogate pair')
}

class Compactor {
  private readonly text: string
  private readonly replace: ((text: string) => string) | undefined
  private readonly parts: string[] = []
  /** Start of the part not yet copied. */
  private from = 0
  /** The member names of enclosing objects; undefined for arrays. */
  private readonly enclosing: (Set<string> | undefined)[] = []
  private isName = false
  /** The position of the next backslash. */
  private escape: number

  constructor(text: string, replace: ((text: string) => string) | undefined) {
    this.text = text
    this.replace = replace
    this.escape = this.escapeFrom(0)
  }

  run(): string {
    const { text } = this
    let at = 0
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (code === quote) at = this.readString({ start: at, end: endOfString(text, at) })
      else if (code <= space) at = this.replaceRange(at, skipBlanks(text, at), '')
      else {
        // Skips digits and the letters of literals, which most remaining characters are.
        if (code >= openBracket || code === comma || code === colon) this.readPunctuation(code)
        at++
      }
    }
    if (this.parts.length === 0) return text
    this.replaceRange(at, at, '')
    return this.parts.join('')
  }

  /** Replaces a range of the text. Returns `end`. */
  private replaceRange(start: number, end: number, instead: string): number {
    this.parts.push(this.text.slice(this.from, start))
    if (instead !== '') this.parts.push(instead)
    this.from = end
    return end
  }

  private readPunctuation(code: number): void {
    const { enclosing } = this
    if (code === openBrace || code === openBracket) {
      if (enclosing.length >= jsonDepthMax) {
        throw new ValueError('ValueNotAllowed', `the value is nested deeper than ${jsonDepthMax} levels`)
      }
      this.isName = code === openBrace
      enclosing.push(this.isName ? new Set() : undefined)
    } else if (code === closeBrace || code === closeBracket) enclosing.pop()
    else if (code === comma) this.isName = enclosing[enclosing.length - 1] !== undefined
    else if (code === colon) this.isName = false
  }

  /** Returns the position after the string. */
  private readString(span: TextRange): number {
    const { text, replace } = this
    if (this.escape < span.end) {
      if (!stringAt(text, span).isWellFormed()) throw halfOfPair()
      this.escape = this.escapeFrom(span.end)
    }
    if (this.isName) this.noteName(stringAt(text, span))
    else if (replace !== undefined) {
      const value = stringAt(text, span)
      const other = replace(value)
      if (other !== value) return this.replaceRange(span.start, span.end, JSON.stringify(other))
    }
    return span.end
  }

  private escapeFrom(at: number): number {
    const found = this.text.indexOf('\\', at)
    return found < 0 ? Number.POSITIVE_INFINITY : found
  }

  private noteName(name: string): void {
    const names = this.enclosing.at(-1)
    if (names?.has(name) === true) {
      throw new ValueError('ValueNotAllowed', `an object of the value has the name ${formatForMessage(name)} twice`)
    }
    names?.add(name)
  }
}

/** The value of the member; null if the value is not an object or lacks it. */
export function jsonMember(text: string, name: string): string | null {
  return found(new JsonFragment(text).field(name))
}

/** Negative positions count from the end. */
export function jsonElement(text: string, position: number): string | null {
  if (!isArrayAt(text, 0)) return null
  const at = position < 0 ? [...elementsOf(text, 0)].length + position : position
  return found(new JsonFragment(text).element(at))
}

function found(value: JsonFragment | undefined): string | null {
  const text = value?.toString()
  return text === undefined || text === 'null' ? null : text
}

/** Equal exactly for equal values: numbers by value, objects regardless of member order. */
export function canonicalJson(text: string): string {
  return new Canonical(text).value()
}

/** Reads a value in one pass; recursion depth is bounded by the JSON nesting limit. */
class Canonical {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  value(): string {
    const code = this.text.charCodeAt(this.at)
    if (code === openBrace) return this.object()
    if (code === openBracket) return this.array()
    if (code === quote) return JSON.stringify(this.string())
    const word = this.word()
    return code <= nine ? canonicalNumber(word) : word
  }

  private object(): string {
    const members: (readonly [name: string, value: string])[] = []
    this.at++
    while (this.text.charCodeAt(this.at) !== closeBrace) {
      if (members.length > 0) this.at++
      const name = this.string()
      // The colon.
      this.at++
      members.push([name, this.value()])
    }
    this.at++
    members.sort(([one], [other]) => (one < other ? -1 : 1))
    return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`
  }

  private array(): string {
    const elements: string[] = []
    this.at++
    while (this.text.charCodeAt(this.at) !== closeBracket) {
      if (elements.length > 0) this.at++
      elements.push(this.value())
    }
    this.at++
    return `[${elements.join()}]`
  }

  private string(): string {
    const start = this.at
    this.at = endOfString(this.text, start)
    return stringAt(this.text, { start, end: this.at })
  }

  private word(): string {
    const { text } = this
    const start = this.at
    let end = start
    for (let code = text.charCodeAt(end); code > comma || code === plus; code = text.charCodeAt(end)) {
      if (code === closeBracket || code === closeBrace) break
      end++
    }
    this.at = end
    return text.slice(start, end)
  }
}

/** Up to this number of digits, doubles distinguish all numbers. */
const doubleDigits = 15
const doubleExponentMax = 280
/** Numbers with longer exponents are only equal to themselves. */
const exponentCharactersMax = 15

/** As a double if that is exact, otherwise by digits and exponent. */
function canonicalNumber(word: string): string {
  const isShort = word.length <= doubleDigits
  if (isShort && !/[eE]/.test(word)) return String(Number(word))
  const [mantissa = '', exponent = '0'] = word.toLowerCase().split('e')
  const isNegative = mantissa.startsWith('-')
  const [integer = '', fraction = ''] = mantissa.slice(isNegative ? 1 : 0).split('.')
  const digits = withoutZeros(`${integer}${fraction}`)
  if (digits.all === '') return '0'
  if (exponent.length > exponentCharactersMax) return word
  const power = Number(exponent) - fraction.length + digits.trailingZeros
  if (digits.all.length <= doubleDigits && Math.abs(power) <= doubleExponentMax) return String(Number(word))
  return `${isNegative ? '-' : ''}${digits.all}e${power}`
}

function withoutZeros(digits: string): { readonly all: string; readonly trailingZeros: number } {
  let end = digits.length
  while (digits.charCodeAt(end - 1) === zero) end--
  let start = 0
  while (start < end && digits.charCodeAt(start) === zero) start++
  return { all: digits.slice(start, end), trailingZeros: digits.length - end }
}
