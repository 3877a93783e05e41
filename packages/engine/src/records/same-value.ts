/** Equality of values of one attribute. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { KeyWriter } from '../bytes/key-writer.ts'
import type { Codec, KeyCodec, Pieces } from '../types/logical-type.ts'

export function encodeValue(codec: Codec, value: unknown): Buffer {
  const writer = new ByteWriter(64)
  codec.write(value, writer)
  return writer.copy()
}

/** True where an index would not tell the two apart; types without a key form compare by what is stored. */
export function isSameValue(codec: Codec, one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (one === null || other === null) return false
  const { key } = codec
  if (key === undefined) return encodeValue(codec, one).equals(encodeValue(codec, other))
  return keyOf(key, one).equals(keyOf(key, other))
}

/** The same for values that may be long. */
export function* isSameInPieces(codec: Codec, one: unknown, other: unknown): Pieces<boolean> {
  if (one === other) return true
  if (one === null || other === null || typeof one === 'string') return false
  const { inPieces } = codec
  if (inPieces === undefined || !(inPieces.isLong(one) || inPieces.isLong(other))) return isSameValue(codec, one, other)
  const [left, right] = [new ByteWriter(64), new ByteWriter(64)]
  yield* inPieces.write(one, left)
  yield* inPieces.write(other, right)
  return left.written().equals(right.written())
}

function keyOf(codec: KeyCodec, value: unknown): Buffer {
  const writer = new KeyWriter()
  codec.write(value, writer)
  return writer.to.copy()
}
