/** Numbers read in place are those that were written. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDouble, readFloat, readUint32 } from '../../src/bytes/read-number.ts'
import { runs } from './property-runs.ts'

/** The number in the middle of other bytes. */
function amid(width: number, write: (bytes: Buffer) => void): Uint8Array {
  const bytes = Buffer.alloc(width + 6, 0xaa)
  write(bytes)
  return bytes
}

describe('numbers in place', () => {
  it('reads what was written, not the bytes around it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), fc.double(), fc.float(), (whole, double, single) => {
        expect(
          readUint32(
            amid(4, (bytes) => bytes.writeUInt32BE(whole, 3)),
            3,
          ),
        ).toBe(whole)
        expect(
          readDouble(
            amid(8, (bytes) => bytes.writeDoubleBE(double, 3)),
            3,
          ),
        ).toBe(double)
        expect(
          readFloat(
            amid(4, (bytes) => bytes.writeFloatBE(single, 3)),
            3,
          ),
        ).toBe(single)
      }),
      runs(500),
    )
  })
})
