/** datetime: plain, and with an offset. */
import { describe, expect, it } from 'vitest'
import {
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
} from './type-under-test.ts'

const plain = { logicalType: 'datetime' }
const offset = { logicalType: 'datetime', storage: 'datetimeoffset' }

describe('definition', () => {
  it.each([
    [plain, 'datetime'],
    [{ logicalType: 'DateTime', encoding: 'OBJY', storage: 'DateTimeOffset' }, 'datetimeoffset'],
  ])('%j', (definition, storage) => {
    expect(described(definition)).toEqual({ logicalType: 'datetime', encoding: 'objy', storage })
  })

  it.each([
    [
      { ...plain, encoding: 'utf8' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'objy' },
    ],
    [
      { ...plain, storage: 'b64' },
      { type: 'InvalidDefinition', path: 'storage', words: 'datetimeoffset' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('plain values', () => {
  it.each([
    ['2024-02-29T08:05:09.25', '"2024-02-29T08:05:09.25"'],
    ['2024-02-29 08:05:09.25', '"2024-02-29T08:05:09.25"'],
    ['2024/02/29 08:05', '"2024-02-29T08:05:00"'],
    ['0001-01-01T00:00:00', '"0001-01-01T00:00:00"'],
    ['9999-12-31T23:59:59.99999', '"9999-12-31T23:59:59.9999"'],
  ])('%s is read back as %s', (json, text) => {
    expect(storedText(plain, json)).toBe(text)
  })

  it.each([
    ['2024-02-29T08:05:09Z', '"2024-02-29T08:05:09"'],
    ['2024-02-29 08:05:09 Z', '"2024-02-29T08:05:09"'],
    ['2024-02-29T08:05:09.25+05:30', '"2024-02-29T02:35:09.25"'],
    ['2024-02-29 08:05:09 +05:30', '"2024-02-29T02:35:09"'],
    ['2024-02-29T23:05-02:00', '"2024-03-01T01:05:00"'],
    ['2024-02-29T08:05:09-00:00', '"2024-02-29T08:05:09"'],
    ['0001-01-01T05:30:00+05:30', '"0001-01-01T00:00:00"'],
    ['9999-12-31T23:58:00-00:01', '"9999-12-31T23:59:00"'],
  ])('the offset of %s is applied and dropped: %s', (json, text) => {
    expect(storedText(plain, json)).toBe(text)
  })

  it.each([['0001-01-01T05:29:59.9999+05:30'], ['9999-12-31T23:59:00-00:01']])(
    'refuses %s, which is beyond the years without its offset',
    (json) => expectValueRefused(plain, json, { type: 'ValueNotAllowed', words: 'beyond the years 0001 to 9999' }),
  )

  it('refuses an offset beyond 14:00', () => {
    const refusal = { type: 'ValueNotAllowed', words: 'beyond 14:00' } as const
    expectValueRefused(plain, '2024-02-29T08:05:09+14:01', refusal)
  })

  it('is null unless given', () => {
    expect(codecOf(plain)).toMatchObject({ defaultValue: null, isNullable: true })
  })
})

describe('values with an offset', () => {
  it.each([
    ['2024-02-29T08:05:09.25', '"2024-02-29T08:05:09.25Z"'],
    ['2024-02-29T08:05:09Z', '"2024-02-29T08:05:09Z"'],
    ['2024-02-29T08:05:09+00:00', '"2024-02-29T08:05:09Z"'],
    ['2024-02-29T08:05:09-00:00', '"2024-02-29T08:05:09Z"'],
    ['2024-02-29T08:05:09+05:30', '"2024-02-29T08:05:09+05:30"'],
    ['2024-02-29 08:05-11:00', '"2024-02-29T08:05:00-11:00"'],
    ['2024-02-29 08:05:09 Z', '"2024-02-29T08:05:09Z"'],
    ['2024-02-29T08:05:09 -11:00', '"2024-02-29T08:05:09-11:00"'],
    ['2024-02-29T08:05:09+14:00', '"2024-02-29T08:05:09+14:00"'],
    ['2024-02-29T08:05:09-14:00', '"2024-02-29T08:05:09-14:00"'],
    ['0001-01-01T00:00:00+14:00', '"0001-01-01T00:00:00+14:00"'],
    ['9999-12-31T23:59:59.9999-14:00', '"9999-12-31T23:59:59.9999-14:00"'],
  ])('%s is read back as %s', (json, text) => {
    expect(storedText(offset, json)).toBe(text)
  })

  it.each([['+14:01'], ['-14:01'], ['+15:00'], ['+05:60'], ['+99:99']])('refuses the offset %s', (text) => {
    expectValueRefused(offset, `2024-02-29T08:05:09${text}`, { type: 'ValueNotAllowed', words: 'beyond 14:00' })
  })

  it('compares by instant alone', () => {
    const codec = codecOf(offset)
    const key = (json: string) => keyOf(codec, codec.parse(json))
    expect(key('2024-01-01T12:00:00+02:00')).toEqual(key('2024-01-01T10:00:00Z'))
    expect(Buffer.compare(key('2024-01-01T12:00:00+03:00'), key('2024-01-01T10:00:00Z'))).toBe(-1)
    expect(Buffer.compare(key('0001-01-01T00:00:00+14:00'), key('0001-01-01T00:00:00Z'))).toBe(-1)
  })
})

describe.each([[plain], [offset]])('%j', (definition) => {
  it.each([
    ['2023-02-29T08:05:09'],
    ['2024-02-29T24:00:00'],
    ['2024-02-29t08:05:09'],
    ['2024-02-29  08:05:09'],
    ['2024-02-29'],
    ['08:05:09'],
    ['2024-02-29T08:05:09z'],
    ['2024-02-29T08:05:09+0530'],
    ['2024-02-29T08:05:09  Z'],
    ['2024-02-29T08:05:09 '],
    ['0000-12-31T23:00:00'],
    ['now'],
    [''],
  ])('refuses %j', (json) => expectValueRefused(definition, json, { type: 'ValueNotAllowed', words: 'such as' }))

  it.each([[0], [true], [[]], [{}]])('refuses %j', (json) => {
    expectValueRefused(definition, json, { type: 'MalformedValue' })
  })
})
