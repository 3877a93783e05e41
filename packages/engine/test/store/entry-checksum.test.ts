/** The checksum of stored values is CRC-32 over key and value, whichever way it is worked out. */
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { EntryChecks } from '../../src/store/lmdb/entry-checks.ts'
import {
  borrowedWithChecksum,
  checkedLength,
  checksum,
  checksumWithin,
  withChecksum,
} from '../../src/store/lmdb/entry-checksum.ts'

const bytesOf = (maxLength: number) => fc.uint8Array({ minLength: 0, maxLength })

describe('the checksum of an entry', () => {
  it('is that of zlib over key and value, for values of any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), bytesOf(1_000), (key, value) => {
        expect(checksum(key, value, value.length)).toBe(crc32(Buffer.concat([key, value])) | 0)
      }),
    )
  })

  it('is the same where key and value stand one behind the other', () => {
    fc.assert(
      fc.property(fc.nat(40), bytesOf(300), (from, entry) => {
        const page = Buffer.concat([Buffer.alloc(from, 1), entry, Buffer.of(2)])
        const view = new DataView(page.buffer, page.byteOffset, page.length)
        expect(checksumWithin(view, from, from + entry.length)).toBe(crc32(entry) | 0)
      }),
    )
  })

  it('is the same with a view of the bytes, which may be more than the value', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), bytesOf(400), (key, value) => {
        const stored = withChecksum(key, value)
        const bytes = Buffer.concat([Buffer.of(1), stored, Buffer.of(2)]).subarray(1)
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
        expect(checkedLength(key, bytes, stored.length, view)).toBe(value.length)
        bytes[value.length >> 1] = (bytes[value.length >> 1] as number) ^ 1
        expect(checkedLength(key, bytes, stored.length, view)).toBe(-1)
      }),
    )
  })

  it('sees every change of one bit in key, value or checksum', () => {
    const key = Buffer.from('0300030003000100', 'hex')
    let unseen = 0
    for (const length of [0, 1, 8, 319, 320, 400]) {
      const stored = withChecksum(key, Buffer.alloc(length, 0x5a))
      expect(checkedLength(key, stored, stored.length)).toBe(length)
      for (let bit = 0; bit < stored.length * 8; bit++) {
        const changed = Buffer.from(stored)
        changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
        if (checkedLength(key, changed, changed.length) >= 0) unseen++
      }
      for (let bit = 0; bit < key.length * 8; bit++) {
        const other = Buffer.from(key)
        other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7))
        if (checkedLength(other, stored, stored.length) >= 0) unseen++
      }
    }
    expect(unseen).toBe(0)
  })

  it('is the same in a borrowed buffer, of values that fit into it and of larger ones', () => {
    const key = Buffer.from('key')
    for (const length of [0, 1, 65_531, 65_532, 65_533, 70_000]) {
      const value = Buffer.alloc(length, length)
      const borrowed = borrowedWithChecksum(key, value)
      const stored = 'start' in borrowed ? borrowed.subarray(borrowed.start, borrowed.end) : borrowed
      expect(stored.equals(withChecksum(key, value)), `${length} bytes`).toBe(true)
    }
  })

  it('is missing in a value that is shorter than it', () => {
    expect(checkedLength(Buffer.from('a'), Buffer.alloc(3), 3)).toBe(-1)
  })
})

it('a long entry next to what is looked for is summed up once, and again where its key, its length or its checksum differs', () => {
  const checks = new EntryChecks('checked')
  const summedUp = vi.spyOn(checks, 'valueLength')
  const key = Buffer.from('0300030003000100', 'hex')
  const stored = withChecksum(key, Buffer.alloc(100_000, 0x5a))
  const isIntact = (ofKey = key, entry = stored): boolean => checks.isKeyIntact(ofKey, entry, entry.length)
  expect([isIntact(), isIntact(), isIntact()]).toEqual([true, true, true])
  expect(summedUp).toHaveBeenCalledTimes(1)
  const otherKey = Buffer.from('0300030003000101', 'hex')
  const otherSum = Buffer.from(stored)
  otherSum[stored.length - 1] = (otherSum.at(-1) as number) ^ 1
  expect([isIntact(otherKey), isIntact(key, otherSum), isIntact(key, stored.subarray(1))]).toEqual([
    false,
    false,
    false,
  ])
  const changed = withChecksum(key, Buffer.alloc(100_000, 0x5b))
  expect([isIntact(key, changed), isIntact(key, changed)]).toEqual([true, true])
  expect(summedUp).toHaveBeenCalledTimes(5)
  const short = withChecksum(key, Buffer.alloc(100))
  expect([isIntact(key, short), isIntact(otherKey, short)]).toEqual([true, false])
})
