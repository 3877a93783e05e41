/** Parses request bodies as JSON: exact for integers of any size, bounded in depth and values, large bodies piece by piece. */
import { type Awaitable, openTimeSlice } from '@ashlar/engine'
import type { Limits } from '../limits.ts'
import {
  backslash,
  closeBrace,
  closeBracket,
  JsonLayout,
  type JsonLimits,
  nine,
  openBrace,
  openBracket,
  type PieceSizes,
  quote,
  tooDeep,
  zero,
} from './json-layout.ts'
import { LargeBody } from './large-body.ts'
import { decode, parseText } from './parse-text.ts'

/** How a body is divided; other sizes are for tests. */
export interface JsonSizes {
  /** A body that is no longer is parsed at once. */
  readonly smallBytes: number
  /** Bytes scanned before yielding: a fraction of a millisecond of work. */
  readonly sliceBytes: number
  /** About a millisecond of work, or ten where numbers have many digits. */
  readonly pieces: PieceSizes
}

const usualSizes: JsonSizes = {
  smallBytes: 16_384,
  sliceBytes: 65_536,
  pieces: { valuesMax: 5_000, bytesMax: 131_072, textBytesMax: 262_144 },
}

/**
 * Returns integers beyond 2^53 as bigint. Values are counted before any is created; for a large body, other work runs in between, and the result is a
 * promise. `admit` is awaited before values are created. Throws MalformedRequest and BodyTooLarge.
 */
export function parseJson(
  given: Uint8Array,
  limits: JsonLimits,
  sizes: JsonSizes = usualSizes,
  admit?: (values: number) => Promise<void>,
): Awaitable<unknown> {
  // PowerShell and some editors begin a text with a byte order mark, which a parser may ignore (RFC 8259, 8.1).
  const body = given[0] === 0xef && given[1] === 0xbb && given[2] === 0xbf ? given.subarray(3) : given
  // Each value takes a byte.
  const valuesMax = limits.ofObjects?.valuesMax ?? limits.valuesMax
  if (body.length > Math.min(sizes.smallBytes, valuesMax, limits.valuesMax))
    return parseLarge(body, limits, sizes, admit)
  const text = decode(body)
  return parseText(text, checkDepth(text, limits.depthMax))
}

/** A body that is text: a byte order mark is no part of it. Throws MalformedRequest. */
export function decodeText(body: Uint8Array): string {
  return decode(body).replace(/^\uFEFF/, '')
}

async function parseLarge(
  body: Uint8Array,
  limits: JsonLimits,
  sizes: JsonSizes,
  admit?: (values: number) => Promise<void>,
): Promise<unknown> {
  const { sliceBytes, pieces } = sizes
  const slice = openTimeSlice()
  const layout = new JsonLayout(limits, pieces)
  for (let at = 0; at < body.length; at += sliceBytes) {
    layout.scan(body, at, Math.min(at + sliceBytes, body.length))
    await slice.yieldIfDue()
  }
  layout.end()
  await admit?.(layout.valuesCount)
  return new LargeBody(body, layout, pieces.textBytesMax, slice).read()
}

/** Before parsing, so that no depth of a hostile body is ever walked by recursion. Whether there may be numbers: a digit that is not within a text. */
function checkDepth(text: string, depthMax: number): boolean {
  let depth = 0
  let hasDigits = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) i = endOfString(text, i)
    else if (code === openBrace || code === openBracket) {
      if (++depth > depthMax) throw tooDeep(depthMax)
    } else if (code === closeBrace || code === closeBracket) depth--
    else if (code >= zero && code <= nine) hasDigits = true
  }
  return hasDigits
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === backslash) i++
    else if (code === quote) return i
  }
  return text.length
}

interface BodyForm {
  readonly bodyIsObject?: boolean | undefined
  readonly takesArray?: boolean | undefined
}

export function jsonLimitsOf(limits: Limits, { bodyIsObject, takesArray }: BodyForm, body: Uint8Array): JsonLimits {
  const boundsBy = (limit: 'bodyValuesMax' | 'objectValuesMax'): JsonLimits => {
    return { depthMax: limits.jsonDepthMax, valuesMax: limits[limit], valuesLimit: limit }
  }
  // Each value takes a byte: most bodies are too short for a look at what they are.
  if (bodyIsObject !== true || body.length <= limits.objectValuesMax) return boundsBy('bodyValuesMax')
  const ofObject = boundsBy('objectValuesMax')
  return takesArray === true ? { ...boundsBy('bodyValuesMax'), ofObjects: ofObject } : ofObject
}
