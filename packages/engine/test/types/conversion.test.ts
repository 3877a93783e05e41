/** How stored values follow a change of type: the table of docs/schema-changes.md, values, and what holds of all pairs. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSameValue } from '../../src/records/same-value.ts'
import { conversionFor, dependsOnRules } from '../../src/types/conversion.ts'
import { defineType } from '../../src/types/index.ts'
import type { Codec } from '../../src/types/logical-type.ts'
import type { TypeDefinition } from '../../src/types/type-definition.ts'
import type { TypeSpec } from '../../src/types/type-spec.ts'
import { runs } from '../bytes/property-runs.ts'
import { typeSamples } from './type-samples.ts'
import { codecOf, defineContext } from './type-under-test.ts'

const spec = (definition: TypeDefinition): TypeSpec => defineType(definition, defineContext)
const scalars = [
  'boolean',
  'character',
  'integer',
  'real',
  'decimal',
  'string',
  'guid',
  'date',
  'time',
  'datetime',
  'interval',
  'bytes',
  'json',
] as const

function wordFor(from: TypeDefinition, to: TypeDefinition): string {
  const conversion = conversionFor(spec(from), spec(to))
  if (conversion === undefined) return '–'
  return conversion.isLossless ? 'always' : 'checked'
}

it('the table in docs/schema-changes.md says what is so', () => {
  const page = readFileSync(new URL('../../../../docs/schema-changes.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (\w+) \| ((?:=|–|always|checked)(?: \| (?:=|–|always|checked))*) \|$/gm)]
  const written = Object.fromEntries(rows.map(([, from, cells]) => [from, (cells as string).split(' | ')]))
  const found = Object.fromEntries(
    scalars.map((from) => [
      from,
      scalars.map((to) => (from === to ? '=' : wordFor({ logicalType: from }, { logicalType: to }))),
    ]),
  )
  expect(written).toEqual(found)
})

/** JSON of a value, and what becomes of it; `lost`: it is not kept. */
type Row = readonly [from: TypeDefinition, to: TypeDefinition, value: unknown, becomes: unknown, lost?: 'lost']
const t = (logicalType: string, more: object = {}): TypeDefinition => ({ logicalType, ...more })
const int = (storage: string, encoding = 'signed'): TypeDefinition => t('integer', { storage, encoding })
const dec = (precision: number, scale: number): TypeDefinition => t('decimal', { precision, scale })
const text = (more: object = {}): TypeDefinition => t('string', more)

