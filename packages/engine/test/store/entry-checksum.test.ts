/** The checksum of stored values is CRC-32 over key and value, whichever way it is worked out. */
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkedLength, checksum, lentWithChecksum, withChecksum } from '../../src/store/lmdb/entry-checksum.ts'

const bytesOf = (maxLength: number) => fc.uint8Array({ minLength: 0, maxLength })

describe('the checksum of an entry', () => {
  it('is that of zlib over key and value, for values of any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), bytesOf(1_000), (key, value) => {
        expect(checksum(key, value, value.length)).toBe(crc32(Buffer.concat([key, value])) | 0)
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

  it('is the same in a lent buffer, of values that fit into it and of larger ones', () => {
    const key = Buffer.from('key')
    for (const length of [0, 1, 65_531, 65_532, 65_533, 70_000]) {
      const value = Buffer.alloc(length, length)
      const lent = lentWithChecksum(key, value)
      const stored = 'start' in lent ? lent.subarray(lent.start, lent.end) : lent
      expect(stored.equals(withChecksum(key, value)), `${length} bytes`).toBe(true)
    }
  })

  it('is missing in a value that is shorter than it', () => {
    expect(checkedLength(Buffer.from('a'), Buffer.alloc(3), 3)).toBe(-1)
  })
})
