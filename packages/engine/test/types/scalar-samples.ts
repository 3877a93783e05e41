/** Random definitions and values of the types that are no collections. */
import fc from 'fast-check'
import type { JsonObject } from '../../src/requests/json-fields.ts'
import type { LogicalTypeName } from '../../src/types/type-spec.ts'
import { definitionOf, lower, type TypeSamples, textRank, word } from './sample.ts'
import { temporalSamples } from './temporal-samples.ts'

type ScalarName = Exclude<LogicalTypeName, 'list' | 'set' | 'map'>

const codePointMax: Record<string, number> = { b8: 0xff, b16: 0xffff, b32: 0x10_ffff }
const isSurrogate = (point: number) => point >= 0xd800 && point <= 0xdfff

const boolean: TypeSamples = {
  definition: definitionOf('boolean', { encoding: word('binary'), storage: word('byte') }),
  values: () =>
    fc.tuple(fc.boolean(), fc.boolean()).map(([value, isQuoted]) => {
      return { json: isQuoted ? String(value) : value, text: String(value), rank: Number(value) }
    }),
}

const character: TypeSamples = {
  definition: definitionOf('character', { encoding: word('binary'), storage: word('b8', 'b16', 'b32') }),
  values(definition) {
    const max = codePointMax[lower(definition, 'storage', 'b32')] as number
    const point = fc.oneof(fc.integer({ min: 0, max }), fc.integer({ min: 0, max: 0x7f }))
    return point
      .filter((code) => !isSurrogate(code))
      .map((rank) => {
        const json = String.fromCodePoint(rank)
        return { json, text: JSON.stringify(json), rank }
      })
  },
}

const integer: TypeSamples = {
  definition: definitionOf('integer', {
    encoding: word('signed', 'unsigned'),
    storage: word('b8', 'b16', 'b32', 'b64'),
  }),
  values(definition) {
    const bits = BigInt(lower(definition, 'storage', 'b32').slice(1))
    const isSigned = lower(definition, 'encoding', 'signed') === 'signed'
    const min = isSigned ? -(2n ** (bits - 1n)) : 0n
    const max = isSigned ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n
    const value = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n, 1n))
    return fc.tuple(value, fc.nat(2)).map(([rank, form]) => {
      const number = Number(rank)
      const json = form === 0 ? String(rank) : form === 1 && Number.isSafeInteger(number) ? number : rank
      return { json, text: String(rank), rank }
    })
  },
}

/** Up to six digits survive a b32 real, so the text is known without asking it. */
const shortDecimal = fc
  .tuple(fc.integer({ min: -999_999, max: 999_999 }), fc.integer({ min: -30, max: 30 }))
  .map(([digits, exponent]) => (digits === 0 ? 0 : Number(`${digits}e${exponent}`)))

const real: TypeSamples = {
  definition: definitionOf('real', { encoding: word('ieee'), storage: word('b32', 'b64') }),
  values(definition) {
    const isSingle = lower(definition, 'storage', 'b64') === 'b32'
    const value = isSingle ? shortDecimal : fc.double({ noNaN: true, noDefaultInfinity: true })
    return fc.tuple(value, fc.boolean()).map(([number, isQuoted]) => {
      const text = Object.is(number, -0) ? '-0' : String(number)
      return { json: isQuoted ? text : number, text, rank: isSingle ? Math.fround(number) : number }
    })
  },
}

const decimal: TypeSamples = {
  definition: fc
    .tuple(
      definitionOf('decimal', { precision: fc.integer({ min: 1, max: 38 }) }),
      fc.option(fc.nat(38), { nil: undefined }),
    )
    .map(([definition, scale]) => {
      if (scale === undefined) return definition
      return { ...definition, scale: Math.min(scale, Number(definition.precision ?? 38)) }
    }),
  values(definition) {
    const scale = Number(definition.scale ?? 0)
    const max = 10n ** BigInt(Number(definition.precision ?? 38)) - 1n
    const units = fc.oneof(fc.bigInt({ min: -max, max }), fc.constantFrom(-max, max, 0n, 1n, -1n))
    return fc.tuple(units, fc.nat(3)).map(([rank, form]) => {
      const digits = String(rank < 0n ? -rank : rank).padStart(scale + 1, '0')
      const point = digits.length - scale
      const text = `${rank < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`
      const forms = [text, `${text}${scale === 0 ? '.' : ''}000`, `${rank}e-${scale}`, Symbol(text)]
      return { json: digits.length <= 15 && form === 3 ? Number(text) : forms[form], text: JSON.stringify(text), rank }
    })
  },
}

