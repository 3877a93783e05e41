/** The entries of a map (key → target) in key order. Part of the storage format. */
import { createHash } from 'node:crypto'
import { ByteWriter } from '../bytes/byte-writer.ts'
import { KeyWriter } from '../bytes/key-writer.ts'
import { assert, unreachable } from '../errors.ts'
import { keyBytesMax, keyDigestBytes } from '../limits.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { linkHeaderBytes, nameKey } from '../records/link-keys.ts'
import type { Entry } from '../store/store.ts'
import { codecFor } from '../types/index.ts'
import { inTextOrder } from '../types/key-order.ts'
import type { Codec, CodecContext } from '../types/logical-type.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'

const oidLength = 8
const keyCodecs = new WeakMap<AttributeFormat, Codec>()

/** Map keys are strings or references and embed nothing, so they need no context. */
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

/** The key of a map entry. It sorts in key order up to where a long string is cut; a digest of the full key makes it exact. */
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

/** The target, followed by the full key, since the entry's own key may be cut. */
export function mapEntryValue(attribute: AttributeFormat, key: unknown, target: Oid): Buffer {
  return Buffer.concat([oidBytes(target), encodeKey(mapKeyCodec(attribute), key)])
}

export function keyOfMapEntry(codec: Codec, { value }: Entry): unknown {
  return codec.read(value, oidLength, value.length)
}

export interface MapEntry {
  readonly target: Oid
  readonly key: unknown
}

export function readMapEntries(attribute: AttributeFormat, entries: readonly Entry[]): MapEntry[] {
  const codec = mapKeyCodec(attribute)
  return inKeyOrder(codec, entries).map((entry) => readMapEntry(codec, entry))
}

export function readMapEntry(codec: Codec, entry: Entry): MapEntry {
  return { target: oidFromBytes(entry.value, 0), key: keyOfMapEntry(codec, entry) }
}

/** Entries sort by key only up to where keys are cut, so entries with cut keys are sorted again. */
export function inKeyOrder(codec: Codec, entries: readonly Entry[]): readonly Entry[] {
  const mayBeCut = entries.some(({ key }) => key.length >= keyBytesMax - keyDigestBytes)
  return mayBeCut ? inTextOrder(entries, (entry) => keyOfMapEntry(codec, entry) as string) : entries
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
