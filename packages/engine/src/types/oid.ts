/** Object identifiers: `<database>-<container>-<page>-<slot>` as text, eight bytes in storage. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { AshlarError } from '../errors.ts'
import { containerMax } from '../limits.ts'

/** The canonical text: decimal numbers without leading zeros. */
export type Oid = string & { readonly brand: 'Oid' }

/** The null reference; never an object. */
export const noOid = '0-0-0-0' as Oid
export const oidLength = 8

const partMax = 65_535
const dash = 0x2d
const zero = 0x30
const quote = 0x22

/** Undefined if the text is not an OID (contract 4.1.11). */
export function parseOid(text: string): Oid | undefined {
  let parts = 1
  let part = 0
  let digits = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === dash) {
      if (digits === 0 || (parts === 2 && part > containerMax) || ++parts > 4) return undefined
      part = 0
      digits = 0
      continue
    }
    const digit = code - zero
    if (digit < 0 || digit > 9 || (digits > 0 && part === 0)) return undefined
    part = part * 10 + digit
    digits++
    if (part > partMax) return undefined
  }
  return parts === 4 && digits > 0 ? (text as Oid) : undefined
}

/** Throws MalformedOid. */
export function checkedOid(text: string): Oid {
  const oid = parseOid(text)
  if (oid !== undefined) return oid
  throw malformedOid(text)
}

export function malformedOid(text: string): AshlarError {
  return new AshlarError(
    'MalformedOid',
    `'${text.slice(0, 60)}' is not an OID: four numbers up to ${partMax}, the second up to ${containerMax}, joined by dashes, such as 3-3-1-40.`,
  )
}

/** Writes eight bytes at `at`: four big-endian numbers. */
export function writeOidBytes(oid: Oid, bytes: Uint8Array, at: number): void {
  let part = 0
  let offset = at
  for (let i = 0; i < oid.length; i++) {
    const code = oid.charCodeAt(i)
    if (code !== dash) {
      part = part * 10 + code - zero
      continue
    }
    bytes[offset] = part >> 8
    bytes[offset + 1] = part & 0xff
    offset += 2
    part = 0
  }
  bytes[offset] = part >> 8
  bytes[offset + 1] = part & 0xff
}

/** The container of the object: the first two numbers, with the database in the upper half. */
export function containerNumberOf(oid: Oid): number {
  let database = 0
  let part = 0
  let isContainer = false
  for (let i = 0; i < oid.length; i++) {
    const code = oid.charCodeAt(i)
    if (code !== dash) part = part * 10 + code - zero
    else if (isContainer) break
    else {
      database = part
      part = 0
      isContainer = true
    }
  }
  return database * 65_536 + part
}

export function writeOid(oid: Oid, to: ByteWriter): void {
  const at = to.reserve(oidLength)
  writeOidBytes(oid, to.bytes, at)
}

export function oidBytes(oid: Oid): Buffer {
  const bytes = Buffer.allocUnsafe(oidLength)
  writeOidBytes(oid, bytes, 0)
  return bytes
}

/** The first two numbers of each OID as one 32-bit number, and the last two likewise. */
export function oidHalves<T>(
  all: readonly T[],
  oidOf: (one: T) => Oid,
): { readonly upper: Uint32Array; readonly lower: Uint32Array } {
  const [upper, lower] = [new Uint32Array(all.length), new Uint32Array(all.length)]
  const bytes = Buffer.alloc(oidLength)
  for (let i = 0; i < all.length; i++) {
    writeOidBytes(oidOf(all[i] as T), bytes, 0)
    upper[i] = readUint32(bytes, 0)
    lower[i] = readUint32(bytes, oidLength / 2)
  }
  return { upper, lower }
}

/** Compares numerically part by part, which is byte order. */
export function compareOids(one: Oid, other: Oid): number {
  let at = 0
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at++
  // The parts before are equal, and there are no leading zeros: the longer number is greater.
  const digits = digitsFrom(one, at) - digitsFrom(other, at)
  return digits !== 0 || at >= one.length ? digits : one.charCodeAt(at) - other.charCodeAt(at)
}

function digitsFrom(oid: Oid, start: number): number {
  let end = start
  while (end < oid.length && oid.charCodeAt(end) !== dash) end++
  return end - start
}

export function oidFromBytes(bytes: Uint8Array, at: number): Oid {
  return `${partAt(bytes, at)}-${partAt(bytes, at + 2)}-${partAt(bytes, at + 4)}-${partAt(bytes, at + 6)}` as Oid
}

/** Writes the quoted text directly from the bytes. */
export function writeOidJson(json: JsonWriter, bytes: Uint8Array, at: number): void {
  json.byte(quote)
  writeOidText(json, bytes, at)
  json.byte(quote)
}

/** The same without quotes. */
export function writeOidText({ to }: JsonWriter, bytes: Uint8Array, at: number): void {
  let end = to.reserve(oidCharactersMax)
  const { bytes: text } = to
  end = writePart(text, end, partAt(bytes, at))
  text[end++] = dash
  end = writePart(text, end, partAt(bytes, at + 2))
  text[end++] = dash
  end = writePart(text, end, partAt(bytes, at + 4))
  text[end++] = dash
  to.length = writePart(text, end, partAt(bytes, at + 6))
}

const oidCharactersMax = 23

/** Writes the digits of a number; returns the end offset. */
function writePart(text: Uint8Array, at: number, part: number): number {
  if (part < 10) {
    text[at] = zero + part
    return at + 1
  }
  const tens = (part / 10) | 0
  const end = writePart(text, at, tens)
  text[end] = zero + part - tens * 10
  return end + 1
}

function partAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
}
