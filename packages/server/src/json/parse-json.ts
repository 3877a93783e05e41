/** Parses request bodies as JSON, with exact integers of any size, and with limits checked before any value is created. */
import { type Awaitable, openTimeSlice } from '@ashlar/engine'
import type { Limits } from '../limits.ts'
import { type JsonLimits, JsonScan } from './json-scan.ts'
import { decode, parseExactly } from './parse-text.ts'

/** Bodies up to this size are scanned in one step. */
const smallBytes = 16_384
/** Bytes scanned before yielding: a fraction of a millisecond of work. */
const sliceBytes = 65_536

/**
 * Returns integers beyond 2^53 as bigint. Values are counted before any is created. A large body is scanned in slices, and the result is a promise:
 * `JSON.parse` then takes at most 50 ms for `objectValuesMax` values. `admit` is awaited before values are created. Throws MalformedRequest and
 * BodyTooLarge.
 */
export function parseJson(
  received: Uint8Array,
  limits: JsonLimits,
  admit?: (values: number) => Promise<void>,
): Awaitable<unknown> {
  // PowerShell and some editors begin a text with a byte order mark, which a parser may ignore (RFC 8259, 8.1).
  const body = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf ? received.subarray(3) : received
  const scan = new JsonScan(body, limits)
  if (body.length > smallBytes) return parseLarge(body, scan, admit)
  scan.advance(body.length)
  return parsedNow(body, scan)
}

function parsedNow(text: Uint8Array, { wideNumbers }: JsonScan): unknown {
  const steps = parseExactly(text, wideNumbers)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Decodes a text body without its byte order mark. Throws MalformedRequest. */
export function decodeText(body: Uint8Array): string {
  return decode(body).replace(/^\uFEFF/, '')
}

async function parseLarge(
  body: Uint8Array,
  scan: JsonScan,
  admit?: (values: number) => Promise<void>,
): Promise<unknown> {
  const slice = openTimeSlice()
  while (!scan.isAtEnd) {
    scan.advance(sliceBytes)
    await slice.yieldIfDue()
  }
  await admit?.(scan.valuesCount)
  const steps = parseExactly(body, scan.wideNumbers)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await slice.yieldIfDue()
  }
}

interface BodyForm {
  readonly bodyIsObject?: boolean | undefined
  readonly takesArray?: boolean | undefined
  readonly isQuery?: boolean | undefined
}

/** Transactions and arrays are parsed in a thread, and definitions of classes are rare: their limit is `bodyValuesMax`. */
export function jsonLimitsOf(limits: Limits, form: BodyForm, body: Uint8Array): JsonLimits {
  const { bodyIsObject, takesArray, isQuery } = form
  const boundsBy = (limit: 'bodyValuesMax' | 'objectValuesMax'): JsonLimits => {
    return { depthMax: limits.jsonDepthMax, valuesMax: limits[limit], valuesLimit: limit }
  }
  // A value takes at least one byte, so most bodies are too short to exceed a limit.
  const isLimited = bodyIsObject === true || isQuery === true
  if (!isLimited || body.length <= limits.objectValuesMax) return boundsBy('bodyValuesMax')
  const objectLimits = boundsBy('objectValuesMax')
  return takesArray === true ? { ...boundsBy('bodyValuesMax'), elementLimits: objectLimits } : objectLimits
}