const stringDefinition: fc.Arbitrary<JsonObject> = fc
  .tuple(
    definitionOf('string', { encoding: word('byte', 'utf8', 'utf16', 'utf32') }),
    fc.constantFrom(undefined, 'variable', 'FIXED', 'Optimized'),
    fc.integer({ min: 1, max: 12 }),
    fc.boolean(),
  )
  .map(([definition, storage, length, isGiven]) => {
    const withLength = storage === 'FIXED' || (storage === 'Optimized' && isGiven)
    return {
      ...definition,
      ...(storage === undefined ? {} : { storage }),
      ...(withLength ? { fixedLength: isGiven ? length : String(length) } : {}),
    }
  })

export const string: TypeSamples = {
  definition: stringDefinition,
  values(definition) {
    const isByte = lower(definition, 'encoding', 'utf8') === 'byte'
    const isFixed = lower(definition, 'storage', 'variable') === 'fixed'
    const maxLength = isFixed ? Number(definition.fixedLength) : 40
    const unit = fc.integer({ min: 0, max: isByte ? 0xff : 0x10_ffff }).filter((point) => !isSurrogate(point))
    const ascii = fc.integer({ min: 0x20, max: 0x7e })
    const points = fc.oneof(fc.array(unit, { maxLength }), fc.array(ascii, { maxLength }))
    return points.map((list) => {
      const json = String.fromCodePoint(...list)
      return { json, text: JSON.stringify(json), rank: textRank(json) }
    })
  },
}

const guid: TypeSamples = {
  definition: definitionOf('guid', {}),
  values: () =>
    fc.tuple(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.boolean()).map(([bytes, isUpper]) => {
      const hex = Buffer.from(bytes).toString('hex')
      const rank = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
      return { json: isUpper ? rank.toUpperCase() : rank, text: `"${rank}"`, rank }
    }),
}

const bytes: TypeSamples = {
  definition: definitionOf('bytes', {}),
  values: () =>
    fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.constantFrom('base64', 'base64url')).map(([given, form]) => {
      const value = Buffer.from(given)
      return { json: value.toString(form), text: `"${value.toString('base64')}"`, rank: value.toString('hex') }
    }),
}

const json: TypeSamples = {
  definition: definitionOf('json', {}),
  values: () =>
    fc
      .json()
      .filter((text) => text !== 'null')
      .map((text) => ({ json: JSON.parse(text) as unknown, text: JSON.stringify(JSON.parse(text)) })),
}

const oidPart = fc.oneof(fc.integer({ min: 0, max: 65_535 }), fc.integer({ min: 0, max: 11 }))

export const reference: TypeSamples = {
  definition: fc.record(
    {
      logicalType: word('reference'),
      referencedClass: fc.constantFrom('Fleet.Vehicle', '1000000'),
      inverseAttribute: fc.constantFrom('', 'owner'),
    },
    { requiredKeys: ['logicalType', 'referencedClass'] },
  ),
  values: () =>
    fc
      .tuple(
        oidPart,
        oidPart.map((part) => part >> 1),
        oidPart,
        oidPart,
        fc.boolean(),
      )
      .map(([database, container, page, slot, isNull]) => {
        const parts = isNull ? [0, 0, 0, 0] : [database, container, page, slot]
        const rank = parts.map((part) => String(part).padStart(5, '0')).join()
        return { json: isNull ? null : parts.join('-'), text: `"${parts.join('-')}"`, rank }
      }),
}

const object: TypeSamples = {
  definition: fc.record({ logicalType: word('object'), class: fc.constantFrom('Fleet.Address', '1000001') }),
  values: () =>
    fc.record({ street: fc.string({ unit: 'grapheme' }), number: fc.nat() }).map((json) => {
      return { json, text: JSON.stringify(json) }
    }),
}

export const scalarSamples: Record<ScalarName, TypeSamples> = {
  boolean,
  character,
  integer,
  real,
  decimal,
  string,
  guid,
  ...temporalSamples,
  bytes,
  json,
  reference,
  object,
}
