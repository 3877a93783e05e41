/** The text of a value of type json: checked and without white space, and what it says whatever way it is written. */
import { jsonBytesMax, jsonDepthMax } from '../limits.ts'
import {
  behindBlanks,
  elementsOf,
  endOfString,
  isArrayAt,
  isObjectAt,
  isStringAt,
  JsonText,
  membersOf,
  type Span,
  stringAt,
} from './json-text.ts'
import { formatForMessage, ValueError } from './logical-type.ts'

/** A value of type json on its way between a body or a statement and an attribute: its text as it is kept. */
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

/** Of a text that may be no JSON at all. Throws ValueError. */
export function parseJsonText(text: string): string {
  try {
    JSON.parse(text)
  } catch {
    throw new ValueError('ValueNotAllowed', `${formatForMessage(text)} is not JSON`)
  }
  return compactJson(text)
}

/** Plain data as a program or a body without its text has it. Throws ValueError. */
export function jsonTextOf(value: unknown): string {
  return compactJson(textOf(value))
}

function textOf(value: unknown): string {
  if (value instanceof JsonValue) return value.text
  if (typeof value === 'bigint') return String(value)
  // Of a number whose fraction a double does not show, the digits.
  if (typeof value === 'symbol') return value.description ?? 'null'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}:${textOf(one)}`)
    .join(',')}}`
}

/** A text that is well-formed, as it is kept: without white space between its parts. Throws ValueError. */
export function compactJson(given: string | JsonText): string {
  const [text, replace] = given instanceof JsonText ? [given.toString(), given.replace] : [given, undefined]
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
  /** Where the part begins that is yet to be taken over. */
  private from = 0
  /** The names of the objects around, none of arrays. */
  private readonly around: (Set<string> | undefined)[] = []
  private isName = false

  constructor(text: string, replace: ((text: string) => string) | undefined) {
    this.text = text
    this.replace = replace
  }

  run(): string {
    const { text } = this
    let at = 0
    while (at < text.length) {
      if (text.charCodeAt(at) <= 0x20) at = this.leaveOut(at, behindBlanks(text, at), '')
      else if (isStringAt(text, at)) at = this.takeString({ start: at, end: endOfString(text, at) })
      else this.takeSign(text.charAt(at++))
    }
    if (this.parts.length === 0) return text
    this.leaveOut(at, at, '')
    return this.parts.join('')
  }

  /** Returns `end`. */
  private leaveOut(start: number, end: number, instead: string): number {
    this.parts.push(this.text.slice(this.from, start), instead)
    this.from = end
    return end
  }

  private takeSign(sign: string): void {
    const { around } = this
    switch (sign) {
      case '{':
      case '[':
        if (around.length >= jsonDepthMax) {
          throw new ValueError('ValueNotAllowed', `the value is nested deeper than ${jsonDepthMax} levels`)
        }
        around.push(sign === '{' ? new Set() : undefined)
        this.isName = sign === '{'
        break
      case '}':
      case ']':
        around.pop()
        break
      case ',':
        this.isName = around.at(-1) !== undefined
        break
      case ':':
        this.isName = false
        break
      default:
    }
  }

  /** Returns the position behind it. */
  private takeString(span: Span): number {
    const { text, replace } = this
    const hasEscapes = text.indexOf('\\', span.start) < span.end && text.slice(span.start, span.end).includes('\\u')
    if (hasEscapes && !stringAt(text, span).isWellFormed()) throw halfOfPair()
    if (this.isName) this.noteName(stringAt(text, span))
    else if (replace !== undefined) {
      const value = stringAt(text, span)
      const other = replace(value)
      if (other !== value) return this.leaveOut(span.start, span.end, JSON.stringify(other))
    }
    return span.end
  }

  private noteName(name: string): void {
    const names = this.around.at(-1)
    if (names?.has(name) === true) {
      throw new ValueError('ValueNotAllowed', `an object of the value has the name ${formatForMessage(name)} twice`)
    }
    names?.add(name)
  }
}

/** The value of the member, where the value is an object that has it; else null. */
export function jsonMember(text: string, name: string): string | null {
  return found(new JsonText(text).field(name))
}

/** Negative positions count from the end. */
export function jsonElement(text: string, position: number): string | null {
  if (!isArrayAt(text, 0)) return null
  const at = position < 0 ? [...elementsOf(text, 0)].length + position : position
  return found(new JsonText(text).element(at))
}

function found(value: JsonText | undefined): string | null {
  const text = value?.toString()
  return text === undefined || text === 'null' ? null : text
}

/** The same for equal values and for no others: numbers by what they are, objects whatever the order of their members. */
export function canonicalJson(text: string): string {
  return canonical(text, { start: 0, end: text.length })
}

/** Recurses as deep as JSON may be nested. */
function canonical(text: string, { start, end }: Span): string {
  if (isObjectAt(text, start)) {
    const members = [...membersOf(text, start)].map(({ name, value }) => {
      return [stringAt(text, name), canonical(text, value)] as const
    })
    members.sort(([one], [other]) => (one < other ? -1 : 1))
    return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
  }
  if (isArrayAt(text, start)) return `[${Array.from(elementsOf(text, start), (one) => canonical(text, one)).join(',')}]`
  if (isStringAt(text, start)) return JSON.stringify(stringAt(text, { start, end }))
  const word = text.slice(start, end)
  return /^[-\d]/.test(word) ? canonicalNumber(word) : word
}

/** As `-12e5`: without zeros at the beginning and the end of its digits. */
function canonicalNumber(word: string): string {
  const [mantissa = '', exponent = '0'] = word.toLowerCase().split('e')
  const isNegative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = mantissa.slice(isNegative ? 1 : 0).split('.')
  const digits = withoutZeros(`${whole}${fraction}`)
  if (digits.all === '') return '0'
  // Of a number whose exponent has more digits nothing but the number itself is taken for equal.
  if (exponent.length > exponentCharactersMax) return word
  return `${isNegative ? '-' : ''}${digits.all}e${Number(exponent) - fraction.length + digits.zerosBehind}`
}

const exponentCharactersMax = 15

function withoutZeros(digits: string): { readonly all: string; readonly zerosBehind: number } {
  let end = digits.length
  while (digits.charCodeAt(end - 1) === 0x30) end--
  let start = 0
  while (start < end && digits.charCodeAt(start) === 0x30) start++
  return { all: digits.slice(start, end), zerosBehind: digits.length - end }
}
