/** The type string: four encodings that restrict its characters; always stored as UTF-8. */

import { isAscii, isUtf8, transcode } from 'node:buffer'
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { readKeyText } from '../bytes/key-reader.ts'
import { shortText } from '../bytes/short-texts.ts'
import { countField, enumField, wrongField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { StringSpec } from './type-spec.ts'

const fixedLengthMax = 1_000_000
/** The first byte of a stored text; bit 0: JSON needs no escapes in it. */
const plainFlag = 0x01
const shortCharacters = 64
const longBytes = 65_536
/** Upper bound in UTF-8: a UTF-16 unit takes one to three bytes, and a surrogate pair four. */
const bytesPerUnitMax = 3
const quote = 0x22
const backslash = 0x5c

export const string: LogicalType<StringSpec> = {
  logicalType: 'string',
  fields: ['encoding', 'storage', 'fixedLength'],
  define(definition) {
    const encoding = enumField(definition, 'encoding', ['byte', 'utf8', 'utf16', 'utf32'], 'utf8')
    const storage = enumField(definition, 'storage', ['variable', 'fixed', 'optimized'], 'variable')
    const fixedLength = countField(definition, 'fixedLength', 1, fixedLengthMax)
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

function codecOf({ encoding, storage, fixedLength }: StringSpec): Codec<string> {
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
    accept(input) {
      return this.parse(input)
    },
    write(value, to) {
      if (value.length <= shortCharacters && writePlain(value, to)) return
      to.writeByte(needsEscape.test(value) ? 0 : plainFlag)
      writeUtf8(value, to)
    },
    read,
    writeJson(bytes, start, end, json) {
      if (((bytes[start] as number) & plainFlag) !== 0) json.plainUtf8(bytes, start + 1, end)
      else json.escapedUtf8(bytes, start + 1, end)
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

function read(bytes: Uint8Array, start: number, end: number): string {
  return shortText(bytes, start + 1, end) ?? decoded(bytes, start + 1, end)
}

function decoded(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
  if (text.length < longBytes) return text.toString('utf8')
  if (isAscii(text)) return text.toString('latin1')
  // Ten times faster than the regular decoder, which would take too long for 16 MiB in one step.
  return isUtf8(text) ? transcode(text, 'utf8', 'utf16le').toString('utf16le') : text.toString('utf8')
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

/** Counts code points of one or two units each. */
function isLongerThan(text: string, charactersMax: number): boolean {
  if (text.length > 2 * charactersMax) return true
  let count = text.length
  // In well-formed text, each leading surrogate has its trailing one.
  for (let at = 0; at < text.length && count > charactersMax; at++) if (isLeading(text.charCodeAt(at))) count--
  return count > charactersMax
}

function isLeading(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON escapes
const needsEscape = /[\u0000-\u001f"\\\u007f\u2028\u2029]/

/** Returns false, with nothing written, if the text is not plain ASCII. Short texts are checked and written in one pass. */
function writePlain(text: string, to: Target): boolean {
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

type Target = Pick<ByteWriter, 'reserve' | 'bytes' | 'length'>

function writeUtf8(text: string, to: Target): void {
  if (text.length <= shortCharacters) {
    writeShortUtf8(text, to)
    return
  }
  const at = to.reserve(Buffer.byteLength(text))
  to.bytes.write(text, at)
}

/** Two native calls would take several times as long. */
function writeShortUtf8(text: string, to: Target): void {
  let at = to.reserve(text.length * bytesPerUnitMax)
  const { bytes } = to
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i)
    if (code < 0x80) {
      bytes[at++] = code
      continue
    }
    if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6)
    else {
      if (isLeading(code)) {
        code = text.codePointAt(i++) as number
        bytes[at++] = 0xf0 | (code >> 18)
        bytes[at++] = 0x80 | ((code >> 12) & 0x3f)
      } else bytes[at++] = 0xe0 | (code >> 12)
      bytes[at++] = 0x80 | ((code >> 6) & 0x3f)
    }
    bytes[at++] = 0x80 | (code & 0x3f)
  }
  to.length = at
}
