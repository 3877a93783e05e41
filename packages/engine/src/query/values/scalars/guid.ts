/** GUIDs in queries: texts in canonical form, compared as texts. */
import { apart, codecOf, comparePlain, type ScalarDefinition, sameKind } from './scalar-kind.ts'

const codec = codecOf({ logicalType: 'guid' })

export const guidScalar: ScalarDefinition = {
  ...apart,
  codec,
  words: ['guid'],
  isLong: false,
  commonWith: sameKind,
  compareWith: { guid: comparePlain },
  fromText: (text) => codec.parse(text),
  toText: (value) => value as string,
  toJson: (value) => value,
  writeJson: (json, value) => json.string(value as string),
  writeKey: (value, writer) => codec.key.write(value, writer),
}
