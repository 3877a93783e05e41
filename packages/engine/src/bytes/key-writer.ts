/** Writes index key parts so that byte order is value order, and truncates texts that would make a key too long. */
import { unreachable } from '../errors.ts'
import { ByteWriter } from './byte-writer.ts'

const valueMarker = 0x01
const nullMarker = 0xfe
/** In texts, 00 is written as 00 FF, so that the terminator sorts before any continuation. */
const nulEscape = 0xff
const completeEnd = 0x01
const truncatedEnd = 0x02
const terminatorBytes = 2
const asciiMax = 0x7f
/** Up to this length a loop is faster than a native call. */
const shortCharacters = 64

/** The first byte of a decimal. */
export const decimalSigns = { negative: 1, zero: 2, positive: 3 } as const
/** Added to decimal exponents to make them non-negative. */
export const decimalExponentBias = 160

/** The layout of a part after its marker; each is written by one kind of method of `KeyWriter`. */
export type KeyForm = 'oneByte' | 'integer' | 'eightBytes' | 'sixteenBytes' | 'decimal' | 'text'

/** Bounds of a part: before all values, and between values and nulls. */
export const beforeKeyValues = Buffer.from([valueMarker])
export const afterKeyValues = Buffer.from([valueMarker + 1])

/** The end of the part that begins at `at`, and whether it is a truncated text. */
export function readKeyPart(
  key: Uint8Array,
  at: number,
  form: KeyForm,
): { readonly end: number; readonly isTruncated: boolean } {
  if (key[at] === nullMarker) return { end: at + 1, isTruncated: false }
  const start = at + 1
  switch (form) {
    case 'oneByte':
      return { end: start + 1, isTruncated: false }
    case 'integer':
      return { end: start + 1 + Math.abs((key[start] as number) - 0x80), isTruncated: false }
    case 'eightBytes':
      return { end: start + 8, isTruncated: false }
    case 'sixteenBytes':
      return { end: start + 16, isTruncated: false }
    case 'decimal':
      return { end: decimalEnd(key, start), isTruncated: false }
    case 'text': {
      const end = textEnd(key, start)
      return { end, isTruncated: key[end - 1] === truncatedEnd }
    }
  }
}

/** The offset after the byte that terminates the digits; zero has none. */
function decimalEnd(key: Uint8Array, start: number): number {
  if (key[start] === decimalSigns.zero) return start + 1
  const end = key[start] === decimalSigns.negative ? 0xff : 0
  // Starts after the sign and the exponent, which may be any byte.
  let at = start + 2
  while (key[at] !== end) at++
  return at + 1
}

function textEnd(key: Uint8Array, start: number): number {
  let at = start
  while (at < key.length) {
    if (key[at] !== 0) at++
    else if (key[at + 1] === nulEscape) at += 2
    else return at + terminatorBytes
  }
  unreachable('a text in an index key ends')
}

/**
 * Each part begins with a marker byte that sorts values before null (`ORDER BY`: nulls last). The encoding depends on the logical value only, not on
 * width or encoding, so that widening an attribute leaves its index valid.
 */
export class KeyWriter {
  readonly to = new ByteWriter(256)
  /** True once a text was truncated: the key is ordered only up to that part, and needs a digest to be exact. */
  isTruncated = false
  /** Maximum number of code points stored of the next text; Infinity for the full form from which a digest is made. */
  textCharactersMax = Number.POSITIVE_INFINITY
  /** Maximum size of the next text, including marker and terminator. */
  textBytesMax = Number.POSITIVE_INFINITY

  null(): void {
    this.to.writeByte(nullMarker)
  }

  boolean(value: boolean): void {
    this.to.writeByte(valueMarker)
    this.to.writeByte(value ? 1 : 0)
  }

  /** Any integer of up to 64 bits: sign and length, then the magnitude without leading zeros. */
  integer(value: number | bigint): void {
    this.to.writeByte(valueMarker)
    const isNegative = value < 0
    const size = isNegative ? -value : value
    if (size <= Number.MAX_SAFE_INTEGER) this.safeInteger(Number(size), isNegative)
    else this.wideInteger(BigInt(size), isNegative)
  }

  private safeInteger(size: number, isNegative: boolean): void {
    let width = 0
    for (let bound = 1; bound <= size; bound *= 256) width++
    const at = this.to.reserve(width + 1)
    const { bytes } = this.to
    bytes[at] = isNegative ? 0x80 - width : 0x80 + width
    let rest = size
    for (let i = at + width; i > at; i--) {
      const next = Math.floor(rest / 256)
      const byte = rest - next * 256
      bytes[i] = isNegative ? 0xff - byte : byte
      rest = next
    }
  }

  private wideInteger(size: bigint, isNegative: boolean): void {
    const magnitude: number[] = []
    for (let rest = size; rest > 0n; rest >>= 8n) magnitude.unshift(Number(rest & 0xffn))
    this.to.writeByte(isNegative ? 0x80 - magnitude.length : 0x80 + magnitude.length)
    for (const byte of magnitude) this.to.writeByte(isNegative ? 0xff - byte : byte)
  }

  /** −0 is encoded as 0. NaN is not allowed. */
  real(value: number): void {
    this.to.writeByte(valueMarker)
    const at = this.to.reserve(8)
    const { bytes } = this.to
    bytes.writeDoubleBE(value === 0 ? 0 : value, at)
    if (value < 0) for (let i = at; i < at + 8; i++) bytes[i] = ~(bytes[i] as number) & 0xff
    else bytes[at] = (bytes[at] as number) ^ 0x80
  }

