/** Verifies a leaf page: bounds of nodes, checksums and key order. */
import { nodeHeaderBytes, pageHeaderBytes } from './data-file.ts'
import { checksumBytes, checksumWithin } from './entry-checksum.ts'

/** Also false if a value is on overflow pages. `count`: number of nodes; their offsets must be within the page. */
export function isValidLeaf(view: DataView, bytes: Uint8Array, pageBytes: number, count: number): boolean {
  let before = 0
  let beforeEnd = 0
  for (let nth = 0; nth < count; nth++) {
    const at = pageHeaderBytes + view.getUint16(pageHeaderBytes + 2 * nth, true)
    if (at + nodeHeaderBytes > pageBytes || view.getUint16(at + 4, true) !== 0) return false
    const keyAt = at + nodeHeaderBytes
    const keyEnd = keyAt + view.getUint16(at + 6, true)
    const sumAt = keyEnd + view.getUint32(at, true) - checksumBytes
    if (keyEnd === keyAt || sumAt < keyEnd || sumAt + checksumBytes > pageBytes) return false
    if (checksumWithin(view, keyAt, sumAt) !== view.getInt32(sumAt)) return false
    if (!isBehind(bytes, keyAt, keyEnd, before, beforeEnd)) return false
    before = keyAt
    beforeEnd = keyEnd
  }
  return true
}

/** Whether a key is greater than another; an empty key precedes all. */
export function isBehind(bytes: Uint8Array, from: number, end: number, before: number, beforeEnd: number): boolean {
  const length = end - from
  const lengthBefore = beforeEnd - before
  const least = Math.min(length, lengthBefore)
  for (let i = 0; i < least; i++) {
    const difference = (bytes[from + i] as number) - (bytes[before + i] as number)
    if (difference !== 0) return difference > 0
  }
  return length > lengthBefore
}
