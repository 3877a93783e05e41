/** Equality of values of one attribute. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { KeyWriter } from '../bytes/key-writer.ts'
import type { Codec, KeyCodec } from '../types/logical-type.ts'

export function encodeValue(codec: Codec, value: unknown): Buffer {
  const writer = new ByteWriter(64)
  codec.write(value, writer)
  return writer.copy()
}

/** True if an index would not distinguish the two; types without a key form are compared in stored form. */
export function isSameValue(codec: Codec, one: unknown, other: unknown): boolean {
  if (one === other) return true
  // Values represented as strings in memory have a unique form.
  if (one === null || other === null || one === undefined || other === undefined || typeof one === 'string')
    return false
  const { key } = codec
  if (key === undefined) return encodeValue(codec, one).equals(encodeValue(codec, other))
  return keyOf(key, one).equals(keyOf(key, other))
}

function keyOf(codec: KeyCodec, value: unknown): Buffer {
  const writer = new KeyWriter()
  codec.write(value, writer)
  return writer.to.copy()
}
