/** The type bytes: any number of bytes, base64 in JSON (RFC 4648), stored as they are. */
import { readKeyText } from '../bytes/key-reader.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { BytesSpec } from './type-spec.ts'

export const bytes: LogicalType<BytesSpec> = {
  logicalType: 'bytes',
  fields: [],
  define: () => ({ logicalType: 'bytes' }),
  describe: () => ({ logicalType: 'bytes' }),
  codec: () => codec,
}

/**
 * In memory, a string with one character from U+0000 to U+00FF per byte: strings are immutable, use one byte for such a character, and compare
 * natively in byte order. In keys, these characters are written as text, whose UTF-8 order is the same.
 */
const codec: Codec<string> = {
  fixedBytes: undefined,
  isNullable: true,
  defaultValue: '',
  parse(json) {
    if (typeof json !== 'string') {
      throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string of base64`)
    }
    const decoded = bytesOfBase64(json)
    if (decoded !== undefined) return decoded.toString('latin1')
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not base64`)
  },
  accept: (input) => input as string,
  write(value, to) {
    const at = to.reserve(value.length)
    to.bytes.write(value, at, 'latin1')
  },
  read: (stored, start, end) => viewOf(stored, start, end).toString('latin1'),
  writeJson: (stored, start, end, json) => json.base64(viewOf(stored, start, end)),
  toJson: (value) => Buffer.from(value, 'latin1').toString('base64'),
  key: {
    form: 'text',
    write: (value, to) => to.text(value),
    read: readKeyText,
    writeStored: (stored, start, end, to) => to.asciiText(stored, start, end),
  },
}

function viewOf({ buffer, byteOffset }: Uint8Array, start: number, end: number): Buffer {
  return Buffer.from(buffer, byteOffset + start, end - start)
}

/** Accepts the url-safe alphabet and missing padding. The runtime ignores invalid characters and excess bits, which re-encoding detects. */
function bytesOfBase64(text: string): Buffer | undefined {
  const standard = /[-_]/.test(text) ? text.replaceAll('-', '+').replaceAll('_', '/') : text
  const decoded = Buffer.from(standard, 'base64')
  const written = decoded.toString('base64')
  if (written === standard) return decoded
  const isWithoutPadding = !standard.endsWith('=') && written === standard.padEnd(written.length, '=')
  return isWithoutPadding ? decoded : undefined
}
