/** Request bodies as JSON: exact numbers, bounded depth, ordinary keys. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/parse-json.ts'

const parse = (text: string): unknown => parseJson(new TextEncoder().encode(text), 64)
const refusal = expect.objectContaining({ type: 'MalformedRequest' })

/** Any JSON has integers beyond 2^53 too, which come as bigint by design. */
function inNumbers(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part))
}

/** Exactly: the digits as one whole number, and the power of ten that they are to be divided by. */
function isWholeNumber(before: string, after: string, exponent: number): boolean {
  const shift = after.length - exponent
  return shift <= 0 || BigInt(`${before}${after}`) % 10n ** BigInt(shift) === 0n
}

describe('parseJson', () => {
  it('reads any JSON as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        expect(inNumbers(parse(text))).toBe(inNumbers(JSON.parse(text)))
      }),
    )
  })

  it('reads any JSON the same beside a number of many digits, which takes the exact parser', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const [value, digits] = parse(`[${text}, 12345678901234567890]`) as [unknown, unknown]
        expect(inNumbers(value)).toBe(inNumbers(JSON.parse(text)))
        expect(digits).toBe(12345678901234567890n)
      }),
    )
  })

  it('gives every integer exactly: as number within 2^53, as bigint beyond', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), (value) => {
        const parsed = parse(`{"n": ${value}}`) as { n: number | bigint }
        expect(BigInt(parsed.n)).toBe(value)
        expect(typeof parsed.n).toBe(Number.isSafeInteger(Number(value)) ? 'number' : 'bigint')
      }),
    )
  })

  it('takes numbers with a fraction or exponent as numbers, whatever their digits', () => {
    expect(parse('[1.2345678901234567, 1e400, 12345678901234567e-3, -0]')).toEqual([
      1.2345678901234567,
      Number.POSITIVE_INFINITY,
      Number('12345678901234567e-3'),
      -0,
    ])
  })

  it('keeps a fraction that a double does not hold, and no other, as a symbol', () => {
    const digits = (min: number, max: number) =>
      fc
        .array(fc.tuple(fc.constantFrom('0', '9', '1', '5'), fc.nat(18)), { minLength: min, maxLength: 3 })
        .map((parts) =>
          parts
            .map(([digit, times]) => digit.repeat(times + 1))
            .join('')
            .slice(0, max),
        )
    const whole = digits(1, 20).map((text) => text.replace(/^0+(?=\d)/, ''))
    const exponent = fc.oneof(
      fc.constant(''),
      fc.integer({ min: -420, max: 25 }).map((power) => `e${power}`),
    )
    fc.assert(
      fc.property(fc.constantFrom('', '-'), whole, digits(0, 24), exponent, (sign, before, after, power) => {
        const text = `${sign}${before}${after === '' ? '' : `.${after}`}${power}`
        const parsed = (parse(`[${text}]`) as unknown[])[0]
        const isHidden = Number.isInteger(Number(text)) && !isWholeNumber(before, after, Number(power.slice(1)))
        expect([text, typeof parsed === 'symbol']).toEqual([text, isHidden])
        if (typeof parsed === 'symbol') expect(parsed.description).toBe(text)
        else expect(Number(parsed)).toBe(Number(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it('does not spend time on an integer of a million digits', () => {
    expect(parse(`[${'9'.repeat(1_000_000)}]`)).toEqual([Number.POSITIVE_INFINITY])
  })

  it.each(['{"a":1,"a":2}', '{"a":12345678901234567890,"a":2}', '{"a":2,"b":12345678901234567890,"a":2}'])(
    'lets the last of equal keys win: %s',
    (text) => {
      expect((parse(text) as { a: number }).a).toBe(2)
    },
  )

  it.each(['1', '12345678901234567890'])('keeps __proto__ and constructor as ordinary keys beside %s', (digits) => {
    const parsed = parse(`{"__proto__":{"x":1},"constructor":2,"n":${digits}}`) as object
    expect(Object.keys(parsed)).toEqual(['__proto__', 'constructor', 'n'])
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
  })

  it('takes 64 levels, and refuses 65', () => {
    expect(parse(`${'['.repeat(64)}${']'.repeat(64)}`)).toBeDefined()
    expect(() => parse(`${'['.repeat(65)}${']'.repeat(65)}`)).toThrow(refusal)
    expect(() => parse(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)).toThrow(/64 levels/)
  })

  it('refuses a million levels without recursion', () => {
    expect(() => parse('['.repeat(1_000_000))).toThrow(/64 levels/)
  })

  it('counts no brackets within strings', () => {
    const text = JSON.stringify(`\\"${'[{'.repeat(100)}"`)
    expect(parse(text)).toBe(JSON.parse(text))
  })

  it.each([
    ['a byte order mark', '\uFEFF{}'],
    ['an open string', '{"a'],
    ['a trailing comma', '[1,]'],
    ['two values', '1 2'],
    ['a leading zero', '[01]'],
    ['NaN', '[NaN]'],
    ['a comment', '{} // no'],
    ['single quotes', "{'a':1}"],
    ['many digits and a trailing comma', '[12345678901234567890,]'],
    ['many digits and a control character', '["\u0001",12345678901234567890]'],
    ['nothing but blanks', '  '],
  ])('refuses %s', (_what, text) => {
    expect(() => parse(text)).toThrow(refusal)
  })

  it('refuses bytes that are not UTF-8', () => {
    expect(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22), 64)).toThrow(/UTF-8/)
    expect(() => parseJson(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), 64)).toThrow(/UTF-8/)
  })
})
