/** The open end of the range of all keys with a prefix. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { prefixEnd } from '../../src/bytes/key-space.ts'
import { runs } from './property-runs.ts'

describe('prefixEnd', () => {
  it.each([
    [[3], [4]],
    [[3, 0xff], [4]],
    [
      [3, 7, 0xff, 0xff],
      [3, 8],
    ],
    [[0xff, 0xff], []],
  ])('of %j is %j', (prefix, end) => {
    expect([...prefixEnd(Uint8Array.from(prefix))]).toEqual(end)
  })

  it('is above every key with the prefix and not above any other that is higher', () => {
    const prefix = fc.uint8Array({ minLength: 1, maxLength: 4 }).filter((bytes) => bytes.some((byte) => byte < 0xff))
    fc.assert(
      fc.property(prefix, fc.uint8Array({ maxLength: 6 }), (bytes, other) => {
        const end = prefixEnd(bytes)
        expect(Buffer.compare(Buffer.concat([bytes, other]), end)).toBe(-1)
        const isWithin = Buffer.compare(other, bytes) >= 0 && Buffer.compare(other, end) < 0
        expect(isWithin).toBe(Buffer.from(other).subarray(0, bytes.length).equals(bytes))
      }),
      runs(500),
    )
  })
})
