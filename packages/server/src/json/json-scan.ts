/** Scans JSON text before any value is created: counts values, checks limits, and finds numbers that a double may not represent. */
import { AshlarError } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import { jsonLongNames, jsonNamesMax, jsonWordBytesMax } from '../limits.ts'

export interface JsonLimits {
  readonly depthMax: number
  /** Maximum values: numbers, texts, literals, arrays, objects, and names of fields. */
  readonly valuesMax: number
  /** The name of the limit `valuesMax`, for errors. */
  readonly valuesLimit: string
  /** Limits of each element if the text is an array, and of the whole text otherwise. */
  readonly elementLimits?: JsonLimits
}

interface Container {
  /** Count of values before the content, including the container itself. */
  readonly valuesFrom: number
  names: number
}

export const quoteByte = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const minus = 0x2d
const zero = 0x30
const nine = 0x39
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const [blankKind, wordKind, structureKind] = [0, 1, 2]
/** The kind of each byte outside strings. */
const kindOf = Uint8Array.from({ length: 256 }, (_, byte) => (byte > 0x20 ? wordKind : blankKind))
for (const byte of [quoteByte, comma, colon, openBrace, closeBrace, openBracket, closeBracket])
  kindOf[byte] = structureKind

/**
 * Matches numbers that a double may not represent exactly: integers of 16 digits; fractions that vanish next to the integer part; exponents so small
 * that the result is 0. Each part has a bounded length, for texts of millions of digits.
 */
const beyondDouble = /\d{16}|\d{12}\.|[1-9]\d{0,10}\.(?:0000|9999)\d|\.\d{5,15}[eE]\+?\d|[eE]-\d{3}/
/** The shortest number that the pattern matches. */
const wideBytesMin = '1e-324'.length
/** Longer numbers count as a match: they may exceed the 15 digits that a double always keeps. */
const wideBytesMax = 16
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Bytes of a string compared one by one before a native search for its end. */
const shortTextBytes = 64

export class JsonScan {
  /** Positions of numbers that a double may not represent exactly, in ascending order: start and end of each. */
  readonly wideNumbers: number[] = []
  private readonly bytes: Buffer
  private limits: JsonLimits
  private at = 0
  private values = 0
  private readonly containers: Container[] = []
  private longNames = 0
  private textFrom = 0
  private textTo = 0
  /** Elements of the outermost array before the current one. */
  private elements = 0

