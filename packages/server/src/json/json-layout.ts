/** Finds the large arrays and objects of a JSON text, and where they can be split, byte by byte, before any value is created. */
import { AshlarError } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import { jsonLongNames, jsonNamesMax, jsonWordBytesMax } from '../limits.ts'

export interface JsonLimits {
  readonly depthMax: number
  /** Values of the text: numbers, texts, literals, arrays, objects, and names of fields. */
  readonly valuesMax: number
  /** The name of the limit `valuesMax`, for errors. */
  readonly valuesLimit: string
  /** Bounds each element of a text that is an array, and any other text as a whole. */
  readonly ofObjects?: JsonLimits
}

/**
 * A part of a large container: consecutive elements with their commas, the text before a large child (blanks, or its name and a colon), or the text
 * after it up to the next comma. `from` ≤ bytes < `to`.
 */
export type Piece =
  | { readonly kind: 'blank'; readonly from: number; readonly to: number }
  /** `hasWideNumbers`: there may be a number that a double does not hold exactly. */
  | { readonly kind: 'elements'; readonly from: number; readonly to: number; readonly hasWideNumbers: boolean }
  | { readonly kind: 'child'; readonly from: number; readonly to: number; readonly child: LargeContainer }

/** A container that is split into pieces; so are its large children. */
export interface LargeContainer {
  readonly isArray: boolean
  readonly from: number
  /** Behind its end. */
  readonly to: number
  readonly pieces: readonly Piece[]
}

/** Sizes of pieces that are parsed at once. */
export interface PieceSizes {
  readonly valuesMax: number
  readonly bytesMax: number
  /** A text that is longer is read in parts. */
  readonly textBytesMax: number
}

/** Without its quotes: `from` ≤ bytes < `to`. */
export interface LongText {
  readonly from: number
  readonly to: number
}

interface Frame {
  readonly isArray: boolean
  readonly from: number
  readonly pieces: Piece[]
  /** The start of the current piece, and the number of values before it. */
  pieceFrom: number
  valuesBefore: number
  wideBefore: number
  /** Values including the container itself. */
  readonly valuesFrom: number
  elementFrom: number
  /** Fields of an object so far. */
  names: number
  /** Whether the current piece follows a large child. */
  isBlank: boolean
}

export const quote = 0x22
export const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const point = 0x2e
const minus = 0x2d
export const zero = 0x30
export const nine = 0x39
const smallE = 0x65
/** Bit that differs between lower and upper case. */
const toSmall = 0x20
/** A whole number of fewer digits is held by a double. */
const wideDigits = 16
export const openBracket = 0x5b
export const closeBracket = 0x5d
export const openBrace = 0x7b
export const closeBrace = 0x7d

const [ofBlank, ofWord, ofStructure] = [0, 1, 2]
/** The kind of each byte outside strings. */
const kindOf = Uint8Array.from({ length: 256 }, (_, byte) => (byte > 0x20 ? ofWord : ofBlank))
for (const byte of [quote, comma, colon, openBrace, closeBrace, openBracket, closeBracket]) kindOf[byte] = ofStructure

export class JsonLayout {
  /** Undefined if the text is small enough to be parsed at once. */
  root: LargeContainer | undefined
  /** Values, not names, in the order in which they lie. */
  readonly longTexts: LongText[] = []
  private values = 0
  private readonly frames: Frame[] = []
  private isInText = false
  private textFrom = 0
  private textTo = 0
  private longNames = 0
  private isAfterLongText = false
  private isEscaped = false
  private isInWord = false
  private isInNumber = false
  private wordFrom = 0
  /** Numbers with a fraction, an exponent or very many digits. */
  private wideNumbers = 0
  /** Elements of the outermost array before the current one. */
  private elements = 0
  private limits: JsonLimits
  private readonly sizes: PieceSizes

  constructor(limits: JsonLimits, sizes: PieceSizes) {
    this.limits = limits
    this.sizes = sizes
  }

  /** So far. */
  get valuesCount(): number {
    return this.values
  }

  /** Whether some number may be one of which a double does not hold all. */
  get hasWideNumbers(): boolean {
    return this.wideNumbers > 0
  }

