/** The type json: any JSON value, stored as text that keeps member order and digits. */
import { JsonValue, jsonTextOf } from './json-value.ts'
import type { Codec, LogicalType } from './logical-type.ts'
import type { JsonSpec } from './type-spec.ts'

export const json: LogicalType<JsonSpec> = {
  logicalType: 'json',
  fields: [],
  define: () => ({ logicalType: 'json' }),
  describe: () => ({ logicalType: 'json' }),
  codec: () => codec,
}

/** In memory and in records: the text without white space. It cannot be a key, since equal values may have different texts. */
const codec: Codec<string> = {
  fixedBytes: undefined,
  isNullable: true,
  defaultValue: null,
  parse: (input) => (input instanceof JsonValue ? input.text : jsonTextOf(input)),
  accept: (input) => input as string,
  write(value, to) {
    const at = to.reserve(Buffer.byteLength(value))
    to.bytes.write(value, at)
  },
  read: (bytes, start, end) => Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'),
  writeJson: (bytes, start, end, to) => to.raw(bytes.subarray(start, end)),
  toJson: (value) => new JsonValue(value),
}
