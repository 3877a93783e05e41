/** Locates the parts within an index key, and truncated texts, up to which the index is ordered. */
import { readKeyPart } from '../bytes/key-writer.ts'
import { type IndexKeyFormat, indexKeyHeaderBytes, type KeyBeginning, keyCodecOf } from './index-key.ts'

/** The length of the key including its first truncated text; undefined if none is truncated. */
export function truncatedPrefixLength({ parts }: IndexKeyFormat, key: Uint8Array): number | undefined {
  let at = indexKeyHeaderBytes
  for (const part of parts) {
    const { end, isTruncated } = readKeyPart(key, at, keyCodecOf(part).form)
    if (isTruncated) return end
    at = end
  }
  return undefined
}

/** The length of the key including `count` parts, or its first truncated text if that comes earlier. */
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

/** The prefix shared by all entries with the same first parts, including truncated texts. */
export function beginningOf({ parts }: IndexKeyFormat, key: Uint8Array, count: number): KeyBeginning {
  let at = indexKeyHeaderBytes
  for (const part of parts.slice(0, count)) at = readKeyPart(key, at, keyCodecOf(part).form).end
  return { key: key.subarray(0, at), parts: count }
}
