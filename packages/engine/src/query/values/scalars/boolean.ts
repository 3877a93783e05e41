/** Booleans in queries: false sorts before true; CAST converts from texts and integers. */
import { ValueError } from '../../../types/logical-type.ts'
import type { Integer } from '../whole-number.ts'
import { apart, codecOf, comparePlain, type ScalarDefinition, sameKind } from './scalar-kind.ts'

const codec = codecOf({ logicalType: 'boolean' })

export const booleanScalar: ScalarDefinition = {
  ...apart,
  codec,
  words: ['boolean'],
  isLong: false,
  commonWith: sameKind,
  compareWith: { boolean: comparePlain },
  fromText(text) {
    if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
    throw new ValueError('ValueNotAllowed', `'${text.slice(0, 60)}' is neither true nor false`)
  },
  toText: String,
  castFrom: { integer: (value) => Number(value as Integer) !== 0 },
  castTo: { integer: (value) => (value === true ? 1 : 0) },
  toJson: (value) => value,
  writeJson: (json, value) => json.ascii(value === true ? 'true' : 'false'),
  writeKey: (value, writer) => codec.key.write(value, writer),
}
