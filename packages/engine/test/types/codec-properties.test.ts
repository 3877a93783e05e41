/** What holds of every logical type, on random definitions and values of each. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readKeyPart } from '../../src/bytes/key-writer.ts'
import { AshlarError } from '../../src/errors.ts'
import type { JsonObject } from '../../src/requests/json-fields.ts'
import { defineType, describeType, logicalTypes } from '../../src/types/index.ts'
import { ValueError } from '../../src/types/logical-type.ts'
import { runs } from '../bytes/property-runs.ts'
import type { Sample } from './sample.ts'
import { typeSamples } from './type-samples.ts'
import {
  bytesOf,
  codecOf,
  defineContext,
  defined,
  describeContext,
  exactJson,
  jsonTextOf,
  keyOf,
  storedText,
  thrownBy,
} from './type-under-test.ts'

const types = Object.entries(typeSamples)

/** JSON as a hostile client may send it, numbers beyond a double and strange names included. */
const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<unknown>,
  fc.bigInt(),
  fc.constantFrom(Number.POSITIVE_INFINITY, '__proto__', JSON.parse('{"__proto__":1}'), [null], '0-0-0-0', ''),
  fc.string({ unit: 'binary' }),
)

function compare(one: NonNullable<Sample['rank']>, other: NonNullable<Sample['rank']>): number {
  return one < other ? -1 : one > other ? 1 : 0
}

it('every logical type has samples, and the other way round', () => {
  expect(types.map(([name]) => name).sort()).toEqual(logicalTypes.map(({ logicalType }) => logicalType).sort())
})

describe.each(types)('%s', (_name, samples) => {
  const definedValue = samples.definition.chain((definition) => {
    return fc.record({ definition: fc.constant(definition), sample: samples.values(definition) })
  })

  it('shows what was given, through memory and bytes', () => {
    fc.assert(
      fc.property(definedValue, ({ definition, sample }) => {
        expect(storedText(definition, sample.json)).toBe(sample.text)
      }),
      runs(300),
    )
  })

  it('writes from bytes what it writes from a value', () => {
    fc.assert(
      fc.property(definedValue, ({ definition, sample }) => {
        const codec = codecOf(definition)
        const value = codec.parse(sample.json)
        const text = jsonTextOf(codec, bytesOf(codec, value))
        const fromValue = exactJson(codec.toJson(value))
        // Object members of digits change their order on the way through JavaScript; the text must not.
        if (String(definition.logicalType).toLowerCase() === 'map')
          expect(JSON.parse(text)).toEqual(JSON.parse(fromValue))
        else expect(text).toBe(fromValue)
      }),
      runs(200),
    )
  })

  it('reads back what it shows as the same bytes', () => {
    fc.assert(
      fc.property(definedValue, ({ definition, sample }) => {
        const codec = codecOf(definition)
        const value = codec.parse(sample.json)
        const again = codec.parse(codec.toJson(value))
        expect(bytesOf(codec, again)).toEqual(bytesOf(codec, value))
      }),
      runs(200),
    )
  })

  it('has a default that can be stored, or null where it is nullable', () => {
    fc.assert(
      fc.property(samples.definition, (definition) => {
        const codec = codecOf(definition)
        if (codec.defaultValue === null) {
          expect(codec.isNullable).toBe(true)
          return
        }
        const bytes = bytesOf(codec, codec.defaultValue)
        expect(codec.read(bytes, 0, bytes.length)).toEqual(codec.defaultValue)
      }),
      runs(50),
    )
  })

  it('takes or refuses any JSON, and nothing else happens', () => {
    fc.assert(
      fc.property(samples.definition, anyJson, (definition, json) => {
        const codec = codecOf(definition)
        if (json === null && codec.isNullable) return
        const error = thrownBy(() => storedText(definition, json))
        if (error !== undefined) expect(error).toBeInstanceOf(ValueError)
      }),
      runs(500),
    )
  })

  it('is defined again by what is shown of it', () => {
    fc.assert(
      fc.property(samples.definition, (definition) => {
        const spec = defined(definition)
        const shown = describeType(spec, describeContext)
        expect(defineType(JSON.parse(JSON.stringify(shown)), defineContext)).toEqual(spec)
        expect(describeType(defineType(shown, defineContext), describeContext)).toEqual(shown)
      }),
      runs(200),
    )
  })
})

