/** bytes: base64 in and out, bytes in records, and keys in the order of the bytes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bytesOf,
  codecOf,
  described,
  expectDefinitionRefused,
  expectValueRefused,
  keyOf,
  storedText,
} from './type-under-test.ts'

const bytes = { logicalType: 'bytes' }

describe('definition', () => {
  it('has no further fields', () => {
    expect(described({ logicalType: 'Bytes' })).toEqual(bytes)
    for (const [field, given] of Object.entries({ encoding: 'binary', storage: 'variable', fixedLength: 16 })) {
      const refusal = { type: 'InvalidDefinition', path: field, words: 'type bytes' } as const
      expectDefinitionRefused({ ...bytes, [field]: given }, refusal)
    }
  })
})

describe('values', () => {
  it.each([
    ['', '""'],
    ['AP8=', '"AP8="'],
    ['AP8', '"AP8="'],
    ['-_8', '"+/8="'],
    ['+_8=', '"+/8="'],
  ])('%j is read back as %s', (json, text) => {
    expect(storedText(bytes, json)).toBe(text)
  })

  it.each([
    ['A'],
    ['AA='],
    ['AA==='],
    ['='],
    // Bits that belong to no byte.
    ['AB=='],
    ['AAB='],
    ['AA==AA=='],
    ['A A='],
    ['AAAA\n'],
    ['é'],
  ])('refuses %j', (json) => expectValueRefused(bytes, json, { type: 'ValueNotAllowed', words: 'base64' }))

  it.each([[5], [true], [[65]], [{}]])('refuses %j', (json) => {
    expectValueRefused(bytes, json, { type: 'MalformedValue' })
  })

  it('are empty unless given', () => {
    expect(codecOf(bytes)).toMatchObject({ defaultValue: '', isNullable: true, fixedBytes: undefined })
  })

  it('are stored as they are, and keys order them bytewise', () => {
    const codec = codecOf(bytes)
    const any = fc.uint8Array({ maxLength: 8 }).map((given) => Buffer.from(given))
    fc.assert(
      fc.property(any, any, (one, other) => {
        const [a, b] = [one, other].map((value) => codec.parse(value.toString('base64url')))
        expect(bytesOf(codec, a)).toEqual(one)
        expect(Math.sign(Buffer.compare(keyOf(codec, a), keyOf(codec, b)))).toBe(Math.sign(Buffer.compare(one, other)))
      }),
    )
  })
})
