/** The parts within the key of an index entry: where a text was cut, which is as far as the index orders. */
import { readKeyPart } from '../bytes/key-writer.ts'
import { type IndexKeyFormat, indexKeyHeaderBytes, keyCodecOf } from './index-key.ts'

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
