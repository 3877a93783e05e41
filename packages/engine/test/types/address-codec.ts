/** Objects of the embeddable class Fleet.Address, `{"street":…,"number":…}`: what a list or attribute embeds here. */
import type { ByteWriter } from '../../src/bytes/byte-writer.ts'
import type { JsonWriter } from '../../src/bytes/json-writer.ts'
import { readUint32 } from '../../src/bytes/read-number.ts'
import { type Codec, formatForMessage, ValueError } from '../../src/types/logical-type.ts'

export interface Address {
  readonly street: string
  readonly number: number
}

const numberBytes = 4

/** Stored as the number, then the street. */
export const addressCodec: Codec = {
  fixedBytes: undefined,
  isNullable: false,
  defaultValue: { street: '', number: 0 },
  parse(json) {
    const { street, number } = Object(json) as Partial<Address>
    if (typeof street === 'string' && Number.isInteger(number)) return { street, number }
    throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an address`)
  },
  accept: (given) => given,
  write(value: unknown, to: ByteWriter) {
    const { street, number } = value as Address
    to.writeUint32(number)
    to.writeBytes(Buffer.from(street))
  },
  read,
  writeJson(bytes: Uint8Array, start: number, end: number, json: JsonWriter) {
    const { street, number } = read(bytes, start, end)
    json.raw(Buffer.from(JSON.stringify({ street, number })))
  },
  toJson: (value) => value,
}

function read(bytes: Uint8Array, start: number, end: number): Address {
  const street = Buffer.from(bytes)
    .subarray(start + numberBytes, end)
    .toString('utf8')
  return { street, number: readUint32(bytes, start) }
}
