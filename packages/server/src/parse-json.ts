/** Request bodies as JSON: exact for integers of any size, bounded in depth. */
import { AshlarError } from '@ashlar/engine'
import { parse as parseLossless } from 'lossless-json'
import { beyondDouble, exactNumber } from './exact-number.ts'

/** A byte order mark is kept, and refused: JSON has none. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Integers beyond 2^53 come as bigint. Throws MalformedRequest. */
export function parseJson(body: Uint8Array, depthMax: number): unknown {
  const text = decode(body)
  checkDepth(text, depthMax)
  try {
    return beyondDouble.test(text) ? parseExactly(text) : JSON.parse(text)
  } catch (error) {
    throw malformed(`The body is not JSON: ${(error as Error).message.slice(0, 200)}.`)
  }
}

/** A body that is text: a byte order mark is no part of it. Throws MalformedRequest. */
export function decodeText(body: Uint8Array): string {
  return decode(body).replace(/^\uFEFF/, '')
}

function decode(body: Uint8Array): string {
  try {
    return decoder.decode(body)
  } catch {
    throw malformed('The body is not UTF-8.')
  }
}

function parseExactly(text: string): unknown {
  // Checked first, since the exact parser accepts a little more than JSON.
  JSON.parse(text)
  return parseLossless(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue })
}

const openBrace = 0x7b
const openBracket = 0x5b
const closeBrace = 0x7d
const closeBracket = 0x5d
const quote = 0x22
const backslash = 0x5c

/** Before parsing, so that no depth of a hostile body is ever walked by recursion. */
function checkDepth(text: string, depthMax: number): void {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) i = endOfString(text, i)
    else if (code === openBrace || code === openBracket) {
      if (++depth > depthMax) throw malformed(`The body is nested deeper than ${depthMax} levels.`)
    } else if (code === closeBrace || code === closeBracket) depth--
  }
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === backslash) i++
    else if (code === quote) return i
  }
  return text.length
}

function malformed(message: string): AshlarError {
  return new AshlarError('MalformedRequest', message)
}