const rows: readonly Row[] = [
  [int('b32'), int('b64'), -5, -5],
  [int('b32'), int('b8'), 127, 127],
  [int('b32'), int('b8'), 128, 0, 'lost'],
  [int('b32'), int('b32', 'unsigned'), -1, 0, 'lost'],
  [int('b64', 'unsigned'), int('b64'), 18446744073709551615n, 0, 'lost'],
  [int('b64'), t('real'), 9007199254740993n, 9007199254740992, 'lost'],
  [int('b32'), t('real', { storage: 'b32' }), 16777217, 16777216, 'lost'],
  [t('real'), t('real', { storage: 'b32' }), 0.5, 0.5],
  [t('real'), t('real', { storage: 'b32' }), 1e300, 0, 'lost'],
  [t('real'), int('b32'), 2.9, 2, 'lost'],
  [t('real'), int('b32'), -2, -2],
  [t('real'), int('b32'), 1e30, 0, 'lost'],
  [t('boolean'), int('b8'), true, 1],
  [t('boolean'), text(), false, 'false'],
  [int('b32'), t('boolean'), 1, true],
  [int('b32'), t('boolean'), 7, false, 'lost'],
  [int('b64'), t('boolean'), -1, false, 'lost'],
  [t('real'), t('boolean'), 0.5, false, 'lost'],
  [t('real'), t('boolean'), 1, true],
  [int('b64', 'unsigned'), text(), 18446744073709551615n, '18446744073709551615'],
  [t('real'), text(), 2.5, '2.5'],
  [dec(10, 2), dec(12, 3), '12.50', '12.500'],
  [dec(10, 2), dec(10, 1), '12.50', '12.5'],
  [dec(10, 2), dec(10, 1), '-12.59', '-12.5', 'lost'],
  [dec(10, 2), dec(3, 2), '12.50', '0.00', 'lost'],
  [dec(10, 2), int('b32'), '12.00', 12],
  [dec(10, 2), int('b32'), '-12.50', -12, 'lost'],
  [dec(38, 0), int('b64'), '1e20', 0, 'lost'],
  [dec(10, 2), t('real'), '12.34', 12.34],
  [dec(38, 0), t('real'), '9007199254740993', 9007199254740992, 'lost'],
  [dec(10, 2), t('real', { storage: 'b32' }), '0.1', 0.1],
  [dec(10, 2), t('real', { storage: 'b32' }), '16777217', 16777216, 'lost'],
  [dec(10, 2), text(), '12.50', '12.50'],
  [int('b64'), dec(38, 2), 9007199254740993n, '9007199254740993.00'],
  [int('b32'), dec(4, 2), 100, '0.00', 'lost'],
  [t('real'), dec(10, 2), 0.1, '0.10'],
  [t('real', { storage: 'b32' }), dec(10, 2), 0.1, '0.10'],
  [t('real'), dec(10, 2), 0.125, '0.12', 'lost'],
  [t('real'), dec(10, 2), 1e300, '0.00', 'lost'],
  [text(), dec(10, 2), ' 12.5 ', '12.50'],
  [text(), dec(10, 2), '12.345', '0.00', 'lost'],
  [text(), dec(10, 2), 'x', '0.00', 'lost'],
  [text(), int('b32'), ' 42 ', 42],
  [text(), int('b32'), '+7', 0, 'lost'],
  [text(), int('b32'), '007', 7],
  [text(), int('b32'), '4.2', 0, 'lost'],
  [text(), int('b32'), '', 0, 'lost'],
  [text(), t('real'), '-1e3', -1000],
  [text(), t('real'), '007', 0, 'lost'],
  [text(), t('real'), '.5', 0, 'lost'],
  [text(), t('real'), 'NaN', 0, 'lost'],
  [text(), t('boolean'), ' true ', true],
  [text(), t('boolean'), 'TRUE', false, 'lost'],
  [text(), t('boolean'), 'yes', false, 'lost'],
  [text(), t('date'), '2024-02-29', '2024-02-29'],
  [text(), t('date'), '2023-02-29', null, 'lost'],
  [text(), t('time'), '08:05:09.25', '08:05:09.25'],
  [text(), t('datetime'), '2024-02-29T08:05:09', '2024-02-29T08:05:09'],
  [text(), t('interval'), 'P1DT2H', 'P1DT2H'],
  [text(), t('guid'), '00000000-0000-4000-8000-00000000000A', '00000000-0000-4000-8000-00000000000a'],
  [text(), t('bytes'), ' _w== ', '/w=='],
  [text(), t('bytes'), 'a', '', 'lost'],
  [t('bytes'), text(), '_w', '/w=='],
  [t('bytes'), text({ storage: 'fixed', fixedLength: 3 }), 'AAAA', '', 'lost'],
  [text(), t('json'), ' {"2": 1.50, "1": 2} ', { 2: 1.5, 1: 2 }],
  [text(), t('json'), 'abc', null, 'lost'],
  [text(), t('json'), '{"a":1,"a":1}', null, 'lost'],
  [t('json'), text(), ['a', { b: 1 }], '["a",{"b":1}]'],
  [t('json'), text(), 'a', '"a"'],
  [text(), t('character'), 'x', 'x'],
  [text(), t('character'), 'xy', null, 'lost'],
  [text(), text({ encoding: 'byte' }), 'é', 'é'],
  [text(), text({ encoding: 'byte' }), 'Ω', '', 'lost'],
  [text(), text({ encoding: 'utf16' }), '😀', '😀'],
  [text(), text({ storage: 'fixed', fixedLength: 3 }), 'abc', 'abc'],
  [text(), text({ storage: 'fixed', fixedLength: 3 }), 'abcd', '', 'lost'],
  [t('character', { storage: 'b32' }), t('character', { storage: 'b8' }), 'Ω', null, 'lost'],
  [t('character'), text(), '😀', '😀'],
  [t('date'), t('datetime'), '2024-02-29', '2024-02-29T00:00:00'],
  [t('date'), t('datetime', { storage: 'datetimeoffset' }), '2024-02-29', '2024-02-29T00:00:00Z'],
  [t('datetime'), t('date'), '2024-02-29T00:00:00', '2024-02-29'],
  [t('datetime'), t('date'), '2024-02-29T08:00:00', '2024-02-29', 'lost'],
  [t('datetime'), t('time'), '2024-02-29T08:00:00', '08:00:00', 'lost'],
  [
    t('datetime', { storage: 'datetimeoffset' }),
    t('datetime'),
    '2024-02-29T08:00:00+05:30',
    '2024-02-29T02:30:00',
    'lost',
  ],
  [t('datetime', { storage: 'datetimeoffset' }), t('datetime'), '0001-01-01T00:00:00+05:30', null, 'lost'],
  [t('datetime', { storage: 'datetimeoffset' }), t('date'), '2024-03-01T00:00:00+05:30', '2024-03-01', 'lost'],
  [
    t('list', { elementSpecification: text() }),
    t('list', { elementSpecification: int('b8') }),
    ['1', 'x', '300', '2'],
    [1, 2],
    'lost',
  ],
  [t('list', { elementSpecification: int('b8') }), t('list', { elementSpecification: text() }), [1, -2], ['1', '-2']],
  [
    t('list', { elementSpecification: t('real') }),
    t('list', { elementSpecification: t('boolean') }),
    [0, 0.5, 1, 7],
    [false, true],
    'lost',
  ],
]

