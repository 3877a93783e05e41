/**
 * What stands for a long text where a map is to find it. V8 takes the length of a text of more than 16,383 characters for its hash: a `Map` or `Set` of
 * such texts compares all of one length with each other, which takes seconds where they are thousands.
 */
import { createHash } from 'node:crypto'

const hashedCharactersMax = 16_383

/** Whether maps are to find it by its digest. */
export function isLongText(text: string): boolean {
  return text.length > hashedCharactersMax
}

/** The same for equal texts, and for no others. It has letters, digits, `+`, `/` and `=` only. */
export function textDigest(text: string): string {
  // UTF-8 has one form for all halves of surrogate pairs.
  return createHash('sha256').update(text, 'utf16le').digest('base64')
}
