/** JSON that is parsed at once. */
import { isAscii } from 'node:buffer'
import { parse as parseLossless } from 'lossless-json'
import { beyondDouble, exactNumber } from './exact-number.ts'
import { malformed } from './json-layout.ts'

/** A byte order mark is kept, and refused: one at the beginning of a body is removed before. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Throws MalformedRequest. */
export function decode(body: Uint8Array): string {
  // Most bodies; the decoder takes fifty times as long.
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1')
  try {
    return decoder.decode(body)
  } catch {
    throw malformed('The body is not UTF-8.')
  }
}

/** `mayHaveWide`: false where a scan has shown that a double holds all numbers, or that there are none; else the text is looked at. Throws MalformedRequest. */
export function parseText(text: string, mayHaveWide: boolean): unknown {
  try {
    return mayHaveWide && beyondDouble.test(text) ? parseExactly(text) : JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const hint = message.startsWith('Bad control character') ? ' Within a string, a line break is written \\n.' : ''
    throw malformed(`The body is not JSON: ${message.slice(0, 200)}.${hint}`)
  }
}

function parseExactly(text: string): unknown {
  // Checked first, since the exact parser accepts a little more than JSON.
  JSON.parse(text)
  return parseLossless(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue })
}
