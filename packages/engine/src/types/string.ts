/** string: four encodings that say which characters it may hold; stored as UTF-8 whatever they are. */

import { isAscii as isAsciiBytes } from 'node:buffer'
import { pieceEnd } from '../bytes/json-writer.ts'
import { readKeyText } from '../bytes/key-reader.ts'
import { shortText } from '../bytes/short-texts.ts'
import { countField, enumField, wrongField } from './definition-fields.ts'
import {
  type Codec,
  type CodecInPieces,
  formatForMessage,
  type LogicalType,
  longValueBytes,
  ValueError,
} from './logical-type.ts'
import type { StringSpec } from './type-spec.ts'

/** The first byte of a stored text; bit 0: JSON needs no escapes in it. */
const plainFlag = 0x01
const shortCharacters = 64
const quote = 0x22
const backslash = 0x5c

export const string: LogicalType<StringSpec> = {
  logicalType: 'string',
  fields: ['encoding', 'storage', 'fixedLength'],
  define(definition) {
    const encoding = enumField(definition, 'encoding', ['byte', 'utf8', 'utf16', 'utf32'], 'utf8')
    const storage = enumField(definition, 'storage', ['variable', 'fixed', 'optimized'], 'variable')
    const fixedLength = countField(definition, 'fixedLength')
    if (storage === 'fixed' && fixedLength === undefined) {
      throw wrongField('fixedLength', 'InvalidDefinition', 'is needed for storage fixed')
    }
    if (storage === 'variable' && fixedLength !== undefined) {
      throw wrongField('fixedLength', 'InvalidDefinition', 'does not belong to storage variable')
    }
    return { logicalType: 'string', encoding, storage, ...(fixedLength === undefined ? {} : { fixedLength }) }
  },
  describe: (spec) => ({ ...spec }),
  codec: (spec) => codecOf(spec),
}

function codecOf(spec: StringSpec): Codec<string> {
  const codec = shortCodec(spec)
  return { ...codec, inPieces: inPieces(codec) }
}

function inPieces(codec: Codec<string>): CodecInPieces<string> {
  return {
    isLong: (value) => value.length > longValueBytes,
    // biome-ignore lint/correctness/useYield: the runtime checks the text of a body faster than others would get their turns
    *parse(json) {
      return codec.parse(json)
    },
    *write(value, to) {
      const flag = to.reserve(1)
      let isAllPlain = true
      for (let at = 0; at < value.length; ) {
        const end = pieceEnd(value, at)
        const piece = value.slice(at, end)
        isAllPlain &&= isPlain(piece)
        writeUtf8(piece, to)
        at = end
        yield
      }
      to.bytes[flag] = isAllPlain ? plainFlag : 0
    },
    *read(bytes, start, end) {
      if (isReadAtOnce(bytes, start, end)) return codec.read(bytes, start, end)
      const texts: string[] = []
      for (let at = start + 1; at < end; ) {
        const to = utf8PieceEnd(bytes, at, end)
        texts.push(decoded(bytes, at, to))
        at = to
        yield
      }
      return texts.join('')
    },
    isReadAtOnce,
    *writeJson(bytes, start, end, json) {
      json.byte(quote)
      if (((bytes[start] as number) & plainFlag) !== 0) {
        for (let at = start + 1; at < end; at += longValueBytes) {
          json.raw(bytes.subarray(at, Math.min(at + longValueBytes, end)))
          yield
        }
      } else {
        for (let at = start + 1; at < end; ) {
          const to = utf8PieceEnd(bytes, at, end)
          // No more characters than bytes: one piece of the writer's as well.
          json.escaped(decoded(bytes, at, to), 0)
          at = to
          yield
        }
      }
      json.byte(quote)
    },
  }
}

