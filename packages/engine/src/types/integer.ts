/** The type integer: signed or unsigned, 8 to 64 bits, exact in both directions. */
import { readKeyInteger } from '../bytes/key-reader.ts'
import { readInt32, readUint32 } from '../bytes/read-number.ts'
import { writeIntegerAt } from '../bytes/write-number.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { IntegerSpec } from './type-spec.ts'

const bitsOf = { b8: 8, b16: 16, b32: 32, b64: 64 } as const

export const integer: LogicalType<IntegerSpec> = {
  logicalType: 'integer',
  fields: ['encoding', 'storage'],
  define(definition) {
    return {
      logicalType: 'integer',
      encoding: enumField(definition, 'encoding', ['signed', 'unsigned'], 'signed'),
      storage: enumField(definition, 'storage', ['b8', 'b16', 'b32', 'b64'], 'b32'),
    }
  },
  describe: (spec) => ({ ...spec }),
  codec: ({ encoding, storage }) =>
    storage === 'b64' ? wideCodec(encoding === 'signed') : narrowCodec(bitsOf[storage], encoding === 'signed'),
}

/** Up to 32 bits: JavaScript numbers. */
function narrowCodec(bits: 8 | 16 | 32, isSigned: boolean): Codec<number> {
  const width = bits / 8
  const min = isSigned ? -(2 ** (bits - 1)) : 0
  const max = isSigned ? 2 ** (bits - 1) - 1 : 2 ** bits - 1
  const read = narrowReader(bits, isSigned)
  return {
    fixedBytes: width,
    isNullable: true,
    defaultValue: 0,
    range: [min, max],
    parse(json) {
      if (typeof json === 'number' && Number.isInteger(json) && json >= min && json <= max) return json === 0 ? 0 : json
      const value = parseInteger(json)
      if (value < min || value > max) throw outOfRange(json, min, max, bits)
      return Number(value)
    },
    accept(input) {
      return this.parse(input)
    },
    write(value, to) {
      const at = to.reserve(width)
      writeIntegerAt(to.bytes, value, at, width)
    },
    read,
    writeJson: (bytes, start, _end, json) => json.integer(read(bytes, start)),
    toJson: (value) => value,
    key: {
      form: 'integer',
      write: (value, to) => to.integer(value),
      read: (key, at) => Number(readKeyInteger(key, at)),
    },
  }
}

/** One reader per width, since integers are the most frequent values in scans. */
function narrowReader(bits: 8 | 16 | 32, isSigned: boolean): (bytes: Uint8Array, start: number) => number {
  switch (bits) {
    case 8:
      return isSigned
        ? (bytes, start) => ((bytes[start] as number) << 24) >> 24
        : (bytes, start) => bytes[start] as number
    case 16:
      return isSigned
        ? (bytes, start) => (((bytes[start] as number) << 24) >> 16) | (bytes[start + 1] as number)
        : (bytes, start) => ((bytes[start] as number) << 8) | (bytes[start + 1] as number)
    case 32:
      return isSigned ? readInt32 : readUint32
  }
}

/** 64 bits: bigint, since a double cannot represent them. */
function wideCodec(isSigned: boolean): Codec<bigint> {
  const min = isSigned ? -(2n ** 63n) : 0n
  const max = isSigned ? 2n ** 63n - 1n : 2n ** 64n - 1n
  const read = (bytes: Uint8Array, start: number): bigint => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + start, 8)
    return isSigned ? buffer.readBigInt64BE(0) : buffer.readBigUInt64BE(0)
  }
  return {
    fixedBytes: 8,
    isNullable: true,
    defaultValue: 0n,
    range: [min, max],
    parse(json) {
      const value = parseInteger(json)
      if (value < min || value > max) throw outOfRange(json, min, max, 64)
      return value
    },
    accept(input) {
      return this.parse(input)
    },
    write(value, to) {
      const at = to.reserve(8)
      if (isSigned) to.bytes.writeBigInt64BE(value, at)
      else to.bytes.writeBigUInt64BE(value, at)
    },
    read,
    writeJson: (bytes, start, _end, json) => json.ascii(read(bytes, start).toString()),
    toJson: (value) => value,
    key: {
      form: 'integer',
      write: (value, to) => to.integer(value),
      read: (key, at) => BigInt(readKeyInteger(key, at)),
    },
  }
}

const digitsMax = 25

/** An integer, also as quoted digits. Throws ValueError. */
function parseInteger(json: unknown): bigint {
  if (typeof json === 'bigint') return json
  if (typeof json === 'number') {
    if (Number.isInteger(json)) return BigInt(json)
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not an integer`)
  }
  if (typeof json === 'symbol') throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not an integer`)
  if (typeof json === 'string' && /^-?\d+$/.test(json)) {
    if (json.length <= digitsMax) return BigInt(json)
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} has more digits than any integer type holds`)
  }
  throw new ValueError('MalformedValue', `${formatForMessage(json)} is not an integer`)
}

function outOfRange(json: unknown, min: number | bigint, max: number | bigint, bits: number): ValueError {
  const range = `between ${min} and ${max}, the range of the storage b${bits}`
  return new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not ${range}`)
}
