/** Key parts: byte order is value order, and no part runs into the next. */
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { KeyWriter } from '../../src/bytes/key-writer.ts'
import { runs } from './property-runs.ts'

function keyOf(write: (key: KeyWriter) => void): Buffer {
  const key = new KeyWriter()
  write(key)
  return key.to.copy()
}

/** Order of the keys of two values as −1, 0 or 1. */
function order<V>(write: (key: KeyWriter, value: V) => void, one: V, other: V): number {
  return Buffer.compare(
    keyOf((key) => write(key, one)),
    keyOf((key) => write(key, other)),
  )
}

function compare(one: number | bigint | string, other: number | bigint | string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Texts compare by code point; JavaScript's own order is by UTF-16 unit. */
function byCodePoint(text: string): string {
  return Array.from(text, (character) => (character.codePointAt(0) as number).toString(16).padStart(6, '0')).join('')
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc
    .array(fc.constantFrom('a', 'b', '\u0000', '\u0001', '\u00ff', '\uffff', '😀'), { maxLength: 5 })
    .map((parts) => parts.join('')),
)
const i64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n })
const edge = fc
  .tuple(fc.integer({ min: 0, max: 64 }), fc.constantFrom(-1n, 0n, 1n), fc.constantFrom(-1n, 1n))
  .map(([bits, step, sign]) => sign * 2n ** BigInt(bits) + step)
  .filter((value) => value >= -(2n ** 63n) && value < 2n ** 64n)

describe('integers', () => {
  const integer = (key: KeyWriter, value: number | bigint) => key.integer(value)

  it('are ordered over all of i64 and u64', () => {
    const value = fc.oneof(i64, edge, fc.bigInt({ min: -300n, max: 300n }))
    fc.assert(
      fc.property(value, value, (one, other) => {
        expect(order(integer, one, other)).toBe(compare(one, other))
      }),
      runs(2_000),
    )
  })

  it('look the same as number and as bigint', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        expect(order(integer, value, BigInt(value))).toBe(0)
      }),
      runs(500),
    )
  })

  it.each([
    [0, [0x01, 0x80]],
    [1, [0x01, 0x81, 1]],
    [256, [0x01, 0x82, 1, 0]],
    [-1, [0x01, 0x7f, 0xfe]],
    [-256, [0x01, 0x7e, 0xfe, 0xff]],
    [2n ** 64n - 1n, [0x01, 0x88, 255, 255, 255, 255, 255, 255, 255, 255]],
  ])('%s is stored as %j', (value, bytes) => {
    expect([...keyOf((key) => key.integer(value))]).toEqual(bytes)
  })
})

describe('reals, ticks and booleans', () => {
  it('orders reals', () => {
    const value = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0, 5e-324, -5e-324))
    fc.assert(
      fc.property(value, value, (one, other) => {
        expect(order((key, real: number) => key.real(real), one, other)).toBe(compare(one, other))
      }),
      runs(1_000),
    )
  })

  it('−0 is 0', () => {
    expect(order((key, value: number) => key.real(value), -0, 0)).toBe(0)
  })

  it('orders ticks of either sign up to 2^53', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.oneof(fc.maxSafeInteger(), fc.integer()), (one, other) => {
        expect(order((key, value: number) => key.ticks(value), one, other)).toBe(compare(one, other))
      }),
      runs(1_000),
    )
  })

  it.each([
    [0, '018000000000000000'],
    [1, '018000000000000001'],
    [-1, '017fffffffffffffff'],
    [Number.MAX_SAFE_INTEGER, '01801fffffffffffff'],
  ])('%s ticks are stored as %s', (value, hex) => {
    expect(keyOf((key) => key.ticks(value)).toString('hex')).toBe(hex)
  })

  it.each([
    [0, '018000000000000000'],
    [1.5, '01bff8000000000000'],
    [-1.5, '014007ffffffffffff'],
  ])('the real %s is stored as %s', (value, hex) => {
    expect(keyOf((key) => key.real(value)).toString('hex')).toBe(hex)
  })

  it('false comes before true, and every value before null', () => {
    expect(order((key, value: boolean) => key.boolean(value), false, true)).toBe(-1)
    const nothing = keyOf((key) => key.null())
    const values = [
      keyOf((key) => key.boolean(true)),
      keyOf((key) => key.integer(2n ** 64n - 1n)),
      keyOf((key) => key.real(Number.MAX_VALUE)),
      keyOf((key) => key.text('\u{10ffff}')),
      keyOf((key) => key.fixed(Buffer.alloc(16, 0xff))),
    ]
    for (const value of values) expect(Buffer.compare(value, nothing)).toBe(-1)
  })
})

