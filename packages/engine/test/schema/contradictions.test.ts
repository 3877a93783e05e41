/** Constraints are refused exactly if no value satisfies them together: compared with trying all values of small types. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { defineProperties, type PropertiesInput } from '../../src/schema/properties/index.ts'
import { ValueError } from '../../src/types/logical-type.ts'
import type { ElementSpec, ScalarSpec, TypeSpec } from '../../src/types/type-spec.ts'
import { runs } from '../bytes/property-runs.ts'

interface Limits {
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly enumeration?: readonly number[]
}

const domains = [
  [{ logicalType: 'integer', encoding: 'signed', storage: 'b8' }, -128, 127],
  [{ logicalType: 'integer', encoding: 'unsigned', storage: 'b8' }, 0, 255],
  [{ logicalType: 'decimal', precision: 1, scale: 0 }, -9, 9],
] as const satisfies readonly (readonly [ScalarSpec, number, number])[]

function limitsIn([spec, least, greatest]: (typeof domains)[number]): fc.Arbitrary<Limits> {
  const near = (end: number) => fc.integer({ min: Math.max(least, end - 3), max: Math.min(greatest, end + 3) })
  const bound = fc.oneof(fc.constantFrom(least, greatest), near(least), near(0), near(greatest))
  const enumeration = fc.uniqueArray(bound, { minLength: 1, maxLength: 4 })
  const bounds = { minimum: bound, maximum: bound, exclusiveMinimum: bound, exclusiveMaximum: bound }
  if (spec.logicalType !== 'integer') return fc.record(bounds, { requiredKeys: [] })
  return fc.record({ ...bounds, enumeration }, { requiredKeys: [] })
}

function valuesWithin([, least, greatest]: (typeof domains)[number], limits: Limits): number[] {
  const { minimum = least, maximum = greatest, exclusiveMinimum = least - 1, exclusiveMaximum = greatest + 1 } = limits
  const all = Array.from({ length: greatest - least + 1 }, (_, i) => least + i)
  return all.filter((value) => {
    const isWithin = value >= minimum && value <= maximum && value > exclusiveMinimum && value < exclusiveMaximum
    return isWithin && (limits.enumeration?.includes(value) ?? true)
  })
}

function isRefused(spec: TypeSpec, own: object, element: object = {}): boolean {
  try {
    defineProperties(spec, false, own as PropertiesInput, element as PropertiesInput)
    return false
  } catch (error) {
    if (error instanceof ValueError && error.type === 'InvalidDefinition') return true
    throw error
  }
}

const listOf = (element: ElementSpec): TypeSpec => ({ logicalType: 'list', collectionTypeName: null, element })
const domainAndLimits = fc
  .constantFrom(...domains)
  .chain((domain) => fc.record({ domain: fc.constant(domain), limits: limitsIn(domain) }))

it('bounds and enumerations, if they leave no value of the type', () => {
  const property = fc.property(domainAndLimits, ({ domain, limits }) => {
    expect(isRefused(domain[0], limits)).toBe(valuesWithin(domain, limits).length === 0)
  })
  fc.assert(property, runs(1_000))
})

it('a number of different elements, if there are fewer values', () => {
  const count = fc.oneof(fc.nat(6), fc.integer({ min: 254, max: 257 }))
  const counts = fc.record({ minItems: count, maxItems: count, uniqueItems: fc.boolean() }, { requiredKeys: [] })
  const property = fc.property(domainAndLimits, counts, ({ domain, limits }, own) => {
    const values = valuesWithin(domain, limits).length
    const { minItems = 0, maxItems = 1_000, uniqueItems = false } = own
    const hasNone = values === 0 || minItems > maxItems || (uniqueItems && minItems > values)
    expect(isRefused(listOf(domain[0]), own, limits)).toBe(hasNone)
  })
  fc.assert(property, runs(1_000))
})

/** Seven neighbouring reals, in ascending order, from the one with these bits on; negative bits count down from -0. */
function neighbours(storage: 'b32' | 'b64', first: bigint): number[] {
  const bytes = new DataView(new ArrayBuffer(8))
  const width = storage === 'b32' ? 32n : 64n
  return Array.from({ length: 7 }, (_, i) => {
    const position = first + BigInt(i)
    const bits = position < 0n ? (1n << (width - 1n)) | -position : position
    if (storage === 'b64') bytes.setBigUint64(0, bits)
    else bytes.setUint32(0, Number(bits))
    return storage === 'b64' ? bytes.getFloat64(0) : bytes.getFloat32(0)
  })
}

const realsAndLimits = fc.constantFrom('b32', 'b64').chain((storage) => {
  const greatest = storage === 'b32' ? 0x7f7fffffn : 0x7fefffffffffffffn
  const near = (from: bigint) => fc.bigInt({ min: from - 7n, max: from })
  const first = fc.oneof(near(0n), near(greatest - 6n), near(-greatest + 7n), near(greatest / 2n), near(-greatest / 3n))
  return first
    .map((position) => neighbours(storage, position < -greatest ? -greatest : position))
    .chain((values) => {
      const bound = fc.constantFrom(...values)
      const [isMinimumOpen, isMaximumOpen, minItems] = [fc.boolean(), fc.boolean(), fc.nat(8)]
      const fields = { storage: fc.constant(storage), values: fc.constant(values), lower: bound, upper: bound }
      return fc.record({ ...fields, isMinimumOpen, isMaximumOpen, minItems })
    })
})

it('bounds of reals between which none lies, and counts beyond those that do', () => {
  const property = fc.property(
    realsAndLimits,
    ({ storage, values, lower, upper, isMinimumOpen, isMaximumOpen, minItems }) => {
      const limits = {
        [isMinimumOpen ? 'exclusiveMinimum' : 'minimum']: lower,
        [isMaximumOpen ? 'exclusiveMaximum' : 'maximum']: upper,
      }
      const isAbove = (value: number) => (isMinimumOpen ? value > lower : value >= lower)
      const isBelow = (value: number) => (isMaximumOpen ? value < upper : value <= upper)
      const count = values.filter((value) => isAbove(value) && isBelow(value)).length
      const spec = { logicalType: 'real', storage } as const
      expect(isRefused(spec, limits)).toBe(count === 0)
      expect(isRefused(listOf(spec), { minItems, uniqueItems: true }, limits)).toBe(count === 0 || minItems > count)
    },
  )
  fc.assert(property, runs(1_000))
})

it('lengths, if no string of the type has them', () => {
  const length = fc.nat(5)
  const lengths = fc.record({ minLength: length, maxLength: length }, { requiredKeys: [] })
  const property = fc.property(lengths, fc.integer({ min: 1, max: 5 }), (own, fixedLength) => {
    const { minLength = 0, maxLength = 5 } = own
    const base = { logicalType: 'string', encoding: 'utf8' } as const
    expect(isRefused({ ...base, storage: 'variable' }, own)).toBe(minLength > maxLength)
    expect(isRefused({ ...base, storage: 'optimized', fixedLength }, own)).toBe(minLength > maxLength)
    const fixed = { ...base, storage: 'fixed', fixedLength } as const
    expect(isRefused(fixed, own)).toBe(minLength > Math.min(maxLength, fixedLength))
  })
  fc.assert(property, runs(500))
})
