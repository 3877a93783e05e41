/** The type real: IEEE 754 numbers of 32 or 64 bits; never NaN or infinite. */
import { readKeyReal } from '../bytes/key-reader.ts'
import { readDouble, readFloat } from '../bytes/read-number.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import { parseNumber } from './parse-number.ts'
import type { RealSpec } from './type-spec.ts'

export const real: LogicalType<RealSpec> = {
  logicalType: 'real',
  fields: ['encoding', 'storage'],
  define(definition) {
    enumField(definition, 'encoding', ['ieee'], 'ieee')
    return { logicalType: 'real', storage: enumField(definition, 'storage', ['b32', 'b64'], 'b64') }
  },
  describe: ({ storage }) => ({ logicalType: 'real', encoding: 'ieee', storage }),
  codec: ({ storage }) =>
    storage === 'b32' ? codecOf(4, Math.fround, shortestSingle) : codecOf(8, identity, shortestDouble),
}

const singleMax = (2 - 2 ** -23) * 2 ** 127

function codecOf(width: 4 | 8, round: (value: number) => number, toText: (value: number) => string): Codec<number> {
  const read = (bytes: Uint8Array, start: number): number => {
    return width === 4 ? readFloat(bytes, start) : readDouble(bytes, start)
  }
  return {
    fixedBytes: width,
    isNullable: true,
    defaultValue: 0,
    range: width === 4 ? [-singleMax, singleMax] : [-Number.MAX_VALUE, Number.MAX_VALUE],
    parse(json) {
      const value = round(parseNumber(json))
      if (Number.isFinite(value)) return value
      throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is beyond what a b${width * 8} real holds`)
    },
    accept(input) {
      return this.parse(input)
    },
    write(value, to) {
      const at = to.reserve(width)
      if (width === 4) to.bytes.writeFloatBE(value, at)
      else to.bytes.writeDoubleBE(value, at)
    },
    read,
    writeJson: (bytes, start, _end, json) => json.ascii(toText(read(bytes, start))),
    toJson: (value) => Number(toText(value)),
    key: { form: 'eightBytes', write: (value, to) => to.real(value), read: readKeyReal },
  }
}

function identity(value: number): number {
  return value
}

function shortestDouble(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

const singleNormalMin = 2 ** -126
/** Decimals of up to this many digits survive rounding to a normal single, and are found immediately. */
const digitsThatSurvive = 6
/** A little less than half the gap above a single. */
const within = 1 + 2 ** -25

/** The shortest decimal that rounds to this single; the digits of a double would suggest a precision that does not exist. */
function shortestSingle(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 24) return shortestDouble(value)
  for (let digits = Math.abs(value) < singleNormalMin ? 1 : digitsThatSurvive; digits < 9; digits++) {
    const candidate = Number(value.toPrecision(digits))
    if (Math.fround(candidate) === value) return String(candidate)
  }
  // Below a power of two the gap is half as wide: the nearest text may miss where one further away, above it, does not.
  const above = Number((value * within).toPrecision(8))
  return String(Math.fround(above) === value ? above : Number(value.toPrecision(9)))
}
