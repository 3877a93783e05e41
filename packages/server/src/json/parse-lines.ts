/** Lines of a body, each of which is a JSON text: many are parsed as one, which costs less than each by itself (contract 2.2.9). */

import {
  backslash,
  closeBrace,
  closeBracket,
  type JsonLimits,
  nine,
  openBrace,
  openBracket,
  point,
  quote,
  smallE,
  toSmall,
  wideDigits,
  zero,
} from './json-layout.ts'
import { usualSizes } from './parse-json.ts'
import { beyondDouble, decode } from './parse-text.ts'

export interface ParsedLines {
  readonly ends: readonly number[]
  /** The value of each line; undefined if lines must be parsed one by one. */
  readonly values: readonly unknown[] | undefined
}

const newline = 0x0a
const space = 0x20
const comma = 0x2c

/** `bytes`: with a line feed between two lines. Whatever is wrong with a line, it is left to whoever parses it by itself. */
export function parseLines(bytes: Uint8Array, { depthMax, valuesMax }: JsonLimits): ParsedLines {
  // Each value takes a byte: shorter lines need not be counted.
  const scan = new LinesScan(depthMax, Math.min(usualSizes.smallBytes, valuesMax))
  scan.run(bytes)
  return { ends: scan.ends, values: scan.areObjects ? parseObjects(bytes, scan) : undefined }
}

function parseObjects(bytes: Uint8Array, { ends, hasWideNumbers }: LinesScan): unknown[] | undefined {
  const array = new Uint8Array(bytes.length + 2)
  array[0] = openBracket
  array.set(bytes, 1)
  for (const end of ends) array[end + 1] = comma
  array[bytes.length + 1] = closeBracket
  try {
    const text = decode(array)
    return hasWideNumbers && beyondDouble.test(text) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Where lines end, and whether each is a single object as far as its brackets and quotes tell. Where that is so, the objects with commas between
 * them are an array of as many elements, or no JSON: a line that is none cannot be mended by the next one.
 */
class LinesScan {
  readonly ends: number[] = []
  areObjects = true
  /** Some number may be one of which a double does not hold all. */
  hasWideNumbers = false
  private readonly depthMax: number
  private readonly lineBytesMax: number

  constructor(depthMax: number, lineBytesMax: number) {
    this.depthMax = depthMax
    this.lineBytesMax = lineBytesMax
  }

  run(bytes: Uint8Array): void {
    for (let from = 0; from <= bytes.length; ) {
      const object = this.areObjects ? this.endOfObject(bytes, from) : -1
      if (object < 0) this.areObjects = false
      const end = object < 0 ? endOfLine(bytes, from) : object
      this.ends.push(end)
      from = end + 1
    }
  }

  /** The end of the line; below 0 where it is no object, more than one, or longer than is parsed with others: of such a line no more is looked at. */
  private endOfObject(bytes: Uint8Array, from: number): number {
    if (bytes[from] !== openBrace) return -1
    const to = Math.min(bytes.length, from + this.lineBytesMax + 1)
    let depth = 1
    // Of the number at hand.
    let digits = 0
    for (let at = from + 1; at < to; at++) {
      const byte = bytes[at] as number
      if (byte === newline) return depth === 0 ? at : -1
      if (byte > space && depth === 0) return -1
      if (byte >= zero && byte <= nine) {
        if (++digits >= wideDigits) this.hasWideNumbers = true
        continue
      }
      if (byte === point || (digits > 0 && (byte | toSmall) === smallE)) this.hasWideNumbers = true
      digits = 0
      if (byte === quote) {
        at = endOfText(bytes, at, to)
        if (at < 0) return -1
      } else if (byte === openBrace || byte === openBracket) {
        if (++depth > this.depthMax) return -1
      } else if (byte === closeBrace || byte === closeBracket) depth--
    }
    return depth === 0 && bytes.length - from <= this.lineBytesMax ? bytes.length : -1
  }
}

/** Its last quote; below 0 where it does not end in its line, before `to`. */
function endOfText(bytes: Uint8Array, start: number, to: number): number {
  for (let at = start + 1; at < to; at++) {
    const byte = bytes[at]
    if (byte === quote) return at
    if (byte === newline) return -1
    if (byte === backslash && bytes[++at] === newline) return -1
  }
  return -1
}

function endOfLine(bytes: Uint8Array, from: number): number {
  const end = bytes.indexOf(newline, from)
  return end < 0 ? bytes.length : end
}
