/** The type guid: sixteen bytes, 8-4-4-4-12 in lower case in JSON. */
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { GuidSpec } from './type-spec.ts'

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const width = 16

export const guid: LogicalType<GuidSpec> = {
  logicalType: 'guid',
  fields: [],
  define: () => ({ logicalType: 'guid' }),
  describe: () => ({ logicalType: 'guid' }),
  codec: () => codec,
}

const codec: Codec<string> = {
  fixedBytes: width,
  isNullable: true,
  defaultValue: null,
  parse(json) {
    if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string`)
    if (form.test(json)) return json.toLowerCase()
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not a GUID (8-4-4-4-12 hexadecimal digits)`)
  },
  accept(input) {
    return this.parse(input)
  },
  write: (value, to) => to.writeBytes(toBytes(value)),
  read,
  writeJson: (bytes, start, end, json) => json.ascii(`"${read(bytes, start, end)}"`),
  toJson: (value) => value,
  key: { form: 'sixteenBytes', write: (value, to) => to.fixed(toBytes(value)), read },
}

function toBytes(value: string): Buffer {
  return Buffer.from(value.replaceAll('-', ''), 'hex')
}

function read(bytes: Uint8Array, start: number, _end: number): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + start, width).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
