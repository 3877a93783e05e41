/** The entries of a map: key → target, in key order. Part of the storage format. */
import { createHash } from 'node:crypto'
import { ByteWriter } from '../bytes/byte-writer.ts'
import { KeyWriter } from '../bytes/key-writer.ts'
import { assert, unreachable } from '../errors.ts'
import { keyBytesMax, keyDigestBytes } from '../limits.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { linkHeaderBytes, nameKey } from '../records/link-keys.ts'
import { sortInPieces } from '../store/sort-in-pieces.ts'
import type { Entry } from '../store/store.ts'
import { atOnce } from '../store/time-slice.ts'
import { PieceCount } from '../types/element-bytes.ts'
import { codecFor } from '../types/index.ts'
import type { Codec, CodecContext, Pieces } from '../types/logical-type.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'

const oidLength = 8
const keyCodecs = new WeakMap<AttributeFormat, Codec>()

/** Map keys are texts or references: nothing that embeds, so no context is needed. */
const noContext: CodecContext = {
  embedded: () => {
    unreachable('a map key is no embedded object')
  },
}

export function mapKeyCodec(attribute: AttributeFormat): Codec {
  const { spec } = attribute.attribute
  assert(spec.logicalType === 'map', 'only maps have keys')
  let codec = keyCodecs.get(attribute)
  if (codec === undefined) {
    codec = codecFor(spec.key, noContext)
    keyCodecs.set(attribute, codec)
  }
  return codec
}

/** The key of a map's entry: in key order up to where a long text is cut, exact by a digest of the whole. */
export function mapEntryKey(owner: Oid, attribute: AttributeFormat, key: unknown): Buffer {
  const codec = mapKeyCodec(attribute)
  const writer = new KeyWriter()
  writer.textBytesMax = keyBytesMax - linkHeaderBytes - keyDigestBytes
  writeOrdered(codec, key, writer)
  const name = writer.to.copy()
  if (!writer.isTruncated) return nameKey(owner, attribute.attribute.number, name)
  const digest = createHash('sha256').update(encodeKey(codec, key)).digest().subarray(0, keyDigestBytes)
  return nameKey(owner, attribute.attribute.number, Buffer.concat([name, digest]))
}

/** The target, and the key in full, since the entry's own key may be cut. */
export function mapEntryValue(attribute: AttributeFormat, key: unknown, target: Oid): Buffer {
  return Buffer.concat([oidBytes(target), encodeKey(mapKeyCodec(attribute), key)])
}

/** The key in full. */
export function keyOfMapEntry(codec: Codec, { value }: Entry): unknown {
  return codec.read(value, oidLength, value.length)
}

export interface MapEntry {
  readonly target: Oid
  readonly key: unknown
}

/** The pairs in key order. */
export function readMapEntries(attribute: AttributeFormat, entries: readonly Entry[]): MapEntry[] {
  return atOnce(readMapEntriesInPieces(attribute, entries))
}

/** The same in pieces. */
export function* readMapEntriesInPieces(attribute: AttributeFormat, entries: readonly Entry[]): Pieces<MapEntry[]> {
  const codec = mapKeyCodec(attribute)
  const pairs: MapEntry[] = []
  const pieces = new PieceCount()
  let mayBeTruncated = false
  let bytes = 0
  for (const entry of entries) {
    pairs.push({ target: oidFromBytes(entry.value, 0), key: keyOfMapEntry(codec, entry) })
    mayBeTruncated ||= entry.key.length >= keyBytesMax - keyDigestBytes
    bytes += entry.value.length
    if (pieces.isOverAt(bytes)) yield
  }
  if (!mayBeTruncated) return pairs
  return yield* sortInPieces(pairs, (one, other) => compareKeys(codec, one.key, other.key), orderBytes)
}

/** Both keys are written anew for each comparison, which takes longer than to compare them. */
const bytesPerCharacter = 16

function orderBytes({ key }: MapEntry): number {
  return typeof key === 'string' ? key.length * bytesPerCharacter : 0
}

function compareKeys(codec: Codec, one: unknown, other: unknown): number {
  return Buffer.compare(orderOf(codec, one), orderOf(codec, other))
}

function orderOf(codec: Codec, key: unknown): Buffer {
  const writer = new KeyWriter()
  writeOrdered(codec, key, writer)
  return writer.to.copy()
}

function writeOrdered(codec: Codec, key: unknown, to: KeyWriter): void {
  assert(codec.key !== undefined, 'the key of a map can be ordered')
  codec.key.write(key, to)
}

function encodeKey(codec: Codec, key: unknown): Buffer {
  const writer = new ByteWriter(64)
  codec.write(key, writer)
  return writer.copy()
}