describe('texts', () => {
  it('are ordered by code point, also where they hold NUL', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        const expected = compare(byCodePoint(one), byCodePoint(other))
        expect(order((key, value: string) => key.text(value), one, other)).toBe(expected)
      }),
      runs(2_000),
    )
  })

  it('of a megabyte are written without a buffer that is twice as long', () => {
    const key = new KeyWriter()
    key.text('x'.repeat(1_000_000))
    expect([key.to.length, key.to.bytes.length]).toEqual([1_000_003, 1_000_003])
  })

  it('do not run into the next part', () => {
    fc.assert(
      fc.property(fc.tuple(text, text), fc.tuple(text, text), (one, other) => {
        const write = (key: KeyWriter, parts: readonly string[]) => {
          for (const part of parts) key.text(part)
        }
        const first = compare(byCodePoint(one[0]), byCodePoint(other[0]))
        const expected = first === 0 ? compare(byCodePoint(one[1]), byCodePoint(other[1])) : first
        expect(order(write, one, other)).toBe(expected)
      }),
      runs(1_000),
    )
  })

  it.each([
    ['', [0x01, 0, 1]],
    ['a', [0x01, 0x61, 0, 1]],
    ['a\u0000', [0x01, 0x61, 0, 0xff, 0, 1]],
    ['é', [0x01, 0xc3, 0xa9, 0, 1]],
  ])('%j is stored as %j', (value, bytes) => {
    expect([...keyOf((key) => key.text(value))]).toEqual(bytes)
  })
})

describe('long texts', () => {
  it('are the same bytes whole as with limits that they do not reach', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 40 }), (value, times) => {
        const long = value.repeat(times)
        const limited = (key: KeyWriter): void => {
          key.textCharactersMax = 1_000_000
          key.textBytesMax = 1_000_000
          key.text(long)
        }
        expect(keyOf((key) => key.text(long))).toEqual(keyOf(limited))
      }),
      runs(500),
    )
  })

  it('are written whole in pieces, not byte by byte', () => {
    const key = new KeyWriter()
    const writeByte = vi.spyOn(key.to, 'writeByte')
    key.text(`${'x'.repeat(100_000)}\u0000${'é'.repeat(100_000)}`)
    expect(writeByte.mock.calls.length).toBeLessThan(10)
  })
})

