/** The type decimal: exact numbers of up to 38 digits with a fixed number of digits after the point. */
import { readKeyDecimal } from '../bytes/key-reader.ts'
import { Decimal, parseDecimal, powerOfTen, toDecimal, withScale } from './decimal-number.ts'
import { countField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { TypeDefinition } from './type-definition.ts'
import type { DecimalSpec } from './type-spec.ts'

const precisionMax = 38

export const decimal: LogicalType<DecimalSpec> = {
  logicalType: 'decimal',
  fields: ['precision', 'scale'],
  define: decimalSpec,
  describe: (spec) => ({ ...spec }),
  codec: codecOf,
}

/** Throws ValueError. */
export function decimalSpec(definition: TypeDefinition): DecimalSpec {
  const precision = countField(definition, 'precision', 1, precisionMax) ?? precisionMax
  return { logicalType: 'decimal', precision, scale: countField(definition, 'scale', 0, precision) ?? 0 }
}

function codecOf({ precision, scale }: DecimalSpec): Codec<Decimal> {
  const width = bytesFor(precision)
  const end = powerOfTen(precision)
  const read = (bytes: Uint8Array, start: number): Decimal => new Decimal(readUnits(bytes, start, width), scale)
  const parse = (json: unknown): Decimal => {
    const value = decimalOf(json)
    const fitted = withScale(value, scale)
    if (fitted === undefined || fitted.units >= end || fitted.units <= -end) {
      throw notAllowed(json, `more than ${digitsText(precision - scale)} before the point`, precision, scale)
    }
    if (value.scale > scale && fitted.units * powerOfTen(value.scale - scale) !== value.units) {
      throw notAllowed(json, `more than ${digitsText(scale)} behind the point`, precision, scale)
    }
    return fitted
  }
  return {
    fixedBytes: width,
    isNullable: true,
    defaultValue: new Decimal(0n, scale),
    range: [new Decimal(1n - end, scale), new Decimal(end - 1n, scale)],
    parse,
    accept: parse,
    write: ({ units }, to) => {
      const at = to.reserve(width)
      let rest = units
      for (let i = at + width - 1; i >= at; i--) {
        to.bytes[i] = Number(rest & 0xffn)
        rest >>= 8n
      }
    },
    read,
    writeJson: (bytes, start, _end, json) => json.ascii(`"${read(bytes, start)}"`),
    toJson: String,
    key: {
      form: 'decimal',
      write: ({ units, scale: own }, to) => to.decimal(units, own),
      // A key contains the value without trailing zeros.
      read: (key, at) => {
        const { units, scale: own } = readKeyDecimal(key, at)
        const value = new Decimal(units, own)
        return withScale(value, Math.max(own, scale)) ?? value
      },
    },
  }
}

function bytesFor(precision: number): number {
  let width = 1
  while (2n ** BigInt(8 * width - 1) < powerOfTen(precision)) width++
  return width
}

function readUnits(bytes: Uint8Array, start: number, width: number): bigint {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + start, width)
  if (width <= 6) return BigInt(buffer.readIntBE(0, width))
  let units = BigInt(buffer.readIntBE(0, width % 6 === 0 ? 6 : width % 6))
  for (let at = width % 6 === 0 ? 6 : width % 6; at < width; at += 6) {
    units = (units << 48n) | BigInt(buffer.readUIntBE(at, 6))
  }
  return units
}

/** A number, also as text. Throws ValueError. */
function decimalOf(json: unknown): Decimal {
  if (typeof json === 'string') return parseDecimal(json)
  if (typeof json === 'symbol') return parseDecimal(json.description ?? '')
  const isNumber = typeof json === 'number' || typeof json === 'bigint' || json instanceof Decimal
  if (!isNumber) throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a number`)
  const value = toDecimal(json)
  if (value !== undefined) return value
  throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is beyond what a decimal holds`)
}

function notAllowed(json: unknown, what: string, precision: number, scale: number): ValueError {
  const formatted = json instanceof Decimal ? String(json) : formatForMessage(json)
  return new ValueError('ValueNotAllowed', `${formatted} has ${what} (precision ${precision}, scale ${scale})`)
}

function digitsText(count: number): string {
  return count === 1 ? '1 digit' : `${count} digits`
}