  constructor(bytes: Uint8Array, limits: JsonLimits) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.limits = limits
  }

  get valuesCount(): number {
    return this.values
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length
  }

  /** Scans about `byteCount` bytes, up to the end of a string or number. Throws MalformedRequest, also beyond limits, and BodyTooLarge. */
  advance(byteCount: number): void {
    const { bytes } = this
    const end = Math.min(this.at + byteCount, bytes.length)
    let { at } = this
    while (at < end) {
      const kind = kindOf[bytes[at] as number]
      if (kind === wordKind) at = this.readWord(at)
      else if (kind === structureKind) at = this.readStructure(at)
      else at++
    }
    this.at = at
  }

  /** Returns the end of the word at `from`: a number, a literal, or text that the parser will refuse. */
  private readWord(from: number): number {
    this.countValue()
    const { bytes } = this
    let to = from + 1
    while (to < bytes.length && kindOf[bytes[to] as number] === wordKind) to++
    if (to - from > jsonWordBytesMax) throw tooLong('number', from)
    const first = bytes[from] as number
    const isNumber = (first >= zero && first <= nine) || first === minus
    if (isNumber && to - from >= wideBytesMin && isWide(bytes.toString('latin1', from, to)))
      this.wideNumbers.push(from, to)
    return to
  }

  /** Returns the position after the character, or after the string that it opens. */
  private readStructure(at: number): number {
    const byte = this.bytes[at]
    if (byte === quoteByte) return this.readText(at + 1)
    if (byte === comma) {
      if (this.containers.length === 1) this.elements++
    } else if (byte === colon) this.checkName()
    else if (byte === openBrace || byte === openBracket) this.open(byte === openBracket)
    else this.close()
    return at + 1
  }

  /** Returns the position after the closing quotation mark. */
  private readText(from: number): number {
    this.countValue()
    const { bytes } = this
    const shortEnd = Math.min(from + shortTextBytes, bytes.length)
    let to = from
    while (to < shortEnd && bytes[to] !== quoteByte) to += bytes[to] === backslash ? 2 : 1
    if (to >= shortEnd) to = endOfText(bytes, to)
    this.textFrom = from
    this.textTo = to
    return to + 1
  }

  private checkName(): void {
    const container = this.containers.at(-1)
    if (container !== undefined && ++container.names > jsonNamesMax)
      throw new ServerError('BodyTooLarge', `An object in the body has more than ${jsonNamesMax} fields.`)
    const nameBytes = this.textTo - this.textFrom
    if (nameBytes > jsonWordBytesMax) throw tooLong('name', this.textFrom)
    if (nameBytes > jsonLongNames.bytes && ++this.longNames > jsonLongNames.max) throw manyLongNames()
  }

  private countValue(): void {
    this.values++
    const { valuesMax, valuesLimit } = this.limits
    if (this.values > valuesMax) throw new ServerError('BodyTooLarge', tooManyValues(valuesMax, valuesLimit))
  }

  private open(isArray: boolean): void {
    this.countValue()
    const { limits } = this
    if (limits.elementLimits !== undefined && !isArray && this.containers.length === 0)
      this.limits = limits.elementLimits
    if (this.containers.length >= limits.depthMax) throw tooDeep(limits.depthMax)
    this.containers.push({ valuesFrom: this.values, names: 0 })
  }

  /** Does not check that brackets match; the parser does. */
  private close(): void {
    const container = this.containers.pop()
    const elementLimits = this.limits.elementLimits
    if (container === undefined || this.containers.length !== 1 || elementLimits === undefined) return
    if (this.values - container.valuesFrom < elementLimits.valuesMax) return
    const message = tooManyValues(
      elementLimits.valuesMax,
      elementLimits.valuesLimit,
      `Element ${this.elements} of the body`,
    )
    throw new ServerError('BodyTooLarge', message)
  }
}

/** Returns true if the first character other than white space and a byte order mark is `[`. */
export function beginsArray(text: Uint8Array): boolean {
  let at = text[0] === 0xef ? 3 : 0
  while ((text[at] ?? quoteByte) <= 0x20) at++
  return text[at] === openBracket
}

/** Returns true if the word is a number that a double may not represent exactly. Leaves invalid numbers to the parser. */
function isWide(word: string): boolean {
  return (word.length > wideBytesMax || beyondDouble.test(word)) && number.test(word)
}

/** Returns the position of the next unescaped quotation mark at or after `from`, or the end of the text. `from` does not follow a backslash. */
function endOfText(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(quoteByte, from); at >= 0; at = bytes.indexOf(quoteByte, at + 1)) {
    let backslashes = 0
    while (at - backslashes > from && bytes[at - backslashes - 1] === backslash) backslashes++
    if (backslashes % 2 === 0) return at
  }
  return bytes.length
}

export function tooManyValues(valuesMax: number, limit: string, subject = 'The body'): string {
  return `${subject} has more than ${valuesMax} values (${limit}).`
}

/** Returns the error for a name or number that is too long to be intended, and would take long to parse. */
function tooLong(what: 'name' | 'number', at: number): AshlarError {
  return malformedJson(`The body has a ${what} of more than ${jsonWordBytesMax} bytes, at byte ${at}.`)
}

function manyLongNames(): AshlarError {
  const { bytes, max } = jsonLongNames
  return malformedJson(
    `The body has more than ${max} field names of more than ${bytes} bytes; the keys of a map can be given as "pairs".`,
  )
}

export function malformedJson(message: string): AshlarError {
  return new AshlarError('MalformedRequest', message)
}

function tooDeep(depthMax: number): AshlarError {
  return malformedJson(`The body is nested deeper than ${depthMax} levels (jsonDepthMax).`)
}
