/** Finds the parts of a well-formed JSON text, without making values of it: numbers keep their digits, and objects their order. */

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/** Of a value or a name within a text: its first character, and the one behind it. */
export interface Span {
  readonly start: number
  readonly end: number
}

interface Member {
  readonly name: Span
  readonly value: Span
}

export function isObjectAt(text: string, at: number): boolean {
  return text.charCodeAt(at) === openBrace
}

export function isArrayAt(text: string, at: number): boolean {
  return text.charCodeAt(at) === openBracket
}

export function isStringAt(text: string, at: number): boolean {
  return text.charCodeAt(at) === quote
}

/** The position of the next character that is no white space. */
export function behindBlanks(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= space) at++
  return at
}

/** The position behind the string whose quotation mark is at `at`. */
export function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - backslashes - 1) === backslash) backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
}

/** The position behind the value that begins at `from`. */
function endOfValue(text: string, from: number): number {
  if (isStringAt(text, from)) return endOfString(text, from)
  let depth = 0
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = endOfString(text, at)
      continue
    }
    if (code === openBrace || code === openBracket) depth++
    else if (code === closeBrace || code === closeBracket) {
      // Of what is around a number or a literal.
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (code === comma || code <= space)) return at
    at++
  }
  return at
}

/** Of the object that begins at `from`, one after the other. */
function* membersOf(text: string, from: number): Generator<Member, void, undefined> {
  for (let at = behindBlanks(text, from + 1); text.charCodeAt(at) === quote; ) {
    const name = { start: at, end: endOfString(text, at) }
    // Behind the colon.
    const start = behindBlanks(text, behindBlanks(text, name.end) + 1)
    const value = { start, end: endOfValue(text, start) }
    yield { name, value }
    at = behindBlanks(text, value.end)
    if (text.charCodeAt(at) === comma) at = behindBlanks(text, at + 1)
  }
}

/** Of the array that begins at `from`, one after the other. */
export function* elementsOf(text: string, from: number): Generator<Span, void, undefined> {
  for (let at = behindBlanks(text, from + 1); at < text.length && text.charCodeAt(at) !== closeBracket; ) {
    const element = { start: at, end: endOfValue(text, at) }
    yield element
    at = behindBlanks(text, element.end)
    if (text.charCodeAt(at) === comma) at = behindBlanks(text, at + 1)
  }
}

/** The string that stands there, without its escapes. */
export function stringAt(text: string, { start, end }: Span): string {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw
}

/** A value of a text that others need not know of as a whole: found by names and positions, so that it can be kept as it stands. */
export class JsonText {
  readonly text: string
  private readonly span: Span
  /** What is to stand for each string of it that is a value. */
  readonly replace: ((text: string) => string) | undefined
  /** Of an array, once one is asked for. */
  private elements: readonly Span[] | undefined

  constructor(text: string, replace?: (text: string) => string, span: Span = { start: 0, end: text.length }) {
    this.text = text
    this.replace = replace
    this.span = { start: behindBlanks(text, span.start), end: span.end }
  }

  /** Of several members of a name the last, as `JSON.parse` has it; undefined where there is none. */
  field(name: string): JsonText | undefined {
    const { text } = this
    const { start } = this.span
    if (!isObjectAt(text, start)) return undefined
    let found: Span | undefined
    for (const member of membersOf(text, start)) if (stringAt(text, member.name) === name) found = member.value
    return found && new JsonText(text, this.replace, found)
  }

  element(position: number): JsonText | undefined {
    const { text } = this
    const { start } = this.span
    if (!isArrayAt(text, start)) return undefined
    this.elements ??= [...elementsOf(text, start)]
    const found = this.elements[position]
    return found && new JsonText(text, this.replace, found)
  }

  /** The same text, in which other strings stand for some. */
  replacing(replace: (text: string) => string): JsonText {
    return new JsonText(this.text, replace, this.span)
  }

  toString(): string {
    return this.text.slice(this.span.start, this.span.end)
  }
}
