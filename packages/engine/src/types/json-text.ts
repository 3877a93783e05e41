/** Locates the parts of a well-formed JSON text without parsing values: numbers keep their digits, and objects their order. */

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/** The range of a value or name in a text: start inclusive, end exclusive. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

interface Member {
  readonly name: TextRange
  readonly value: TextRange
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

/** The position of the next non-blank character. */
export function skipBlanks(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= space) at++
  return at
}

/** The position after the string whose opening quotation mark is at `at`. */
export function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - backslashes - 1) === backslash) backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
}

/** The position after the value that begins at `from`. */
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
      // The delimiter after a number or literal.
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (code === comma || code <= space)) return at
    at++
  }
  return at
}

/** The members of the object that begins at `from`. */
function* membersOf(text: string, from: number): Generator<Member, void, undefined> {
  for (let at = skipBlanks(text, from + 1); text.charCodeAt(at) === quote; ) {
    const name = { start: at, end: endOfString(text, at) }
    // After the colon.
    const start = skipBlanks(text, skipBlanks(text, name.end) + 1)
    const value = { start, end: endOfValue(text, start) }
    yield { name, value }
    at = skipBlanks(text, value.end)
    if (text.charCodeAt(at) === comma) at = skipBlanks(text, at + 1)
  }
}

/** The elements of the array that begins at `from`. */
export function* elementsOf(text: string, from: number): Generator<TextRange, void, undefined> {
  for (let at = skipBlanks(text, from + 1); at < text.length && text.charCodeAt(at) !== closeBracket; ) {
    const element = { start: at, end: endOfValue(text, at) }
    yield element
    at = skipBlanks(text, element.end)
    if (text.charCodeAt(at) === comma) at = skipBlanks(text, at + 1)
  }
}

/** The unescaped string. */
export function stringAt(text: string, { start, end }: TextRange): string {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw
}

/** A value within a text, located by names and positions, so that it can be stored in its original form. */
export class JsonFragment {
  readonly text: string
  private readonly span: TextRange
  /** Replaces strings that are values. */
  readonly replace: ((text: string) => string) | undefined
  /** The elements of an array, located on first use. */
  private elements: readonly TextRange[] | undefined
  /** The members of an object, located on first use. */
  private members: ReadonlyMap<string, JsonFragment> | undefined

  constructor(text: string, replace?: (text: string) => string, span: TextRange = { start: 0, end: text.length }) {
    this.text = text
    this.replace = replace
    this.span = { start: skipBlanks(text, span.start), end: span.end }
  }

  /** The last of several members with the name, like `JSON.parse`; undefined if there is none. */
  field(name: string): JsonFragment | undefined {
    const { text } = this
    const { start } = this.span
    if (!isObjectAt(text, start)) return undefined
    let found: TextRange | undefined
    for (const member of membersOf(text, start)) if (stringAt(text, member.name) === name) found = member.value
    return found && new JsonFragment(text, this.replace, found)
  }

  /** The members of an object by name, like `field`; none for other values. */
  get fields(): ReadonlyMap<string, JsonFragment> {
    this.members ??= this.readMembers()
    return this.members
  }

  private readMembers(): ReadonlyMap<string, JsonFragment> {
    const { text } = this
    const { start } = this.span
    const members = new Map<string, JsonFragment>()
    if (!isObjectAt(text, start)) return members
    for (const { name, value } of membersOf(text, start)) {
      members.set(stringAt(text, name), new JsonFragment(text, this.replace, value))
    }
    return members
  }

  element(position: number): JsonFragment | undefined {
    const { text } = this
    const { start } = this.span
    if (!isArrayAt(text, start)) return undefined
    this.elements ??= [...elementsOf(text, start)]
    const found = this.elements[position]
    return found && new JsonFragment(text, this.replace, found)
  }

  /** The same text with strings replaced. */
  replacing(replace: (text: string) => string): JsonFragment {
    return new JsonFragment(this.text, replace, this.span)
  }

  toString(): string {
    return this.text.slice(this.span.start, this.span.end)
  }
}
