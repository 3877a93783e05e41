/** The growing buffer: what is written stays as it was, wherever the buffer had to grow. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../src/bytes/byte-writer.ts'
import { EncodedText } from '../../src/bytes/prepared-text.ts'
import { runs } from './property-runs.ts'

describe('ByteWriter', () => {
  it('holds what was written, in order, through any growth', () => {
    const piece = fc.uint8Array({ maxLength: 70 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.array(piece), (capacity, pieces) => {
        const writer = new ByteWriter(capacity)
        for (const bytes of pieces) writer.writeBytes(bytes)
        expect(writer.copy()).toEqual(Buffer.concat(pieces))
      }),
      runs(200),
    )
  })

  it('gives its buffer away where it holds much and little room is left, and goes on with another', () => {
    const writer = new ByteWriter(16)
    for (const [length, isGiven] of [
      [10, false],
      [100_000, true],
      [7, false],
    ] as const) {
      writer.writeBytes(Buffer.alloc(length, length & 0xff))
      const { bytes } = writer
      const taken = writer.takeBytes()
      expect([taken.equals(Buffer.alloc(length, length & 0xff)), writer.bytes !== bytes]).toEqual([true, isGiven])
      if (isGiven) expect(writer.length).toBe(0)
      writer.reset()
    }
    writer.writeBytes(Buffer.alloc(100_000))
    writer.writeByte(1)
    // Half of it would be held for nothing.
    expect(writer.takeBytes().buffer.byteLength).toBe(100_001)
  })

  it('holds prepared texts between other bytes, of writers that write by turns and of one that has the buffer of another', () => {
    const pieces = fc.array(fc.tuple(fc.nat(2), fc.string({ unit: 'grapheme', maxLength: 20 })), { maxLength: 40 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 16 }), pieces, (capacity, texts) => {
        const buffer = Buffer.alloc(capacity)
        const writers = [new ByteWriter(capacity), new ByteWriter(buffer), new ByteWriter(200_000)]
        const expected = ['', '', '']
        for (const [i, text] of texts) {
          writers[i]?.writePrepared(new EncodedText(text))
          writers[i]?.writeByte(0x2c)
          expected[i] += `${text},`
        }
        expect(writers.map((writer) => writer.copy().toString())).toEqual(expected)
        const next = new ByteWriter(buffer)
        for (const [, text] of texts) next.writePrepared(new EncodedText(text))
        expect(next.copy().toString()).toBe(texts.map(([, text]) => text).join(''))
      }),
      runs(200),
    )
  })

  it('repeats what was written, however long', () => {
    const writer = new ByteWriter(1)
    const text = 'the same words again, and again, and once more, until nobody wants to hear them any longer: and again'
    writer.writeBytes(Buffer.from(text))
    const expected = [text]
    for (const [start, length] of [
      [0, 0],
      [4, 1],
      [3, 16],
      [2, 17],
      [5, 60],
      [0, text.length],
    ] as const) {
      writer.repeat(start, length)
      expected.push(text.slice(start, start + length))
    }
    expect(writer.copy().toString()).toBe(expected.join(''))
  })

  it('writes numbers big-endian', () => {
    const writer = new ByteWriter(1)
    writer.writeByte(0xff)
    writer.writeUint16(0x0102)
    writer.writeUint32(0xfffefdfc)
    expect([...writer.copy()]).toEqual([0xff, 1, 2, 0xff, 0xfe, 0xfd, 0xfc])
  })

  it('copies: what comes after a reset does not show in an earlier copy', () => {
    const writer = new ByteWriter(4)
    writer.writeUint32(1)
    const copy = writer.copy()
    writer.reset()
    writer.writeUint32(2)
    expect(copy).toEqual(Buffer.from([0, 0, 0, 1]))
    expect(writer.copy()).toEqual(Buffer.from([0, 0, 0, 2]))
  })

  it('reserves room that begins where the last write ended', () => {
    const writer = new ByteWriter(2)
    writer.writeByte(7)
    expect(writer.reserve(100)).toBe(1)
    expect(writer.length).toBe(101)
    expect(writer.bytes.length).toBeGreaterThanOrEqual(101)
    expect(writer.bytes[0]).toBe(7)
  })
})
