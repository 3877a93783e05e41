/** Request bodies as JSON: exact numbers, bounded depth, ordinary keys. */
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { JsonScan } from '../../src/json/json-scan.ts'
import { parseJson } from '../../src/json/parse-json.ts'
import { parseExactly } from '../../src/json/parse-text.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const limits = { depthMax: 64, valuesMax: 10_000, valuesLimit: 'someValuesMax' }
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const parse = (text: string): unknown => parseJson(bytesOf(text), limits)
/** As a large body, by blanks behind it. */
const parseLarge = async (text: string): Promise<unknown> => parseJson(bytesOf(text + ' '.repeat(20_000)), limits)
const malformed: readonly (readonly [string, string])[] = [
  ['a second byte order mark', '\uFEFF\uFEFF{}'],
  ['a byte order mark after the beginning', '{\uFEFF}'],
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
  ['a comma too many in a large array', '[1,2,3,4,5,6,,7,8,9,10]'],
  ['a trailing comma in a large array', '[1,2,3,4,5,6,7,8,9,10,]'],
  ['a comma before a large array', '[,[1,2,3,4,5,6]]'],
  ['no comma behind a large array', '[[1,2,3,4,5,6]7]'],
  ['brackets that do not match', '[1,2,3,4,5,6}'],
  ['a number before a large array', '{"a":1[1,2,3,4,5,6]}'],
  ['a large array without a name', '{[1,2,3,4,5,6]}'],
  ['something behind a large array', '[1,2,3,4,5,6] []'],
  ['something before a large array', '1[1,2,3,4,5,6]'],
  ['a large array without an end', '[1,2,3,4,5,6'],
]
const refusal = expect.objectContaining({ type: 'MalformedRequest' })

/** Any JSON has integers beyond 2^53 too, which come as bigint by design. */
function inNumbers(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part))
}

/** Exactly, in units that are small enough for all numbers of a test. */
function unitsOf(number: string): bigint {
  const [mantissa = '', exponent = '0'] = number.split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(unitExponent + Number(exponent) - fraction.length)
}

const unitExponent = 500

/** What becomes of a number with a point or an exponent. */
function kindOf(text: string): string {
  const value = Number(text)
  if (unitsOf(String(value)) === unitsOf(text)) return 'number'
  return unitsOf(text) % 10n ** BigInt(unitExponent) === 0n && Math.abs(value) < 2 ** 64 ? 'bigint' : 'symbol'
}

