/** Decodes the values of index key parts written by `KeyWriter`. `at`: the offset after the marker byte. */
import { decimalExponentBias, decimalSigns } from './key-writer.ts'
import { readUint32 } from './read-number.ts'
import { shortText } from './short-texts.ts'

/** Longer magnitudes are read as bigint. */
const safeWidthMax = 6

export function readKeyBoolean(key: Uint8Array, at: number): boolean {
  return key[at] === 1
}

/** Returns a bigint if the value may exceed the exact range of a double. */
export function readKeyInteger(key: Uint8Array, at: number): number | bigint {
  const width = (key[at] as number) - 0x80
  const isNegative = width < 0
  const end = at + 1 + Math.abs(width)
  const mask = isNegative ? 0xff : 0
  if (end - at > safeWidthMax + 1) return readWide(key, at + 1, end, isNegative, mask)
  let size = 0
  for (let i = at + 1; i < end; i++) size = size * 256 + ((key[i] as number) ^ mask)
  return isNegative ? -size : size
}

function readWide(key: Uint8Array, start: number, end: number, isNegative: boolean, mask: number): bigint {
  let size = 0n
  for (let i = start; i < end; i++) size = (size << 8n) | BigInt((key[i] as number) ^ mask)
  return isNegative ? -size : size
}

const scratch = new DataView(new ArrayBuffer(8))

export function readKeyReal(key: Uint8Array, at: number): number {
  const isNegative = (key[at] as number) < 0x80
  for (let i = 0; i < 8; i++)
    scratch.setUint8(i, isNegative ? ~(key[at + i] as number) & 0xff : (key[at + i] as number))
  if (!isNegative) scratch.setUint8(0, (key[at] as number) ^ 0x80)
  return scratch.getFloat64(0)
}

/** Without trailing zeros after the decimal point. */
export function readKeyDecimal(key: Uint8Array, at: number): { readonly units: bigint; readonly scale: number } {
  if (key[at] === decimalSigns.zero) return { units: 0n, scale: 0 }
  const flip = key[at] === decimalSigns.negative ? 0xff : 0
  const exponent = ((key[at + 1] as number) ^ flip) - decimalExponentBias
  let digits = ''
  for (let i = at + 2; key[i] !== flip; i++) digits += String(((key[i] as number) ^ flip) - 1).padStart(2, '0')
  if (digits.endsWith('0')) digits = digits.slice(0, -1)
  const units = BigInt(digits.padEnd(exponent, '0'))
  return { units: flip === 0 ? units : -units, scale: Math.max(digits.length - exponent, 0) }
}

export function readKeyTicks(key: Uint8Array, at: number): number {
  return (readUint32(key, at) - 2 ** 31) * 2 ** 32 + readUint32(key, at + 4)
}

const nulEscaped = /\0\u00ff/g

/** `end`: the offset after the two terminator bytes. The text must not be truncated. */
export function readKeyText(key: Uint8Array, at: number, end: number): string {
  return shortText(key, at, end - terminatorBytes) ?? decodedText(key, at, end)
}

function decodedText(key: Uint8Array, at: number, end: number): string {
  const bytes = Buffer.from(key.buffer, key.byteOffset + at, end - at - terminatorBytes)
  if (!bytes.includes(0)) return bytes.toString('utf8')
  return Buffer.from(bytes.toString('latin1').replace(nulEscaped, '\0'), 'latin1').toString('utf8')
}

const terminatorBytes = 2
