/** Request bodies as JSON: exact for integers of any size, bounded in depth and values, large ones piece by piece. */
import { type Awaitable, openTimeSlice } from '@ashlar/engine'
import { parse as parseLossless } from 'lossless-json'
import { beyondDouble, exactNumber } from './exact-number.ts'
import {
  backslash,
  closeBrace,
  closeBracket,
  JsonLayout,
  type JsonLimits,
  type LargeContainer,
  malformed,
  openBrace,
  openBracket,
  type Piece,
  type PieceSizes,
  quote,
  tooDeep,
} from './json-layout.ts'

/** A byte order mark is kept, and refused: JSON has none. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** How a body is divided; other sizes are for tests. */
export interface JsonSizes {
  /** A body that is no longer is parsed at once. */
  readonly smallBytes: number
  /** What is scanned before others may have their turn: a fraction of a millisecond of work. */
  readonly sliceBytes: number
  /** About a millisecond of work, or ten where numbers have many digits. */
  readonly pieces: PieceSizes
}

const usualSizes: JsonSizes = {
  smallBytes: 16_384,
  sliceBytes: 65_536,
  pieces: { valuesMax: 5_000, bytesMax: 131_072 },
}

/**
 * Integers beyond 2^53 come as bigint. Values are counted before anything is built of them; where there are many, others have their
 * turn in between, and the value comes later. `admit` is waited for before they are built. Throws MalformedRequest and BodyTooLarge.
 */
export function parseJson(
  body: Uint8Array,
  limits: JsonLimits,
  sizes: JsonSizes = usualSizes,
  admit?: (values: number) => Promise<void>,
): Awaitable<unknown> {
  // Each value takes a byte.
  const valuesMax = limits.ofObjects?.valuesMax ?? limits.valuesMax
  if (body.length > Math.min(sizes.smallBytes, valuesMax, limits.valuesMax))
    return parseLarge(body, limits, sizes, admit)
  const text = decode(body)
  checkDepth(text, limits.depthMax)
  return parseText(text, true)
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
  const { root } = layout
  if (root === undefined) return parseText(decode(body), layout.hasWideNumbers)
  checkBlank(body, 0, root.from)
  checkBlank(body, root.to, body.length)
  return build(body, root, () => slice.yieldIfDue())
}

/** Recurses as deep as the limit of levels. */
async function build(
  body: Uint8Array,
  container: LargeContainer,
  yieldIfDue: () => Promise<void> | undefined,
): Promise<unknown> {
  const { isArray, pieces } = container
  const elements: unknown[] = []
  const fields: Record<string, unknown> = {}
  for (const piece of pieces) {
    if (piece.kind === 'elements') {
      const part = parseElements(body, piece, isArray)
      if (Array.isArray(part)) for (const element of part) elements.push(element)
      else for (const [name, value] of Object.entries(part)) setField(fields, name, value)
    } else if (piece.kind === 'child') {
      const name = isArray ? checkBlank(body, piece.from, piece.to) : nameBefore(body, piece)
      const child = await build(body, piece.child, yieldIfDue)
      if (name === undefined) elements.push(child)
      else setField(fields, name, child)
    } else checkBlank(body, piece.from, piece.to)
    await yieldIfDue()
  }
  return isArray ? elements : fields
}

/** Like any other name: an assignment would take this one for the prototype. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
  else fields[name] = value
}

type Elements = Extract<Piece, { readonly kind: 'elements' }>

/** One element at least. */
function parseElements(body: Uint8Array, piece: Elements, isArray: boolean): readonly unknown[] | object {
  const { from, to, hasWideNumbers } = piece
  const text = decode(body.subarray(from, to))
  const part = parsePart(isArray ? `[${text}]` : `{${text}}`, from, to, hasWideNumbers)
  if (Object.keys(part).length === 0) throw malformedBetween(from, to)
  return part
}

/** Of `"name":`, before the opening bracket of the value. */
function nameBefore(body: Uint8Array, { from, to }: Piece): string {
  const part = parsePart(`{${decode(body.subarray(from, to))}[]}`, from, to, false)
  const [name] = Object.keys(part)
  if (name === undefined) throw malformedBetween(from, to)
  return name
}

function parsePart(text: string, from: number, to: number, hasWideNumbers: boolean): object {
  try {
    return parseAny(text, hasWideNumbers) as object
  } catch {
    throw malformedBetween(from, to)
  }
}

function malformedBetween(from: number, to: number): Error {
  return malformed(`The body is not JSON: it is not well formed between byte ${from} and byte ${to}.`)
}

const blank = /^[ \t\n\r]*$/

function checkBlank(body: Uint8Array, from: number, to: number): undefined {
  if (!blank.test(decode(body.subarray(from, to)))) throw malformedBetween(from, to)
}

function decode(body: Uint8Array): string {
  try {
    return decoder.decode(body)
  } catch {
    throw malformed('The body is not UTF-8.')
  }
}

function parseText(text: string, hasWideNumbers: boolean): unknown {
  try {
    return parseAny(text, hasWideNumbers)
  } catch (error) {
    throw malformed(`The body is not JSON: ${(error as Error).message.slice(0, 200)}.`)
  }
}

/** `hasWideNumbers`: false where a scan has shown that a double holds all numbers; else the text is looked at. */
function parseAny(text: string, hasWideNumbers: boolean): unknown {
  return hasWideNumbers && beyondDouble.test(text) ? parseExactly(text) : JSON.parse(text)
}

function parseExactly(text: string): unknown {
  // Checked first, since the exact parser accepts a little more than JSON.
  JSON.parse(text)
  return parseLossless(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue })
}

/** Before parsing, so that no depth of a hostile body is ever walked by recursion. */
function checkDepth(text: string, depthMax: number): void {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) i = endOfString(text, i)
    else if (code === openBrace || code === openBracket) {
      if (++depth > depthMax) throw tooDeep(depthMax)
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
