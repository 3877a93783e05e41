/** Bytes in queries: compared bytewise, base64 in texts. */
import { apart, codecOf, comparePlain, type ScalarDefinition, sameKind } from './scalar-kind.ts'

const codec = codecOf({ logicalType: 'bytes' })

export const bytesScalar: ScalarDefinition = {
  ...apart,
  codec,
  words: ['bytes'],
  isLong: true,
  commonWith: sameKind,
  compareWith: { bytes: comparePlain },
  fromText: (text) => codec.parse(text),
  toText: (value) => codec.toJson(value) as string,
  toJson: codec.toJson,
  writeJson: (json, value) => json.base64(Buffer.from(value as string, 'latin1')),
  writeKey: (value, writer) => codec.key.write(value, writer),
}
