/** time: a time of day to 100 µs. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const time = { logicalType: 'time' }

describe('definition', () => {
  it('shows its encoding', () => {
    expect(described({ logicalType: 'TIME' })).toEqual({ logicalType: 'time', encoding: 'objy' })
  })

  it.each([
    [
      { ...time, encoding: 'ieee' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'objy' },
    ],
    [
      { ...time, storage: 'time' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type time' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    ['08:05:09.25', '"08:05:09.25"'],
    ['08:05:09.2500', '"08:05:09.25"'],
    ['08:05:09.00019', '"08:05:09.0001"'],
    ['08:05:09.00009', '"08:05:09"'],
    ['23:59:59.99999999999999999999', '"23:59:59.9999"'],
    ['08:05:09', '"08:05:09"'],
    ['08:05', '"08:05:00"'],
    ['00:00', '"00:00:00"'],
  ])('%s is read back as %s', (json, text) => {
    expect(storedText(time, json)).toBe(text)
  })

  it.each([
    ['24:00:00'],
    ['08:60:00'],
    ['08:05:60'],
    ['8:05'],
    ['08:5'],
    ['08:05:9'],
    ['08:05:09.'],
    ['08:05.5'],
    ['08:05:09Z'],
    ['T08:05:09'],
    ['08'],
    [''],
  ])('refuses %j', (json) => expectValueRefused(time, json, { type: 'ValueNotAllowed', words: 'such as 08:05:09.25' }))

  it.each([[805], [true], [[]], [{}]])('refuses %j', (json) => {
    expectValueRefused(time, json, { type: 'MalformedValue' })
  })

  it('is null unless given', () => {
    expect(codecOf(time)).toMatchObject({ defaultValue: null, isNullable: true })
  })
})
