/** The type boolean: true or false, also as the strings "true" and "false". */
import { readKeyBoolean } from '../bytes/key-reader.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { BooleanSpec } from './type-spec.ts'

export const boolean: LogicalType<BooleanSpec> = {
  logicalType: 'boolean',
  fields: ['encoding', 'storage'],
  define(definition) {
    enumField(definition, 'encoding', ['binary'], 'binary')
    enumField(definition, 'storage', ['byte'], 'byte')
    return { logicalType: 'boolean' }
  },
  describe: () => ({ logicalType: 'boolean', encoding: 'binary', storage: 'byte' }),
  codec: () => codec,
}

const codec: Codec<boolean> = {
  fixedBytes: 1,
  isNullable: true,
  defaultValue: false,
  range: [false, true],
  parse(json) {
    if (json === true || json === 'true') return true
    if (json === false || json === 'false') return false
    throw new ValueError('MalformedValue', `${formatForMessage(json)} is not true or false`)
  },
  accept(input) {
    return this.parse(input)
  },
  write: (value, to) => to.writeByte(value ? 1 : 0),
  read: (bytes, start) => bytes[start] === 1,
  writeJson: (bytes, start, _end, json) => json.ascii(bytes[start] === 1 ? 'true' : 'false'),
  toJson: (value) => value,
  key: { form: 'oneByte', write: (value, to) => to.boolean(value), read: readKeyBoolean },
}