  /** Scans the next bytes[from, to) of the text. Throws MalformedRequest for unbalanced brackets, and BodyTooLarge. */
  scan(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      if (this.isInText) {
        at = this.skipText(bytes, at, to)
        continue
      }
      const byte = bytes[at] as number
      const kind = kindOf[byte]
      if (kind === ofWord) {
        this.takeInWord(byte, at)
        continue
      }
      // A number or literal ends at any other character; the parser checks it.
      this.isInWord = false
      if (kind === ofStructure) this.take(byte, at)
    }
  }

  /** To be called at the end of the text. Throws MalformedRequest for an open bracket. */
  end(): void {
    if (this.frames.length > 0) throw mismatched()
  }

  /** Skips string content and returns the position of the last byte available. */
  private skipText(bytes: Uint8Array, start: number, to: number): number {
    let at = start
    if (this.isEscaped) {
      this.isEscaped = false
      at++
    }
    for (; at < to; at++) {
      const byte = bytes[at]
      if (byte === quote) {
        this.endText(at)
        return at
      }
      if (byte === backslash && ++at === to) this.isEscaped = true
    }
    return to
  }

  private endText(at: number): void {
    this.isInText = false
    this.textTo = at
    this.isAfterLongText = at - this.textFrom > this.sizes.textBytesMax
    if (this.isAfterLongText) this.longTexts.push({ from: this.textFrom, to: at })
  }

  /** Handles a structural byte. */
  private take(byte: number, at: number): void {
    if (byte === quote) {
      this.countValue()
      this.isInText = true
      this.textFrom = at + 1
    } else if (byte === comma) this.takeComma(at)
    else if (byte === colon) this.takeColon()
    else if (byte === openBrace || byte === openBracket) this.open(byte === openBracket, at)
    else if (byte === closeBrace || byte === closeBracket) this.close(byte === closeBracket, at)
  }

  private takeColon(): void {
    const frame = this.frames.at(-1)
    if (frame !== undefined && ++frame.names > jsonNamesMax)
      throw new ServerError('BodyTooLarge', `An object in the body has more than ${jsonNamesMax} fields.`)
    const nameBytes = this.textTo - this.textFrom
    if (nameBytes > jsonWordBytesMax) throw tooLong('name', this.textFrom)
    if (nameBytes > jsonLongNames.bytes && ++this.longNames > jsonLongNames.max) throw manyLongNames()
    if (!this.isAfterLongText) return
    this.isAfterLongText = false
    this.longTexts.pop()
  }

  private takeInWord(byte: number, at: number): void {
    if (!this.isInWord) {
      this.countValue()
      this.isInWord = true
      this.isInNumber = (byte >= zero && byte <= nine) || byte === minus
      this.wordFrom = at
      return
    }
    if (at - this.wordFrom >= jsonWordBytesMax) throw tooLong('number', this.wordFrom)
    if (!this.isInNumber) return
    if (byte === point || (byte | toSmall) === smallE || at - this.wordFrom === wideDigits - 1) this.wideNumbers++
  }

  private countValue(): void {
    this.values += 1
    const { valuesMax, valuesLimit } = this.limits
    if (this.values > valuesMax) {
      throw new ServerError('BodyTooLarge', tooManyValues(valuesMax, valuesLimit))
    }
  }

  private open(isArray: boolean, at: number): void {
    this.countValue()
    const { depthMax, ofObjects } = this.limits
    if (ofObjects !== undefined && !isArray && this.frames.length === 0) this.limits = ofObjects
    if (this.frames.length >= depthMax) throw tooDeep(depthMax)
    const inside = at + 1
    this.frames.push({
      isArray,
      from: at,
      pieces: [],
      pieceFrom: inside,
      valuesBefore: this.values,
      wideBefore: this.wideNumbers,
      valuesFrom: this.values,
      elementFrom: inside,
      names: 0,
      isBlank: false,
    })
  }

  private takeComma(at: number): void {
    const frame = this.frames.at(-1)
    if (frame === undefined) return
    if (this.frames.length === 1) this.elements++
    const { bytesMax, valuesMax } = this.sizes
    const isFull = at - frame.pieceFrom > bytesMax || this.values - frame.valuesBefore > valuesMax
    if (isFull || frame.isBlank) this.cut(frame, at)
    frame.elementFrom = at + 1
  }

  private cut(frame: Frame, at: number): void {
    if (frame.isBlank) frame.pieces.push({ kind: 'blank', from: frame.pieceFrom, to: at })
    else this.cutElements(frame, at)
    frame.pieceFrom = at + 1
    frame.valuesBefore = this.values
    frame.wideBefore = this.wideNumbers
    frame.isBlank = false
  }

  private cutElements({ pieces, pieceFrom, wideBefore }: Frame, to: number): void {
    pieces.push({ kind: 'elements', from: pieceFrom, to, hasWideNumbers: this.wideNumbers > wideBefore })
  }

  private close(isArray: boolean, at: number): void {
    const frame = this.frames.pop()
    if (frame === undefined || frame.isArray !== isArray) throw mismatched()
    if (this.frames.length === 1) this.checkElement(frame)
    if (frame.pieces.length === 0) return
    this.cut(frame, at)
    const child: LargeContainer = { isArray, from: frame.from, to: at + 1, pieces: frame.pieces }
    const parent = this.frames.at(-1)
    if (parent === undefined) this.root ??= child
    else this.enter(child, parent)
  }

  private checkElement({ valuesFrom }: Frame): void {
    const { ofObjects } = this.limits
    if (ofObjects === undefined || this.values - valuesFrom < ofObjects.valuesMax) return
    const message = tooManyValues(ofObjects.valuesMax, ofObjects.valuesLimit, `Element ${this.elements} of the body`)
    throw new ServerError('BodyTooLarge', message)
  }

  private enter(child: LargeContainer, parent: Frame): void {
    const { pieceFrom, elementFrom } = parent
    if (elementFrom > pieceFrom) this.cutElements(parent, elementFrom - 1)
    parent.pieces.push({ kind: 'child', from: elementFrom, to: child.from, child })
    parent.pieceFrom = child.to
    parent.valuesBefore = this.values
    parent.wideBefore = this.wideNumbers
    parent.isBlank = true
  }
}

export function tooManyValues(valuesMax: number, limit: string, subject = 'The body'): string {
  return `${subject} has more than ${valuesMax} values (${limit}).`
}

function mismatched(): AshlarError {
  return malformed('The body is not JSON: its brackets do not match.')
}

/** Returns the error for a name or number whose length can only be a mistake, and would take too long to read. */
function tooLong(what: 'name' | 'number', at: number): AshlarError {
  return malformed(`The body has a ${what} of more than ${jsonWordBytesMax} bytes, at byte ${at}.`)
}

function manyLongNames(): AshlarError {
  const { bytes, max } = jsonLongNames
  return malformed(
    `The body has more than ${max} field names of more than ${bytes} bytes; the keys of a map can be given as "pairs".`,
  )
}

export function malformed(message: string): AshlarError {
  return new AshlarError('MalformedRequest', message)
}

export function tooDeep(depthMax: number): AshlarError {
  return malformed(`The body is nested deeper than ${depthMax} levels (jsonDepthMax).`)
}
