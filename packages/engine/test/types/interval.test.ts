/** interval: durations as text and as parts. */
import { describe, expect, it } from 'vitest'
import { codecOf, described, expectDefinitionRefused, expectValueRefused, storedText } from './type-under-test.ts'

const interval = { logicalType: 'interval' }

describe('definition', () => {
  it('shows its encoding', () => {
    expect(described({ logicalType: 'Interval' })).toEqual({ logicalType: 'interval', encoding: 'objy' })
  })

  it.each([
    [
      { ...interval, encoding: 'ieee' },
      { type: 'InvalidDefinition', path: 'encoding', words: 'objy' },
    ],
    [
      { ...interval, storage: 'b64' },
      { type: 'InvalidDefinition', path: 'storage', words: 'type interval' },
    ],
  ] as const)('refuses %j', (definition, refusal) => expectDefinitionRefused(definition, refusal))
})

describe('durations', () => {
  it.each([
    ['P2DT30M', '"P2DT30M"'],
    ['PT36H', '"P1DT12H"'],
    ['PT90M', '"PT1H30M"'],
    ['P1W', '"P7D"'],
    ['P1W2D', '"P9D"'],
    ['PT0S', '"PT0S"'],
    ['P0D', '"PT0S"'],
    ['-PT0S', '"PT0S"'],
    ['-PT0.5S', '"-PT0.5S"'],
    ['-P1DT12H', '"-P1DT12H"'],
    ['+P1D', '"P1D"'],
    ['PT1.00019S', '"PT1.0001S"'],
    ['-PT1.00019S', '"-PT1.0001S"'],
    ['P5000000D', '"P5000000D"'],
    ['-P5000000D', '"-P5000000D"'],
    ['PT120000000H', '"P5000000D"'],
  ])('%s is read back as %s', (json, text) => {
    expect(storedText(interval, json)).toBe(text)
  })

  it.each([['P1Y'], ['P1M'], ['P1Y2DT3H']])('refuses %s: no fixed length', (json) => {
    expectValueRefused(interval, json, { type: 'ValueNotAllowed', words: 'years or months' })
  })

  it.each([['P5000001D'], ['-P5000001D'], ['P5000000DT0.0001S'], ['PT999999999999H'], ['P9999999999W']])(
    'refuses %s: too long',
    (json) => {
      expectValueRefused(interval, json, { type: 'ValueNotAllowed', words: '5,000,000 days' })
    },
  )

  it.each([
    ['P'],
    ['PT'],
    ['P1DT'],
    ['1D'],
    ['p1d'],
    ['PT1,5S'],
    ['PT1.5M'],
    ['P1.5D'],
    ['P-1D'],
    ['P1D2W'],
    [''],
    ['x'],
  ])('refuses %j', (json) => expectValueRefused(interval, json, { type: 'ValueNotAllowed', words: 'such as P2DT30M' }))
})

describe('parts', () => {
  it.each([
    [{ days: 2, minutes: 30 }, '"P2DT30M"'],
    [{ milliseconds: 1_500 }, '"PT1.5S"'],
    [{ hours: '36' }, '"P1DT12H"'],
    [{ days: 1, hours: -1 }, '"PT23H"'],
    [{ seconds: 0.0003 }, '"PT0.0003S"'],
    [{ seconds: 1.0003 }, '"PT1.0003S"'],
    [{ seconds: '-2.5e-1' }, '"-PT0.25S"'],
    [{ milliseconds: 0.19 }, '"PT0.0001S"'],
    [{ milliseconds: -0.09 }, '"PT0S"'],
    [{ days: 0.5 }, '"PT12H"'],
    [{ days: 5_000_000n }, '"P5000000D"'],
    [{}, '"PT0S"'],
  ])('%o is read back as %s', (json, text) => {
    expect(storedText(interval, json)).toBe(text)
  })

  it('cuts no tick that was given, whichever it is', () => {
    const codec = codecOf(interval)
    for (let ticks = 1; ticks < 30_000; ticks++) {
      expect(codec.parse({ seconds: ticks / 10_000 })).toBe(ticks)
      expect(codec.parse({ milliseconds: ticks / 10 })).toBe(ticks)
    }
  })

  it.each([
    [{ fortnights: 1 }, { type: 'UnknownField', path: 'fortnights', words: 'fortnights' }],
    [{ Days: 1 }, { type: 'UnknownField', path: 'Days' }],
    [{ constructor: 1 }, { type: 'UnknownField', path: 'constructor' }],
    [JSON.parse('{"__proto__":1}'), { type: 'UnknownField', path: '__proto__' }],
    [{ days: 'two' }, { type: 'MalformedValue', path: 'days', words: 'not a number' }],
    [{ days: null }, { type: 'MalformedValue', path: 'days' }],
    [{ days: true }, { type: 'MalformedValue', path: 'days' }],
    [{ days: 5_000_001 }, { type: 'ValueNotAllowed', words: '5,000,000 days' }],
    [{ days: Number.POSITIVE_INFINITY }, { type: 'ValueNotAllowed' }],
    [{ days: Number.POSITIVE_INFINITY, hours: Number.NEGATIVE_INFINITY }, { type: 'ValueNotAllowed' }],
  ] as const)('refuses %o', (json, refusal) => expectValueRefused(interval, json, refusal))

  it.each([[5], [true], [[]], [5n]])('refuses %s', (json) => {
    expectValueRefused(interval, json, { type: 'MalformedValue', words: 'P2DT30M' })
  })
})

it('stores no negative zero', () => {
  const codec = codecOf(interval)
  for (const json of ['-PT0S', { seconds: -0.00001 }, { days: -0 }]) expect(codec.parse(json)).toBe(0)
})

it('is null unless given', () => {
  expect(codecOf(interval)).toMatchObject({ defaultValue: null, isNullable: true })
})