  /** `units` × 10^−`scale`, at most 76 digits, 152 after the point: sign, exponent, two digits per byte without trailing zeros, terminator. */
  decimal(units: bigint, scale: number): void {
    const { to } = this
    to.writeByte(valueMarker)
    if (units === 0n) {
      to.writeByte(decimalSigns.zero)
      return
    }
    const isNegative = units < 0n
    const written = String(isNegative ? -units : units)
    const digits = written.replace(/0+$/, '')
    const flip = isNegative ? 0xff : 0
    to.writeByte(isNegative ? decimalSigns.negative : decimalSigns.positive)
    to.writeByte((written.length - scale + decimalExponentBias) ^ flip)
    // No pair is encoded as 0, which is the terminator.
    for (let i = 0; i < digits.length; i += 2) to.writeByte((Number(digits.slice(i, i + 2).padEnd(2, '0')) + 1) ^ flip)
    to.writeByte(flip)
  }

  /** A signed count (of days or ticks), up to 2^53. */
  ticks(value: number): void {
    this.to.writeByte(valueMarker)
    const at = this.to.reserve(8)
    const high = Math.floor(value / 2 ** 32)
    this.to.bytes.writeUInt32BE(high + 2 ** 31, at)
    this.to.bytes.writeUInt32BE(value - high * 2 ** 32, at + 4)
  }

  /** Bytes of a fixed width, in value order. */
  fixed(bytes: Uint8Array): void {
    this.to.writeByte(valueMarker)
    this.to.writeBytes(bytes)
  }

  /** By code point, truncated to `textCharactersMax` characters and `textBytesMax` bytes at a character boundary. */
  text(value: string): void {
    const { to } = this
    to.writeByte(valueMarker)
    const bytesMax = this.textBytesMax - 1 - terminatorBytes
    if (value.length <= Math.min(shortCharacters, this.textCharactersMax, bytesMax) && this.plainText(value)) {
      this.endText(completeEnd)
      return
    }
    if (this.textCharactersMax === Number.POSITIVE_INFINITY && bytesMax === Number.POSITIVE_INFINITY) {
      this.completeText(value)
      return
    }
    // A character has at most two UTF-16 units and at least one byte, so the rest is truncated in any case.
    const source = Buffer.from(value.slice(0, Math.min(2 * this.textCharactersMax, bytesMax) + 2), 'utf8')
    const start = to.length
    let characters = 0
    let at = 0
    while (at < source.length) {
      const width = utf8Width(source[at] as number)
      const written = source[at] === 0 ? 2 : width
      if (++characters > this.textCharactersMax || to.length - start + written > bytesMax) {
        this.isTruncated = true
        this.endText(truncatedEnd)
        return
      }
      for (let i = 0; i < width; i++) to.writeByte(source[at + i] as number)
      if (source[at] === 0) to.writeByte(nulEscape)
      at += width
    }
    this.endText(completeEnd)
  }

  /** Like `text` for UTF-8 bytes. Returns false, with nothing written, if the text is long, not ASCII, or contains NUL. */
  asciiText(source: Uint8Array, start: number, end: number): boolean {
    const { to } = this
    const length = end - start
    if (length > Math.min(shortCharacters, this.textCharactersMax, this.textBytesMax - 1 - terminatorBytes))
      return false
    const at = to.reserve(1 + length + terminatorBytes)
    const { bytes } = to
    bytes[at] = valueMarker
    for (let i = 0; i < length; i++) {
      const byte = source[start + i] as number
      if (byte === 0 || byte > asciiMax) {
        to.length = at
        return false
      }
      bytes[at + 1 + i] = byte
    }
    bytes[at + 1 + length] = 0
    bytes[at + 2 + length] = completeEnd
    return true
  }

  private completeText(value: string): void {
    const { to } = this
    if (value.includes('\0')) this.withNulEscapes(Buffer.from(value, 'utf8'))
    else {
      const bytes = Buffer.byteLength(value)
      // Includes the terminator, for which a full buffer would double.
      const at = to.reserve(bytes + terminatorBytes)
      to.bytes.write(value, at)
      to.length = at + bytes
    }
    this.endText(completeEnd)
  }

  /** A single loop: with a call per NUL, a text of 16 MiB would block the event loop for more than a second. */
  private withNulEscapes(source: Uint8Array): void {
    let length = source.length
    for (let i = 0; i < source.length; i++) if (source[i] === 0) length++
    let at = this.to.reserve(length + terminatorBytes)
    const { bytes } = this.to
    for (let i = 0; i < source.length; i++) {
      const byte = source[i] as number
      bytes[at++] = byte
      if (byte === 0) bytes[at++] = nulEscape
    }
    this.to.length = at
  }

  /** The fast path for short ASCII texts without NUL. Returns false, with nothing written, for other texts. */
  private plainText(value: string): boolean {
    const { to } = this
    const at = to.reserve(value.length)
    const { bytes } = to
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code === 0 || code > asciiMax) {
        to.length = at
        return false
      }
      bytes[at + i] = code
    }
    return true
  }

  private endText(end: number): void {
    this.to.writeByte(0)
    this.to.writeByte(end)
  }
}

function utf8Width(lead: number): number {
  if (lead < 0x80) return 1
  if (lead < 0xe0) return 2
  return lead < 0xf0 ? 3 : 4
}
