/** The parts within the key of an index entry: where a text was cut, which is as far as the index orders. */
import { readKeyPart } from '../bytes/key-writer.ts'
import { type IndexKeyFormat, indexKeyHeaderBytes, type KeyBeginning, keyCodecOf } from './index-key.ts'

/** The length of the key up to and with its first cut text, or undefined where none is cut. */
export function truncatedPrefixLength({ parts }: IndexKeyFormat, key: Uint8Array): number | undefined {
  let at = indexKeyHeaderBytes
  for (const part of parts) {
    const { end, isTruncated } = readKeyPart(key, at, keyCodecOf(part).form)
    if (isTruncated) return end
    at = end
  }
  return undefined
}

/** The length of the key up to and with so many of its parts, or with its first cut text where that is before. */
export function partsPrefixLength({ parts }: IndexKeyFormat, key: Uint8Array, count: number): number {
  let at = indexKeyHeaderBytes
  for (let i = 0; i < count; i++) {
    const part = parts[i]
    if (part === undefined) break
    const { end, isTruncated } = readKeyPart(key, at, keyCodecOf(part).form)
    at = end
    if (isTruncated) break
  }
  return at
}

/** What the entry's key has in common with all that have the same first parts, cut texts included. */
export function beginningOf({ parts }: IndexKeyFormat, key: Uint8Array, count: number): KeyBeginning {
  let at = indexKeyHeaderBytes
  for (const part of parts.slice(0, count)) at = readKeyPart(key, at, keyCodecOf(part).form).end
  return { key: key.subarray(0, at), parts: count }
}
