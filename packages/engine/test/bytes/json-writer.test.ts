/** JSON text straight into bytes: the same text that the runtime's own writer makes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonWriter } from '../../src/bytes/json-writer.ts'
import { runs } from './property-runs.ts'

function written(write: (json: JsonWriter) => void): string {
  const json = new JsonWriter()
  write(json)
  return json.to.copy().toString('utf8')
}

/** Any UTF-16, half surrogate pairs included. */
const anyText = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 80 }).map((units) => {
  return String.fromCharCode(...units)
})
const asciiText = fc.string({ unit: 'binary-ascii', maxLength: 80 })

describe('JsonWriter', () => {
  it('writes texts as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.oneof(asciiText, fc.string({ unit: 'binary' }), anyText), (text) => {
        expect(written((json) => json.string(text))).toBe(JSON.stringify(text))
      }),
      runs(1_000),
    )
  })

  it.each([
    ['', '""'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['\n\u0000', '"\\n\\u0000"'],
    ['é漢😀', '"é漢😀"'],
    ['\ud800', '"\\ud800"'],
    ['x'.repeat(5_000), `"${'x'.repeat(5_000)}"`],
    ['é'.repeat(5_000), `"${'é'.repeat(5_000)}"`],
  ])('writes %j', (text, json) => {
    expect(written((to) => to.string(text))).toBe(json)
  })

  it('leaves nothing behind of a text that turned out to need escapes', () => {
    const text = written((json) => {
      json.ascii('[')
      json.string('long enough, then "')
      json.ascii(',')
      json.string('plain')
      json.ascii(']')
    })
    expect(text).toBe('["long enough, then \\"","plain"]')
  })

  it('writes whole numbers exactly, up to 2^53', () => {
    const whole = fc.oneof(
      fc.maxSafeInteger(),
      fc.integer(),
      fc.constantFrom(0, 9, 10, 99, 100, 0xffff_ffff, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    )
    fc.assert(
      fc.property(whole, (value) => {
        expect(written((json) => json.integer(value))).toBe(String(value === 0 ? 0 : value))
      }),
      runs(1_000),
    )
  })

  it('copies UTF-8 that needs no escapes, from within other bytes', () => {
    const text = fc
      .string({ unit: 'grapheme', maxLength: 60 })
      .filter((value) => JSON.stringify(value) === `"${value}"`)
    fc.assert(
      fc.property(text, fc.uint8Array({ maxLength: 5 }), (value, around) => {
        const utf8 = Buffer.from(value)
        const bytes = Buffer.concat([around, utf8, around])
        const start = around.length
        expect(written((json) => json.plainUtf8(bytes, start, start + utf8.length))).toBe(`"${value}"`)
      }),
      runs(300),
    )
  })

  it('grows for raw bytes of any length', () => {
    const long = Buffer.alloc(10_000, 0x31)
    expect(written((json) => json.raw(long))).toBe('1'.repeat(10_000))
  })
})
