/** Definitions as a whole: which type they are of, whatever else they say. */
import { describe, expect, it } from 'vitest'
import { logicalTypes } from '../../src/types/index.ts'
import { formatForMessage } from '../../src/types/logical-type.ts'
import { described, expectDefinitionRefused } from './type-under-test.ts'

describe('logicalType', () => {
  it.each([['number'], ['int'], [''], ['__proto__'], ['constructor'], ['ınteger']])('%j is none', (logicalType) => {
    const words = logicalTypes.map((type) => type.logicalType).join(', ')
    expectDefinitionRefused({ logicalType }, { type: 'InvalidDefinition', path: 'logicalType', words })
  })

  it.each([[null], [5], [['integer']], [{}]])('%j is no word', (logicalType) => {
    expectDefinitionRefused({ logicalType }, { type: 'MalformedValue', path: 'logicalType' })
  })

  it('is read in any case and shown in lower case', () => {
    expect(described({ logicalType: 'InTeGeR' }).logicalType).toBe('integer')
  })

  it('may be instant, a datetime with an offset', () => {
    const instant = { logicalType: 'datetime', encoding: 'objy', storage: 'datetimeoffset' }
    for (const logicalType of ['instant', 'Instant', 'INSTANT']) {
      expect(described({ logicalType })).toEqual(instant)
      expect(described({ logicalType, storage: 'DateTimeOffset', encoding: null })).toEqual(instant)
    }
    expect(described({ logicalType: 'list', elementSpecification: { logicalType: 'instant' } })).toMatchObject({
      elementSpecification: instant,
    })
    for (const storage of ['datetime', 'b64', '']) {
      expectDefinitionRefused({ logicalType: 'instant', storage }, { type: 'InvalidDefinition', path: 'storage' })
    }
    expectDefinitionRefused(
      { logicalType: 'instant', fixedLength: 5 },
      { type: 'InvalidDefinition', path: 'fixedLength' },
    )
  })

  it('may be Float, of 32 bits unless it says otherwise', () => {
    const real = { logicalType: 'real', encoding: 'ieee' }
    expect(described({ logicalType: 'Float' })).toEqual({ ...real, storage: 'b32' })
    expect(described({ logicalType: 'FLOAT', encoding: 'IEEE', storage: null })).toEqual({ ...real, storage: 'b32' })
    expect(described({ logicalType: 'float', storage: 'B64' })).toEqual({ ...real, storage: 'b64' })
    expect(described({ logicalType: 'list', elementSpecification: { logicalType: 'float' } })).toMatchObject({
      elementSpecification: { ...real, storage: 'b32' },
    })
    expectDefinitionRefused({ logicalType: 'float', storage: 'b16' }, { type: 'InvalidDefinition', path: 'storage' })
    expectDefinitionRefused(
      { logicalType: 'float', fixedLength: 5 },
      { type: 'InvalidDefinition', path: 'fixedLength' },
    )
  })

  it('does not take fields from the prototype of everything', () => {
    const definition = JSON.parse('{"logicalType":"integer","__proto__":{"storage":"b8"}}')
    expectDefinitionRefused(definition, { type: 'UnknownField', path: '__proto__' })
  })
})

describe('shownValue', () => {
  it.each([
    ['a"b', '"a\\"b"'],
    [5, '5'],
    [10n ** 20n, '100000000000000000000'],
    [Number.POSITIVE_INFINITY, 'a number beyond 1.7976931348623157e+308'],
    [Number.NEGATIVE_INFINITY, 'a number beyond -1.7976931348623157e+308'],
    [null, 'null'],
    [undefined, 'nothing'],
    [[1n], '["1"]'],
    [{ a: true }, '{"a":true}'],
  ])('shows %s as %s', (value, text) => {
    expect(formatForMessage(value)).toBe(text)
  })

  it.each([['x'.repeat(1_000)], [10n ** 500n], [Array.from({ length: 1_000 }, () => 1)]])(
    'cuts what is long',
    (value) => {
      const text = formatForMessage(value)
      expect(text.length).toBe(61)
      expect(text.endsWith('…')).toBe(true)
    },
  )
})
