/** boolean: definitions and values, one by one. */
import { describe, expect, it } from 'vitest'
import {
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
} from './type-under-test.ts'

const boolean = { logicalType: 'boolean' }

describe('definition', () => {
  it.each([[boolean], [{ logicalType: 'BOOLEAN', encoding: 'Binary', storage: 'BYTE' }]])('%j', (definition) => {
    expect(described(definition)).toEqual({ logicalType: 'boolean', encoding: 'binary', storage: 'byte' })
  })

  it.each([
    [
      { ...boolean, encoding: 'signed' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'binary' },
    ],
    [
      { ...boolean, storage: 'b8' },
      { type: 'InvalidDefinition', path: 'storage', words: 'byte' },
    ],
    [
      { ...boolean, storage: 1 },
      { type: 'MalformedValue', path: 'storage' },
    ],
    [
      { ...boolean, fixedLength: 3 },
      { type: 'InvalidDefinition', path: 'fixedLength', words: 'type boolean' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    [true, 'true'],
    [false, 'false'],
    ['true', 'true'],
    ['false', 'false'],
  ])('%j is read back as %s', (json, text) => {
    expect(storedText(boolean, json)).toBe(text)
  })

  it.each([[0], [1], [''], ['yes'], ['True'], ['TRUE'], [' true'], [[]], [{}], [1n]])('refuses %s', (json) => {
    expectValueRefused(boolean, json, { type: 'MalformedValue', words: 'true or false' })
  })

  it('is false unless given', () => {
    expect(codecOf(boolean)).toMatchObject({ defaultValue: false, isNullable: true, fixedBytes: 1 })
  })

  it('false comes before true', () => {
    const codec = codecOf(boolean)
    expect(Buffer.compare(keyOf(codec, false), keyOf(codec, true))).toBe(-1)
  })
})