const asRequestsRead: readonly Row[] = [
  [text(), t('datetime'), '2024-02-29T08:00:00 +05:30', '2024-02-29T02:30:00'],
  [text(), t('datetime'), '0001-01-01T00:00:00+05:30', null, 'lost'],
  [text(), t('datetime', { storage: 'datetimeoffset' }), '2024-02-29T08:00:00 Z', '2024-02-29T08:00:00Z'],
]

const asEarlier: readonly Row[] = [
  [text(), t('datetime'), '2024-02-29T08:00:00+05:30', null, 'lost'],
  [text(), t('datetime'), '2024-02-29T08:00:00', '2024-02-29T08:00:00'],
  [text(), t('datetime', { storage: 'datetimeoffset' }), '2024-02-29T08:00:00 Z', null, 'lost'],
  [text(), t('datetime', { storage: 'datetimeoffset' }), '2024-02-29T08:00:00Z', '2024-02-29T08:00:00Z'],
  [int('b32'), t('boolean'), 7, true, 'lost'],
  [t('real'), t('boolean'), 0.5, true, 'lost'],
  [text(), int('b32'), '+7', 7],
  [text(), t('real'), '.5', 0.5],
  [text(), t('boolean'), 'TRUE', true],
]

function isSameOrNull(codec: Codec, one: unknown, other: unknown): boolean {
  return one === null || other === null ? one === other : isSameValue(codec, one, other)
}

describe.each([
  { rules: 'strict', rowsOfRules: [...rows, ...asRequestsRead] },
  { rules: 'lenient', rowsOfRules: asEarlier },
] as const)('a value, by $rules rules', ({ rules, rowsOfRules }) => {
  for (const [from, to, value, becomes, lost] of rowsOfRules) {
    it(`${JSON.stringify(from)} to ${JSON.stringify(to)}: ${String(value)}`, () => {
      const conversion = conversionFor(spec(from), spec(to), rules)
      const given = codecOf(from).parse(value)
      const converted = conversion?.convert(given)
      const shown = converted === null ? null : codecOf(to).toJson(converted)
      expect(
        JSON.parse(JSON.stringify(shown, (_name, part) => (typeof part === 'bigint' ? Number(part) : part))),
      ).toEqual(becomes)
      expect(conversion?.isExact(given)).toBe(lost === undefined)
    })
  }
})

it('what does not fit is told by element', () => {
  const list = (logicalType: string): TypeSpec => spec(t('list', { elementSpecification: t(logicalType) }))
  expect(conversionFor(list('string'), list('integer'))?.lossyValues(['1', 'x', '+2', ' 3 '])).toEqual(['x', '+2'])
  expect(conversionFor(spec(text()), spec(int('b8')))?.lossyValues('300')).toEqual(['300'])
  expect(conversionFor(spec(text()), spec(int('b8')))?.lossyValues('100')).toEqual([])
})

describe('conversions of random types and values', () => {
  const definition = fc.constantFrom(...scalars).chain((name) => typeSamples[name].definition)
  const pair = fc
    .record({ from: definition, to: definition })
    .filter(({ from, to }) => conversionFor(spec(from), spec(to)) !== undefined)
  const withValues = pair.chain(({ from, to }) => {
    const name = String(from.logicalType).toLowerCase() as (typeof scalars)[number]
    const value = typeSamples[name].values(from).map(({ json }) => codecOf(from).parse(json))
    return fc.record({ from: fc.constant(from), to: fc.constant(to), one: value, other: value })
  })

  it('give values of the new type, and keep all where no loss is possible', () => {
    fc.assert(
      fc.property(withValues, ({ from, to, one, other }) => {
        const conversion = conversionFor(spec(from), spec(to))
        if (conversion === undefined || one === null || other === null) return
        const [first, second] = [conversion.convert(one), conversion.convert(other)]
        const codec = codecOf(to)
        // What is no value of the type would be refused here.
        if (first !== null) expect(isSameValue(codec, codec.parse(codec.toJson(first)), first)).toBe(true)
        const lenient = conversionFor(spec(from), spec(to), 'lenient')
        // Where the rules are said to agree they do; what fits by the strict ones has been the same, offsets of datetimes aside.
        const isSame = conversion.isExact(one) && to.logicalType !== 'datetime'
        if (isSame || !dependsOnRules(spec(from), spec(to))) {
          expect(isSameOrNull(codec, lenient?.convert(one), first)).toBe(true)
        }
        if (!conversion.isLossless) return
        expect(conversion.isExact(one)).toBe(true)
        if (!isSameValue(codecOf(from), one, other)) expect(isSameValue(codec, first, second)).toBe(false)
      }),
      runs(3_000),
    )
  })
})