const keyTypes = types.filter(([, samples]) => {
  const definition = fc.sample(samples.definition, { numRuns: 1, seed: 1 })[0] as JsonObject
  return codecOf(definition).key !== undefined
})

it('all types but json, embedded objects and collections can be keys', () => {
  const others = types.map(([name]) => name).filter((name) => !keyTypes.some(([keyName]) => keyName === name))
  expect(others).toEqual(['json', 'object', 'list', 'set', 'map'])
})

describe.each(keyTypes)('%s as a key', (_name, samples) => {
  const twoValues = samples.definition.chain((definition) => {
    const value = samples.values(definition)
    return fc.record({ definition: fc.constant(definition), one: value, other: value })
  })

  it('byte order is value order, nulls last', () => {
    fc.assert(
      fc.property(twoValues, ({ definition, one, other }) => {
        const codec = codecOf(definition)
        const [oneKey, otherKey] = [one, other].map(({ json }) => keyOf(codec, codec.parse(json))) as [Buffer, Buffer]
        expect(Buffer.compare(oneKey, otherKey)).toBe(compare(one.rank as number, other.rank as number))
        expect(Buffer.compare(oneKey, keyOf(codec, null))).toBe(-1)
      }),
      runs(500),
    )
  })

  it('its end is found without its type, and no text is taken for cut that is not', () => {
    fc.assert(
      fc.property(twoValues, ({ definition, one, other }) => {
        const codec = codecOf(definition)
        const [oneKey, otherKey] = [one, other].map(({ json }) => keyOf(codec, codec.parse(json))) as [Buffer, Buffer]
        for (const first of [oneKey, keyOf(codec, null)]) {
          const found = readKeyPart(Buffer.concat([first, otherKey]), 0, codec.key!.form)
          expect(found).toEqual({ end: first.length, isTruncated: false })
        }
      }),
      runs(300),
    )
  })

  it('no key is the beginning of another', () => {
    fc.assert(
      fc.property(twoValues, ({ definition, one, other }) => {
        const codec = codecOf(definition)
        const [oneKey, otherKey] = [one, other].map(({ json }) => keyOf(codec, codec.parse(json))) as [Buffer, Buffer]
        if (!oneKey.equals(otherKey)) expect(otherKey.subarray(0, oneKey.length).equals(oneKey)).toBe(false)
      }),
      runs(300),
    )
  })
})

describe('definitions', () => {
  const fields = ['logicalType', 'encoding', 'storage', 'fixedLength', 'referencedClass', 'inverseAttribute', 'class']
  const nested = ['collectionTypeName', 'elementSpecification', 'keySpecification', '__proto__', 'constructor']
  const words = fc.constantFrom(...types.map(([name]) => name), 'b32', 'variable', 'fixed', 'signed', 'Fleet.Vehicle')
  const refusals = ['UnknownClass', 'UnknownAttribute', 'MalformedRequest', 'MalformedValue', 'UnknownField']
  const { definition } = fc.letrec((tie) => ({
    definition: fc.dictionary(fc.constantFrom(...fields, ...nested), tie('value'), { depthIdentifier: 'd' }),
    value: fc.oneof({ depthIdentifier: 'd' }, words, anyJson, tie('definition')),
  }))

  it('any JSON object defines a type or is refused, and nothing else happens', () => {
    fc.assert(
      fc.property(words, definition, (logicalType, given) => {
        const error = thrownBy(() => defined({ logicalType, ...(given as JsonObject) }))
        if (error instanceof AshlarError) expect(refusals).toContain(error.type)
        else if (error !== undefined) expect(error).toBeInstanceOf(ValueError)
      }),
      runs(2_000),
    )
  })
})
