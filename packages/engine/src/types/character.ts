/** The type character: one code point within the range of its storage. */
import { readKeyInteger } from '../bytes/key-reader.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { CharacterSpec } from './type-spec.ts'

const codePointMax = { b8: 0xff, b16: 0xffff, b32: 0x10_ffff } as const

export const character: LogicalType<CharacterSpec> = {
  logicalType: 'character',
  fields: ['encoding', 'storage'],
  define(definition) {
    enumField(definition, 'encoding', ['binary'], 'binary')
    return { logicalType: 'character', storage: enumField(definition, 'storage', ['b8', 'b16', 'b32'], 'b32') }
  },
  describe: ({ storage }) => ({ logicalType: 'character', encoding: 'binary', storage }),
  codec: ({ storage }) => codecOfRange(codePointMax[storage]),
}

function codecOfRange(max: number): Codec<string> {
  return {
    fixedBytes: 4,
    isNullable: true,
    defaultValue: null,
    range: ['\0', String.fromCodePoint(max)],
    parse(json) {
      if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string`)
      const point = json.codePointAt(0)
      if (point === undefined || String.fromCodePoint(point) !== json || (point >= 0xd800 && point <= 0xdfff)) {
        throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not a single character`)
      }
      if (point <= max) return json
      throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is beyond U+${max.toString(16).toUpperCase()}`)
    },
    accept(input) {
      return this.parse(input)
    },
    write: (value, to) => to.writeUint32(value.codePointAt(0) as number),
    read,
    writeJson: (bytes, start, end, json) => json.string(read(bytes, start, end)),
    toJson: (value) => value,
    key: {
      form: 'integer',
      write: (value, to) => to.integer(value.codePointAt(0) as number),
      read: (key, at) => String.fromCodePoint(Number(readKeyInteger(key, at))),
    },
  }
}

function read(bytes: Uint8Array, start: number, _end: number): string {
  return String.fromCodePoint(readUint32(bytes, start))
}
