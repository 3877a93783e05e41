/**
 * Digests of long texts, as keys of maps. V8 hashes texts of more than 16,383 characters by their length: a `Map` or `Set` then compares all texts
 * of equal length, which takes seconds for thousands of them.
 */
import { createHash } from 'node:crypto'

const hashedCharactersMax = 16_383

export function isLongText(text: string): boolean {
  return text.length > hashedCharactersMax
}

/** Equal exactly for equal texts. Consists of letters, digits, `+`, `/` and `=`. */
export function textDigest(text: string): string {
  // UTF-16, since UTF-8 encodes all lone surrogates alike.
  return createHash('sha256').update(text, 'utf16le').digest('base64')
}
