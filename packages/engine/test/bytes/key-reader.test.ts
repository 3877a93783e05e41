/** What is written into index keys is read back as it was. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readKeyBoolean, readKeyInteger, readKeyReal, readKeyText, readKeyTicks } from '../../src/bytes/key-reader.ts'
import { type KeyForm, KeyWriter, readKeyPart } from '../../src/bytes/key-writer.ts'

type Read = (key: Uint8Array, at: number, end: number) => unknown

/** Behind other bytes, and with others behind it. */
function readBack(form: KeyForm, write: (to: KeyWriter) => void, read: Read): unknown {
  const writer = new KeyWriter()
  writer.to.writeUint32(7)
  write(writer)
  const { length } = writer.to
  writer.boolean(true)
  const key = writer.to.copy()
  const { end, isTruncated } = readKeyPart(key, 4, form)
  expect([end, isTruncated]).toEqual([length, false])
  return read(key, 5, end)
}

function checked<V>(values: fc.Arbitrary<V>, test: (value: V) => void): void {
  fc.assert(fc.property(values, test))
}

describe('reads back', () => {
  it('booleans', () => {
    for (const value of [true, false])
      expect(readBack('oneByte', (to) => to.boolean(value), readKeyBoolean)).toBe(value)
  })

  it('integers of up to 64 bits', () => {
    const edges = fc.constantFrom(0n, -1n, 255n, 256n, -256n, 2n ** 48n, 2n ** 53n, -(2n ** 63n), 2n ** 64n - 1n)
    checked(fc.oneof(edges, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n })), (value) => {
      const read = readBack('integer', (to) => to.integer(value), readKeyInteger)
      expect(BigInt(read as bigint)).toBe(value)
      if (value < 2n ** 53n && value > -(2n ** 53n)) expect(Number(read)).toBe(Number(value))
    })
  })

  it('reals', () => {
    checked(fc.double({ noNaN: true }), (value) => {
      const read = readBack('eightBytes', (to) => to.real(value), readKeyReal)
      expect(read).toBe(value === 0 ? 0 : value)
    })
  })

  it('counts of either sign', () => {
    checked(fc.maxSafeInteger(), (value) => {
      expect(readBack('eightBytes', (to) => to.ticks(value), readKeyTicks)).toBe(value)
    })
  })

  it('texts', () => {
    const units = fc.oneof(fc.constantFrom('\0', '\u00ff', 'é', '😀', 'a'), fc.string({ unit: 'binary', maxLength: 1 }))
    checked(fc.array(units, { maxLength: 20 }), (characters) => {
      const text = characters.join('').toWellFormed()
      expect(readBack('text', (to) => to.text(text), readKeyText)).toBe(text)
    })
  })
})
