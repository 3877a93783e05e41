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