describe('cut texts', () => {
  interface Cut {
    readonly bytes: Buffer
    readonly isTruncated: boolean
  }
  function cut(value: string, charactersMax: number, bytesMax = Number.POSITIVE_INFINITY): Cut {
    const key = new KeyWriter()
    key.textCharactersMax = charactersMax
    key.textBytesMax = bytesMax
    key.text(value)
    return { bytes: key.to.copy(), isTruncated: key.isTruncated }
  }

  it('are cut after so many characters, and say so', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (value, charactersMax) => {
        const characters = Array.from(value)
        const { bytes, isTruncated } = cut(value, charactersMax)
        expect(isTruncated).toBe(characters.length > charactersMax)
        const whole = cut(characters.slice(0, charactersMax).join(''), Number.POSITIVE_INFINITY).bytes
        expect(bytes.subarray(0, -1)).toEqual(whole.subarray(0, -1))
        expect(bytes.at(-1)).toBe(isTruncated ? 2 : 1)
      }),
      runs(1_000),
    )
  })

  it('of a long text look at no more than may be stored, and are what they would be of its beginning', () => {
    const beginnings = ['a', '😀', 'a😀', '\u0000', '€', `${'a'.repeat(9)}😀`, `${'a'.repeat(8)}😀`].map((unit) =>
      unit.repeat(50),
    )
    for (const beginning of beginnings) {
      for (const [charactersMax, bytesMax] of [
        [10, Number.POSITIVE_INFINITY],
        [Number.POSITIVE_INFINITY, 23],
        [9, 24],
        [10, 12],
      ] as const) {
        const cut = (value: string): Buffer => {
          return keyOf((key) => {
            key.textCharactersMax = charactersMax
            key.textBytesMax = bytesMax
            key.text(value)
            expect(key.isTruncated).toBe(true)
          })
        }
        const expected = cut(beginning)
        const from = vi.spyOn(Buffer, 'from')
        const key = cut(beginning + 'x'.repeat(100_000))
        const converted = from.mock.calls.map(([value]) => (value as unknown as string).length)
        from.mockRestore()
        expect(Math.max(0, ...converted)).toBeLessThan(50)
        expect(key).toEqual(expected)
      }
    }
  })

  it('never take more bytes than they may, and never end within a character', () => {
    fc.assert(
      fc.property(
        fc.oneof(text, fc.string({ unit: 'binary-ascii' })),
        fc.integer({ min: 3, max: 30 }),
        (value, bytesMax) => {
          const { bytes, isTruncated } = cut(value, Number.POSITIVE_INFINITY, bytesMax)
          expect(bytes.length).toBeLessThanOrEqual(bytesMax)
          const stored = bytes.subarray(1, -2).toString('latin1').replaceAll('\u0000\u00ff', '\u0000')
          const prefix = Buffer.from(stored, 'latin1').toString('utf8')
          expect(value.startsWith(prefix)).toBe(true)
          expect(isTruncated).toBe(prefix.length < value.length)
        },
      ),
      runs(1_000),
    )
  })

  it('keep the order of the texts, as far as it is stored', () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 1, max: 3 }), (one, other, charactersMax) => {
        const expected = compare(byCodePoint(one), byCodePoint(other))
        const stored = Buffer.compare(cut(one, charactersMax).bytes, cut(other, charactersMax).bytes)
        expect([expected, 0]).toContain(stored)
      }),
      runs(1_000),
    )
  })

  it('sort after the whole text equal to their prefix', () => {
    expect(Buffer.compare(cut('ab', 2).bytes, cut('abc', 2).bytes)).toBe(-1)
    expect(cut('abc', 2).isTruncated).toBe(true)
    expect(cut('ab', 2).isTruncated).toBe(false)
  })

  it('stay cut for the parts after them', () => {
    const key = new KeyWriter()
    key.textCharactersMax = 1
    key.text('abc')
    key.textCharactersMax = 10
    key.text('abc')
    expect(key.isTruncated).toBe(true)
  })
})

it('a whole text is its UTF-8, with an escape behind each NUL', () => {
  const long = 65_536
  for (const text of ['', 'a', 'z'.repeat(3 * long), `${'x'.repeat(long - 1)}😀€\0${'ж'.repeat(long)}\0`]) {
    const writer = new KeyWriter()
    writer.text(text)
    const escaped = Buffer.from(text.replaceAll('\0', '\0\u00ff'))
    const expected = Buffer.from(escaped.toString('latin1').replaceAll('\0\u00c3\u00bf', '\0\u00ff'), 'latin1')
    expect(writer.to.copy().equals(Buffer.concat([Buffer.from([1]), expected, Buffer.from([0, 1])]))).toBe(true)
  }
})