describe('parseJson', () => {
  it('ignores a byte order mark at the beginning, as PowerShell writes it', async () => {
    const text = '\uFEFF[{"a":9007199254740993},"ü"]'
    const value = [{ a: 9007199254740993n }, 'ü']
    expect([parse(text), await parseLarge(text)]).toEqual([value, value])
  })

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

  it('takes numbers with a fraction or exponent as numbers where a double stands for them', () => {
    expect(parse('[1.2345678901234567, 0.30000000000000004, 1e400, 12345678901234.500, -0]')).toEqual([
      1.2345678901234567,
      0.30000000000000004,
      Number.POSITIVE_INFINITY,
      12345678901234.5,
      -0,
    ])
    expect(parse('[12345678901234567.0, 1.2345678901234567e16]')).toEqual([12345678901234567n, 12345678901234567n])
  })

  it('keeps a number with a point or an exponent that a double does not hold, and no other, as a symbol', () => {
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
        const isPlain = after === '' && power === ''
        const kind = isPlain ? (Number.isSafeInteger(Number(text)) ? 'number' : 'bigint') : kindOf(text)
        expect([text, typeof parsed]).toEqual([text, kind])
        if (typeof parsed === 'symbol') expect(parsed.description).toBe(text)
        else expect(Number(parsed)).toBe(Number(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it('does not spend time on an integer of a million digits', async () => {
    expect(await parse(`[${'9'.repeat(1_000_000)}]`)).toEqual([Number.POSITIVE_INFINITY])
  })

  it.each([
    '{12345678901234567890:1}',
    '[012345678901234567890]',
    '["a"12345678901234567890]',
    '[12345678901234567890x]',
  ])('refuses a number of many digits where it may not stand, and names its position in the body: %s', (text) => {
    const { message } = (() => {
      try {
        return JSON.parse(text)
      } catch (error) {
        return error as Error
      }
    })()
    expect(() => parse(text)).toThrow(message)
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

  it('refuses a million levels without recursion', async () => {
    await expect(parse('['.repeat(1_000_000))).rejects.toThrow(/64 levels/)
  })

  it('counts no brackets within strings', () => {
    const text = JSON.stringify(`\\"${'[{'.repeat(100)}"`)
    expect(parse(text)).toBe(JSON.parse(text))
  })

  it.each(malformed)('refuses %s', async (_what, text) => {
    expect(() => parse(text)).toThrow(refusal)
    await expect(parseLarge(text)).rejects.toEqual(refusal)
  })

  it('refuses bytes that are not UTF-8', async () => {
    for (const bytes of [Uint8Array.of(0x22, 0xff, 0x22), Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)]) {
      expect(() => parseJson(bytes, limits)).toThrow(/UTF-8/)
      const within = Buffer.concat([Buffer.from('[12345678901234567890,{"a":'), bytes, Buffer.from('}]')])
      expect(() => parseJson(within, limits)).toThrow(/UTF-8/)
    }
  })
})

describe('a large body', () => {
  it('has texts, names and numbers of megabytes, of which names and numbers are bounded', async () => {
    const text = '\\u0041'.repeat(2 ** 21)
    const parsed = (await parseJson(bytesOf(`{"class":"${text}"}`), limits)) as { class: string }
    expect(parsed.class).toBe('A'.repeat(2 ** 21))
    const refused = (what: string) => expect.objectContaining({ message: expect.stringMatching(what) })
    await expect(parseJson(bytesOf(`[{"${text}":1}]`), limits)).rejects.toEqual(refused('a name of more than 8388608'))
    // Of thousands of longer ones that have one length, V8 would compare each with all others.
    const fieldsOf = (count: number, characters: number) =>
      `[{${Array.from({ length: count }, (_, i) => `"${String(i).padEnd(characters, 'n')}" : 1`).join()}}]`
    for (const [count, characters] of [
      [8, 16_384],
      [9, 16_383],
    ] as const) {
      const some = fieldsOf(count, characters)
      expect(await parseJson(bytesOf(some), limits)).toEqual(JSON.parse(some))
    }
    await expect(parseJson(bytesOf(fieldsOf(9, 16_384)), limits)).rejects.toEqual(refused('more than 8 field names'))
    await expect(parseJson(bytesOf(`[1${'0'.repeat(2 ** 23)}]`), limits)).rejects.toEqual(refused('a number of more'))
    for (const wrong of ['\\x', '\\u00g0', '\n'])
      await expect(parseJson(bytesOf(`["${text}${wrong}${text}"]`), limits)).rejects.toEqual(refusal)
  })

  it('is refused wherever JSON.parse refuses it', async () => {
    const text = JSON.stringify({
      a: [1, [2, 3, 4, 5, 6], { b: 'x', c: [true, null, -1.5e3], d: {} }],
      e: { f: [[7, 8, 9, 10]] },
    })
    // Each character left out, doubled, or replaced by one that means something.
    const variants = [...text].flatMap((character, at) => {
      return ['', character + character, ...'[]{},:"1 '].map((by) => text.slice(0, at) + by + text.slice(at + 1))
    })
    for (const variant of variants) {
      let value: unknown
      try {
        value = JSON.parse(variant)
      } catch {
        await expect(parseLarge(variant), variant).rejects.toEqual(refusal)
        continue
      }
      expect(await parseLarge(variant)).toEqual(value)
    }
  })

  it('takes 64 levels, and refuses 65', async () => {
    const nested = (levels: number): string => `${'[1,2,3,4,'.repeat(levels)}5${']'.repeat(levels)}`
    expect(await parseLarge(nested(64))).toEqual(JSON.parse(nested(64)))
    await expect(parseLarge(nested(65))).rejects.toThrow(/64 levels/)
  })

  it('has values counted as they are: names, texts, numbers, literals, arrays and objects', async () => {
    const text = '{"a":[1,-2.5e3,"x,[{\\"",true,null,{}]}'
    const values = 9
    const within = async (valuesMax: number) => parseJson(bytesOf(text), { ...limits, valuesMax })
    expect(await within(values)).toEqual(JSON.parse(text))
    const refused = { type: 'BodyTooLarge', message: `The body has more than ${values - 1} values (someValuesMax).` }
    await expect(within(values - 1)).rejects.toMatchObject(refused)
  })

  it('is refused for its values before anything is built of it, and the rest of it is not looked at', async () => {
    const parsing = vi.spyOn(JSON, 'parse')
    const body = Buffer.from(`[${'{},'.repeat(1_000_000)}{}]`)
    const scanned = vi.spyOn(JsonScan.prototype, 'advance')
    await expect(parseJson(body, limits)).rejects.toMatchObject({ type: 'BodyTooLarge' })
    expect(parsing).not.toHaveBeenCalled()
    expect(scanned).toHaveBeenCalledTimes(1)
    vi.restoreAllMocks()
  })

  it('1.5.13 yields between numbers of many digits, and finds the end of a long string however many backslashes it has', async () => {
    const count = 9_000
    const numbers = Array.from({ length: count }, (_, n) => 10n ** 19n + BigInt(n))
    const body = bytesOf(`[${numbers.join()}]`)
    const scan = new JsonScan(body, limits)
    scan.advance(body.length)
    const steps = parseExactly(body, scan.wideNumbers)
    let yields = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) yields++
    expect(step.value).toEqual(numbers)
    expect(yields).toBeGreaterThanOrEqual(2 * Math.floor(count / 1_024))
    // A number that stands in a string behind an escaped quotation mark is part of the string.
    const escapes = fc.array(fc.constantFrom('\\', '"', 'x', 'é'), { maxLength: 12 }).map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(fc.nat(130), escapes, async (length, end) => {
        const text = `${'x'.repeat(length)}${end}",12345678901234567890,"${end}`
        const body = `[${JSON.stringify(text)},98765432109876543210]`
        expect(await parseLarge(body)).toEqual([text, 98765432109876543210n])
      }),
    )
    await expect(parseLarge(`["${'x'.repeat(100)}\\"]`)).rejects.toEqual(refusal)
  })

  it.each(['123456789012345x'.repeat(500_000), `-${'1'.repeat(70)}x`, '0123456789012345678'])(
    'has words that begin as a number and are none, which the parser refuses',
    async (word) => {
      await expect(parseLarge(`[${word}]`)).rejects.toEqual(refusal)
    },
  )

  it('has numbers of many digits wherever they stand', async () => {
    const digits = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n })
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 4 }), digits, digits, async (text, one, other) => {
        const value = (await parseLarge(
          `{"a":[${one},${text},{"b" : ${other} }],"__proto__":${one},"é":"${other}"}`,
        )) as {
          a: [unknown, unknown, { b: unknown }]
          é: string
        }
        expect([BigInt(value.a[0] as number), BigInt(value.a[2].b as number), value.é]).toEqual([
          one,
          other,
          `${other}`,
        ])
        expect(inNumbers(value.a[1])).toBe(inNumbers(JSON.parse(text)))
        expect([Object.keys(value), Object.getPrototypeOf(value)]).toEqual([['a', '__proto__', 'é'], Object.prototype])
      }),
    )
  })
})

it('a number of very many digits is one', async () => {
  const digits = `0.${'9'.repeat(2 ** 23 - 3)}`
  expect(await parseJson(bytesOf(`[${digits}]`), limits)).toHaveLength(1)
})
