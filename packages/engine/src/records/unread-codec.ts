/** A codec for values of deleted attributes, whose types may no longer exist. */
import { unreachable } from '../errors.ts'
import { codecFor } from '../types/index.ts'
import type { Codec, CodecContext } from '../types/logical-type.ts'
import type { TypeSpec } from '../types/type-spec.ts'

/** A codec that only determines the extent of a value that is no longer read. */
export function layoutCodec(spec: TypeSpec, context: CodecContext): Codec {
  const isEmbedding = spec.logicalType === 'object' || spec.logicalType === 'list'
  return isEmbedding ? unreadCodec : codecFor(spec, context)
}

const unread = (): never => {
  unreachable('a deleted attribute is not read')
}
const unreadCodec: Codec = {
  fixedBytes: undefined,
  isNullable: false,
  defaultValue: null,
  parse: unread,
  accept: unread,
  write: unread,
  read: unread,
  writeJson: unread,
  toJson: unread,
}
