/** The parts within the key of an index entry: where a text was cut, which is as far as the index orders. */
import { unreachable } from '../errors.ts'
import type { IndexKeyFormat } from './index-key.ts'
import { indexKeyHeaderBytes } from './index-key.ts'

const nullMarker = 0xfe
const cutEnd = 0x02
const nulEscape = 0xff

/** The length of the key up to and with its first cut text, or undefined where none is cut. */
export function cutPrefixLength({ parts }: IndexKeyFormat, key: Uint8Array): number | undefined {
  let at = indexKeyHeaderBytes
  for (const { format } of parts) {
    if (key[at] === nullMarker) {
      at++
      continue
    }
    const start = at + 1
    if (format.attribute.spec.logicalType !== 'string') {
      at = start + fixedBytes(format.attribute.spec.logicalType, key, start)
      continue
    }
    at = textEnd(key, start)
    if (key[at - 1] === cutEnd) return at
  }
  return undefined
}

/** After the two bytes that end a text. */
function textEnd(key: Uint8Array, start: number): number {
  let at = start
  while (at < key.length) {
    if (key[at] !== 0) at++
    else if (key[at + 1] === nulEscape) at += 2
    else return at + 2
  }
  unreachable('a text in an index key ends')
}

/** What follows the marker of a value that is no text. */
function fixedBytes(logicalType: string, key: Uint8Array, at: number): number {
  switch (logicalType) {
    case 'boolean':
      return 1
    case 'integer':
    case 'character':
      return 1 + Math.abs((key[at] as number) - 0x80)
    case 'guid':
      return 16
    default:
      return 8
  }
}
