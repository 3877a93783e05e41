/** Writes JSON text as UTF-8 bytes, directly from record bytes. */
import { ByteWriter } from './byte-writer.ts'
import type { EncodedText } from './prepared-text.ts'

/** Up to this length a loop is faster than a native call. */
const shortBytes = 32
const quote = 0x22
const zero = 0x30
const space = 0x20
const backslash = 0x5c
const asciiMax = 0x7f
/** Below this value, integer division is possible. */
const intMax = 0x8000_0000

/** Longer texts are escaped in parts, since escaping may make a text six times as long. */
const longCharacters = 65_536
/** Maximum number of UTF-8 bytes escaped per reservation. */
const escapedBytes = 8_192
const longestEscape = 6
const shortRunBytes = 64

const hexEscape = 0x75
const hexDigits = Buffer.from('0123456789abcdef')

/** The character after the backslash of an escaped byte: itself, a letter, or `u` before four hexadecimal digits; 0 if no escape is needed. */
const escapes = escapesOfBytes()

function escapesOfBytes(): Uint8Array {
  const all = new Uint8Array(256).fill(hexEscape, 0, space)
  for (const character of '"\\\b\t\n\f\r') all[character.charCodeAt(0)] = JSON.stringify(character).charCodeAt(2)
  return all
}

/** The end of a part of a long text that begins at `at`; never splits a surrogate pair. */
function partEnd(text: string, at: number): number {
  const end = Math.min(at + longCharacters, text.length)
  const unit = text.charCodeAt(end - 1)
  return end < text.length && unit >= 0xd800 && unit <= 0xdbff ? end + 1 : end
}

export class JsonWriter {
  readonly to: ByteWriter

  /** See `ByteWriter`. */
  constructor(onGrow?: (bytes: number) => void, room: number | Buffer = 1024) {
    this.to = new ByteWriter(room, onGrow)
  }

  byte(code: number): void {
    this.to.writeByte(code)
  }

  /** Removes the final `}` of the object just written, to add members. */
  reopen(): void {
    this.to.length--
  }

  /** Writes JSON in ASCII: punctuation, numbers, quoted OIDs. */
  ascii(text: string): void {
    const { to } = this
    const at = to.reserve(text.length)
    const { bytes } = to
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i)
  }

  /** Writes JSON, for example `,"name":`. */
  prepared(text: EncodedText): void {
    this.to.writePrepared(text)
  }

  raw(source: Uint8Array): void {
    if (source.length > shortBytes) this.to.writeBytes(source)
    else this.copy(source, 0, source.length)
  }

  /** An integer from 0 to 2^53. */
  unsigned(value: number): void {
    if (value > 0xffff_ffff) {
      this.ascii(String(value))
      return
    }
    let digits = 1
    for (let bound = 10; bound <= value; bound *= 10) digits++
    const at = this.to.reserve(digits)
    const { bytes } = this.to
    let rest = value
    for (let i = at + digits - 1; i >= at; i--) {
      const next = rest < intMax ? (rest / 10) | 0 : Math.floor(rest / 10)
      bytes[i] = zero + rest - next * 10
      rest = next
    }
  }

  integer(value: number): void {
    if (value < 0) {
      this.byte(0x2d)
      this.unsigned(-value)
    } else this.unsigned(value)
  }

  string(text: string): void {
    if (text.length <= shortBytes && this.plainString(text)) return
    if (text.length > longCharacters) this.longString(text)
    else this.quoted(JSON.stringify(text))
  }

  private quoted(text: string): void {
    const at = this.to.reserve(Buffer.byteLength(text))
    this.to.bytes.write(text, at)
  }

  private longString(text: string): void {
    this.to.writeByte(quote)
    for (let at = 0; at < text.length; ) {
      const end = partEnd(text, at)
      this.quoted(JSON.stringify(text.slice(at, end)).slice(1, -1))
      at = end
    }
    this.to.writeByte(quote)
  }

  base64(source: Buffer): void {
    this.to.writeByte(quote)
    const text = source.toString('base64')
    const at = this.to.reserve(text.length)
    this.to.bytes.write(text, at, 'latin1')
    this.to.writeByte(quote)
  }

  /** Quotes and escapes UTF-8 text, in a fraction of the time of decoding it first. */
  escapedUtf8(source: Uint8Array, start: number, end: number): void {
    this.to.writeByte(quote)
    for (let from = start; from < end; from += escapedBytes) {
      this.escapePart(source, from, Math.min(from + escapedBytes, end))
    }
    this.to.writeByte(quote)
  }

  private escapePart(source: Uint8Array, start: number, end: number): void {
    const { to } = this
    let at = to.reserve((end - start) * longestEscape)
    const { bytes } = to
    for (let i = start; i < end; i++) {
      const from = i
      while (i < end && escapes[source[i] as number] === 0) i++
      // For long runs, a native copy is several times faster than a loop.
      if (i - from > shortRunBytes) {
        bytes.set(source.subarray(from, i), at)
        at += i - from
      } else for (let k = from; k < i; k++) bytes[at++] = source[k] as number
      if (i === end) break
      const byte = source[i] as number
      const second = escapes[byte] as number
      bytes[at++] = backslash
      bytes[at++] = second
      if (second !== hexEscape) continue
      bytes[at++] = zero
      bytes[at++] = zero
      bytes[at++] = zero + (byte >> 4)
      bytes[at++] = hexDigits[byte & 0xf] as number
    }
    to.length = at
  }

  /** Quotes UTF-8 text that is known to need no escapes. */
  plainUtf8(source: Uint8Array, start: number, end: number): void {
    this.to.writeByte(quote)
    this.copy(source, start, end)
    this.to.writeByte(quote)
  }

  /** Returns false, with nothing written, for a text that needs escapes or is not ASCII. */
  private plainString(text: string): boolean {
    const { to } = this
    const at = to.reserve(text.length + 2)
    const { bytes } = to
    bytes[at] = quote
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code < space || code > asciiMax || code === quote || code === backslash) {
        to.length = at
        return false
      }
      bytes[at + 1 + i] = code
    }
    bytes[at + 1 + text.length] = quote
    return true
  }

  private copy(source: Uint8Array, start: number, end: number): void {
    const count = end - start
    const at = this.to.reserve(count)
    const { bytes } = this.to
    if (count > shortBytes) bytes.set(source.subarray(start, end), at)
    else for (let i = 0; i < count; i++) bytes[at + i] = source[start + i] as number
  }
}
