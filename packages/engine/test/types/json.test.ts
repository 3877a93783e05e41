/** json: texts with their order and digits, what is refused, and when two say the same. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonFragment } from '../../src/types/json-text.ts'
import {
  canonicalJson,
  compactJson,
  jsonElement,
  jsonMember,
  jsonTextOf,
  parseJsonText,
} from '../../src/types/json-value.ts'
import { ValueError } from '../../src/types/logical-type.ts'
import { codecOf, described, expectDefinitionRefused, storedText } from './type-under-test.ts'

const json = { logicalType: 'json' }
/** Of a pretty-printed text, too. */
const values = fc.jsonValue({ maxDepth: 4, noUnicodeString: false })

describe('definition', () => {
  it('has no further fields', () => {
    expect(described({ logicalType: 'JSON' })).toEqual(json)
    const refusal = { type: 'InvalidDefinition', path: 'storage', words: 'type json' } as const
    expectDefinitionRefused({ ...json, storage: 'variable' }, refusal)
    expect(codecOf(json)).toMatchObject({ defaultValue: null, isNullable: true })
    expect(codecOf(json).key).toBeUndefined()
  })
})

describe('texts', () => {
  it('lose their white space, and nothing else', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(0, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value)
        expect(compactJson(JSON.stringify(value, null, indent))).toBe(text)
        expect(parseJsonText(` ${text}\n`)).toBe(text)
        expect(storedText(json, value)).toBe(text)
      }),
    )
    expect(compactJson(' { "b" : 1.50 , "2" : [ 1e3 , -0 ] , "a b" : " \\" x " } ')).toBe(
      '{"b":1.50,"2":[1e3,-0],"a b":" \\" x "}',
    )
  })

  it('of programs have the digits of bigints', () => {
    expect(jsonTextOf({ a: [12345678901234567890n, undefined], b: 'x' })).toBe(
      '{"a":[12345678901234567890,null],"b":"x"}',
    )
  })

  it.each([
    ['{"a":1,"b":{"c":1,"c":2}}', 'twice'],
    ['{"a":1,"\\u0061":2}', 'twice'],
    ['["\\udc00"]', 'surrogate'],
    ['{"\\ud800":1}', 'surrogate'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, '64 levels'],
    [`"${'x'.repeat(2 ** 20)}"`, 'bytes'],
  ])('%.30s is refused', (text, words) => {
    expect(() => parseJsonText(text)).toThrow(ValueError)
    expect(() => parseJsonText(text)).toThrow(words)
  })

  it('replace strings that are values', () => {
    const text = new JsonFragment('{"x":["x","y"],"y":"x"}', (one) => (one === 'x' ? 'é"' : one))
    expect(compactJson(text)).toBe('{"x":["é\\"","y"],"y":"é\\""}')
  })
})

describe('paths', () => {
  it('find what JavaScript finds', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), values), fc.array(values), (object, array) => {
        const text = JSON.stringify(object)
        for (const [name, value] of Object.entries(object)) {
          expect(jsonMember(text, name)).toBe(value === null ? null : JSON.stringify(value))
        }
        expect(jsonMember(text, 'none of these')).toBeNull()
        const list = JSON.stringify(array)
        for (let i = -array.length - 1; i <= array.length; i++) {
          const value = array.at(i) ?? null
          expect(jsonElement(list, i)).toBe(i === array.length || value === null ? null : JSON.stringify(value))
        }
      }),
    )
    expect(new JsonFragment('{"a": 1, "a": {"b": [ 2 , 3 ]}}').field('a')?.field('b')?.element(1)?.toString()).toBe('3')
  })
})

describe('canonical texts', () => {
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, one]) => [name, turned(one)]),
    )
  }

  it('are the same exactly for equal values', () => {
    fc.assert(
      fc.property(values, values, (one, other) => {
        const text = JSON.stringify(one)
        expect(canonicalJson(JSON.stringify(turned(one)))).toBe(canonicalJson(text))
        expect(JSON.parse(canonicalJson(text))).toEqual(JSON.parse(text))
        if (canonicalJson(text) === canonicalJson(JSON.stringify(other)))
          expect(JSON.parse(JSON.stringify(other))).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each([
    [['1', '1.0', '10e-1', '0.1e1', '100e-2', '1.00000000000000000000']],
    [['0', '-0', '0.0', '0e5', '-0e-99999999999999999999']],
    [['123456789012345678901', '1234567890123456789010e-1', '123456789012345678901.0']],
    [['1e400', '10e399', '0.1e401']],
    [['"A"', '"\\u0041"']],
    [['0.1', '1e-1', '10e-2']],
  ])('%j are equal', (texts) => {
    expect(new Set(texts.map(canonicalJson)).size).toBe(1)
  })

  it.each([
    ['123456789012345678901', '123456789012345678902'],
    ['0.1', '0.1000000000000000055'],
    ['1e400', '1e401'],
    ['1', '"1"'],
    ['1e-400', '0'],
    ['true', '"true"'],
  ])('%s is not %s', (one, other) => {
    expect(canonicalJson(one)).not.toBe(canonicalJson(other))
  })
})
