/** date: real days of the years 0001 to 9999. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const date = { logicalType: 'date' }

describe('definition', () => {
  it.each([[date], [{ logicalType: 'Date', encoding: 'Objy' }]])('%j', (definition) => {
    expect(described(definition)).toEqual({ logicalType: 'date', encoding: 'objy' })
  })

  it.each([
    [
      { ...date, encoding: 'binary' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'objy' },
    ],
    [
      { ...date, storage: 'b32' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type date' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('values', () => {
  it.each([
    ['2024-02-29', '"2024-02-29"'],
    ['2024/02/29', '"2024-02-29"'],
    ['0001-01-01', '"0001-01-01"'],
    ['9999-12-31', '"9999-12-31"'],
    ['2000-02-29', '"2000-02-29"'],
    ['1900-02-28', '"1900-02-28"'],
    ['1582-10-10', '"1582-10-10"'],
  ])('%s is read back as %s', (json, text) => {
    expect(storedText(date, json)).toBe(text)
  })

  it('counts from the first day of the year 1', () => {
    expect(codecOf(date).parse('0001-01-01')).toBe(0)
    expect(codecOf(date).parse('0002-01-01')).toBe(365)
  })

  it.each([
    ['2023-02-29'],
    ['1900-02-29'],
    ['2024-13-01'],
    ['2024-00-01'],
    ['2024-01-00'],
    ['2024-04-31'],
    ['0000-01-01'],
    ['2024-2-9'],
    ['2024-02/29'],
    ['20240229'],
    ['10000-01-01'],
    ['-0001-01-01'],
    ['2024-02-29T00:00:00'],
    ['2024-02-29 '],
    ['today'],
    [''],
  ])('refuses %j', (json) => expectValueRefused(date, json, { type: 'ValueNotAllowed', words: 'such as 2024-02-29' }))

  it.each([[20_240_229], [true], [[]], [{}]])('refuses %j', (json) => {
    expectValueRefused(date, json, { type: 'MalformedValue' })
  })

  it('is null unless given', () => {
    expect(codecOf(date)).toMatchObject({ defaultValue: null, isNullable: true })
  })
})