function shortCodec({ encoding, storage, fixedLength }: StringSpec): Codec<string> {
  const charactersMax = storage === 'fixed' ? (fixedLength as number) : Number.POSITIVE_INFINITY
  const isByte = encoding === 'byte'
  return {
    fixedBytes: undefined,
    isNullable: true,
    defaultValue: '',
    parse(json) {
      if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string`)
      check(json, isByte, charactersMax)
      return json
    },
    accept(given) {
      return this.parse(given)
    },
    write(value, to) {
      if (value.length <= shortCharacters && writePlain(value, to)) return
      to.writeByte(isPlain(value) ? plainFlag : 0)
      writeUtf8(value, to)
    },
    read,
    writeJson(bytes, start, end, json) {
      if (((bytes[start] as number) & plainFlag) !== 0) json.plainUtf8(bytes, start + 1, end)
      else json.string(read(bytes, start, end))
    },
    toJson: (value) => value,
    key: {
      form: 'text',
      write: (value, to) => to.text(value),
      read: readKeyText,
      writeStored: (bytes, start, end, to) => to.asciiText(bytes, start + 1, end),
    },
  }
}

/** To decode UTF-8 takes the runtime fifty times as long as to copy ASCII. */
function isReadAtOnce(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start <= longValueBytes || isAsciiBytes(bytes.subarray(start + 1, end))
}

function read(bytes: Uint8Array, start: number, end: number): string {
  return shortText(bytes, start + 1, end) ?? decoded(bytes, start + 1, end)
}

function decoded(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
  // To look for anything but ASCII takes next to nothing beside decoding.
  return text.length > longValueBytes && isAsciiBytes(text) ? text.toString('latin1') : text.toString('utf8')
}

/** Where a piece of UTF-8 ends that begins at `at`: not within a character. */
function utf8PieceEnd(bytes: Uint8Array, at: number, end: number): number {
  let to = at + longValueBytes
  if (to >= end) return end
  while (((bytes[to] as number) & 0xc0) === 0x80) to--
  return to
}

function check(text: string, isByte: boolean, charactersMax: number): void {
  if (!text.isWellFormed()) {
    throw new ValueError('ValueNotAllowed', `${formatForMessage(text)} has half of a surrogate pair`)
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a byte string may hold any character up to U+00FF
  if (isByte && !/^[\u0000-\u00ff]*$/.test(text)) {
    throw new ValueError(
      'ValueNotAllowed',
      `${formatForMessage(text)} has characters beyond U+00FF, which encoding byte does not hold`,
    )
  }
  if (text.length > charactersMax && isLongerThan(text, charactersMax)) {
    throw new ValueError('ValueNotAllowed', `${formatForMessage(text)} is longer than ${charactersMax} characters`)
  }
}

/** In characters, of which each has one or two units. */
function isLongerThan(text: string, charactersMax: number): boolean {
  if (text.length > 2 * charactersMax) return true
  let count = text.length
  // In a text that is well-formed, each leading surrogate has its trailing one.
  for (let at = 0; at < text.length && count > charactersMax; at++) if (isLeading(text.charCodeAt(at))) count--
  return count > charactersMax
}

function isLeading(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON escapes
const needsEscape = /[\u0000-\u001f"\\\u007f\u2028\u2029]/

function isPlain(text: string): boolean {
  return !needsEscape.test(text)
}

/** False, and nothing written, where the text is not plain, or not in ASCII. Short texts are looked through and written at once. */
function writePlain(text: string, to: { reserve(count: number): number; bytes: Buffer; length: number }): boolean {
  const at = to.reserve(1 + text.length)
  const { bytes } = to
  bytes[at] = plainFlag
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) {
      to.length = at
      return false
    }
    bytes[at + 1 + i] = code
  }
  return true
}

function writeUtf8(text: string, to: { reserve(count: number): number; bytes: Buffer; length: number }): void {
  if (text.length <= shortCharacters && isAscii(text)) {
    const at = to.reserve(text.length)
    for (let i = 0; i < text.length; i++) to.bytes[at + i] = text.charCodeAt(i)
    return
  }
  const at = to.reserve(Buffer.byteLength(text))
  to.bytes.write(text, at)
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}
