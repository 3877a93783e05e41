/** What public programs write comes back from `ashlar export` as it was: random tables, and the files of a public collection of data. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { parseExactly } from '../../src/output/exact-json.ts'
import { served } from './command-line.ts'

const { run } = served()

type Row = Readonly<Record<string, unknown>>

let classes = 0

/** What is in the class that an import of the file has made. */
async function through(name: string, content: string | Uint8Array): Promise<Row[]> {
  const directory = temporaryDirectory()
  const className = `Copy${++classes}`
  writeFileSync(join(directory, name), content)
  const { code, stderr } = await run(['import', name, '--class', className], { directory })
  expect(code, stderr).toBe(0)
  const { stdout } = await run(['export', className])
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { __class__, __identifier__, ...attributes } = parseExactly(line) as Row
      return attributes
    })
}

const word = fc.string({ unit: 'grapheme', maxLength: 12 })
const digits = fc.stringMatching(/^[0-9]{1,25}$/)
const decimal = fc.stringMatching(/^-?[0-9]{1,20}\.[0-9]{1,25}$/)
const day = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const dayText = day.map((date) => date.toISOString().slice(-24, -14))
const momentText = day.map((date) => date.toISOString().slice(0, -1))

/** Cells of a column, mostly of one kind. */
const cells = (size: number): fc.Arbitrary<readonly (string | null)[]> =>
  fc
    .oneof(
      ...[word, digits, decimal, dayText, momentText, momentText.map((text) => `${text}Z`), fc.uuid()],
      fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.constantFrom('true', 'false'),
      fc.constantFrom('7', '0123', '+1', '.5', '1e5', '1,234', 'NA', '', ' 7', '6:00:00', '2024/02/29', '-0'),
    )
    .chain((first) => {
      const same = fc.constantFrom(first, '', 'x', '12')
      return fc.array(fc.option(fc.oneof({ weight: 8, arbitrary: fc.constant(first) }, same), { freq: 6 }), {
        minLength: size,
        maxLength: size,
      })
    })

/** Whether a stored value is the one that a cell of CSV has, with all that it says. */
function isSame(cell: string | null, value: unknown): boolean {
  if (cell === null || value === null) return cell === value
  const text = cell.trim()
  switch (typeof value) {
    case 'bigint':
      return BigInt(text.replace('+', '')) === value
    case 'number':
      return !/^[+-]?0\d/.test(text) && isDecimal(text, value)
    case 'boolean':
      return text.toLowerCase() === String(value)
    default:
      return (
        cell === value ||
        sameMoment(text, String(value)) ||
        (/^[0-9a-f-]{36}$/i.test(text) && text.toLowerCase() === value)
      )
  }
}

/** Whether the number, written with as many digits as the text has, has these digits. */
function isDecimal(text: string, value: number): boolean {
  if (text === '' || Number(text) !== value) return false
  const digitsOf = (number: string): string =>
    number.replace(/e.*$/i, '').replaceAll(/[-+.]/g, '').replace(/^0+/, '').replace(/0+$/, '')
  const own = digitsOf(text)
  return own === '' || own === digitsOf(value.toPrecision(Math.min(100, own.length)))
}

function sameMoment(text: string, value: string): boolean {
  const plain = (one: string): string =>
    one
      .replaceAll('/', '-')
      .replace(' ', 'T')
      .replace(/T00:00:00$/, '')
      .replace(/(\.\d*?)0+(?=Z|$)/, '$1')
      .replace(/\.(?=Z|$)/, '')
      .replace(/^(.*T)?(\d\d:\d\d)$/, '$1$2:00')
      .padStart(8, '0')
  return /\d/.test(text) && plain(text) === plain(value)
}

test('random tables of CSV', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }).chain((size) => fc.array(cells(size), { minLength: 1, maxLength: 6 })),
      async (columns) => {
        const names = ['key', ...columns.map((_, at) => `c${at}`)]
        const rows = (columns[0] ?? []).map((_, row) => [`k${row}`, ...columns.map((column) => column[row] ?? null)])
        const text = stringify([names, ...rows], { quoted_string: rows.some((row) => row.includes('')) })
        const objects = await through('in.csv', text)
        expect(objects.length).toBe(rows.length)
        for (const [at, row] of rows.entries())
          for (const [column, name] of names.entries())
            expect([row[column], objects[at]?.[name], isSame(row[column] ?? null, objects[at]?.[name])]).toEqual([
              row[column],
              objects[at]?.[name],
              true,
            ])
      },
    ),
    { numRuns: 40 },
  )
})

const scalar = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.boolean(),
  fc.constant(null),
)
const name = fc.constantFrom('a', 'b', 'c', 'd')
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    { weight: 6, arbitrary: scalar },
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any

/** What JSON says: as such, as the text of it where an attribute has values of several kinds, or with nulls for what is not there. */
function says(stored: unknown, given: unknown): boolean {
  if (given === null || given === undefined) return isNothing(stored)
  if (typeof given === 'object' && !Array.isArray(given) && typeof stored === 'object' && stored !== null) {
    const names = new Set([...Object.keys(given), ...Object.keys(stored)])
    return [...names].every((one) => says((stored as Row)[one], (given as Row)[one]))
  }
  if (Array.isArray(given) && Array.isArray(stored))
    return given.length === stored.length && given.every((one, at) => says(stored[at], one))
  if (typeof given === 'object') return stored === JSON.stringify(given)
  return (
    Object.is(stored, given) ||
    stored === String(given) ||
    (typeof stored === 'bigint' && String(stored) === String(given))
  )
}

/** By the contract, lists and embedded objects cannot be null: they are empty, or all of their parts are null. */
function isNothing(stored: unknown): boolean {
  if (stored === null || stored === undefined) return true
  return typeof stored === 'object' && Object.values(stored).every(isNothing)
}

test('random records of NDJSON', async () => {
  const record = fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true })
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 8 }), async (records) => {
      const keyed = records.map((one, key) => ({ ...one, key }))
      const objects = await through('in.ndjson', keyed.map((one) => JSON.stringify(one)).join('\n'))
      expect(objects.length).toBe(keyed.length)
      for (const [at, one] of keyed.entries()) expect(says(objects[at], one), inspect([one, objects[at]])).toBe(true)
    }),
    { numRuns: 40 },
  )
})

test('random columns of Parquet', async () => {
  const column = (size: number) => {
    const data = <T>(one: fc.Arbitrary<T>) =>
      fc.array(fc.option(one, { freq: 5 }), { minLength: size, maxLength: size })
    return fc.oneof(
      data(fc.integer()).map((values) => ({ data: values, type: 'INT32' })),
      data(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })).map((values) => ({ data: values, type: 'INT64' })),
      data(fc.double({ noNaN: true, noDefaultInfinity: true })).map((values) => ({ data: values, type: 'DOUBLE' })),
      data(fc.string({ unit: 'grapheme' })).map((values) => ({ data: values, type: 'STRING' })),
      data(fc.boolean()).map((values) => ({ data: values, type: 'BOOLEAN' })),
    )
  }
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }).chain((size) => fc.array(column(size), { minLength: 1, maxLength: 5 })),
      async (columns) => {
        const columnData = columns.map((one, at) => ({ name: `c${at}`, ...one })) as ColumnSource[]
        const objects = await through('in.parquet', new Uint8Array(parquetWriteBuffer({ columnData })))
        for (const [at, { data }] of columns.entries())
          expect(objects.map((one) => one[`c${at}`])).toEqual(
            data.map((one) =>
              typeof one === 'bigint' && Number.isSafeInteger(Number(one))
                ? Number(one)
                : one === 0
                  ? expect.closeTo(0)
                  : one,
            ),
          )
      },
    ),
    { numRuns: 4 },
  )
})

const data = fileURLToPath(new URL('../../../../node_modules/vega-datasets/data', import.meta.url))

test.each([
  ...['airports', 'co2-concentration', 'disasters', 'flights-airport', 'gapminder-health-income'],
  ...['github', 'iowa-electricity', 'la-riots', 'lookup_groups', 'lookup_people', 'population_engineers_hurricanes'],
  ...['seattle-weather', 'sp500', 'stocks', 'us-employment', 'weather', 'windvectors'],
])('%s.csv of vega-datasets, each cell', async (file) => {
  const text = readFileSync(join(data, `${file}.csv`), 'utf8')
  const [, ...rows] = parse(text, { bom: true, skip_empty_lines: true }) as string[][]
  const objects = await through('in.csv', text)
  expect(objects.length).toBe(rows.length)
  const wrong = rows.flatMap((row, at) => {
    const values = Object.values(objects[at] ?? {})
    return row.flatMap((cell, column) =>
      isSame(cell === '' ? null : cell, values[column]) ? [] : [[at, cell, values[column]]],
    )
  })
  expect(wrong).toEqual([])
})

test.each([
  ...['anscombe', 'barley', 'budgets', 'burtin', 'cars', 'countries', 'crimea', 'driving', 'flights-2k', 'gapminder'],
  ...['income', 'londonCentroids', 'monarchs', 'movies', 'obesity', 'ohlc', 'penguins'],
  ...['population', 'unemployment-across-industries', 'us-state-capitals', 'wheat'],
])('%s.json of vega-datasets, each value', async (file) => {
  const text = readFileSync(join(data, `${file}.json`), 'utf8')
  const records = JSON.parse(text) as Row[]
  const objects = await through('in.json', text)
  expect(objects.length).toBe(records.length)
  const wrong = records.flatMap((record, at) => {
    return Object.entries(record).flatMap(([key, given]) => {
      const stored = objects[at]?.[key.replaceAll(/\W+/g, '_')]
      return says(stored, given) || sameMoment(String(given), String(stored)) ? [] : [[at, key, given, stored]]
    })
  })
  expect(wrong).toEqual([])
})

test('monarchs and movies of vega-datasets: what records do not have is null', async () => {
  const monarchs = await through('in.json', readFileSync(join(data, 'monarchs.json'), 'utf8'))
  expect(monarchs.filter(({ commonwealth }) => commonwealth === null).length).toBe(11)
  const movies = await through('in.json', readFileSync(join(data, 'movies.json'), 'utf8'))
  expect(movies.length).toBe(3_201)
  expect(Math.max(...movies.map((one) => Number(one.Worldwide_Gross)))).toBe(2_767_891_499)
})

test('unemployment.tsv of vega-datasets has numbers', async () => {
  const text = readFileSync(join(data, 'unemployment.tsv'), 'utf8')
  const rates = (parse(text, { delimiter: '\t', from: 2 }) as string[][]).map(([, rate]) => Number(rate))
  expect((await through('in.tsv', text)).map(({ rate }) => rate)).toEqual(rates)
})

test('every value of an attribute of type json', async () => {
  const values = [
    null,
    '12',
    12,
    'true',
    true,
    'null',
    '"x"',
    'x',
    '',
    ' 12 ',
    '{}',
    {},
    { a: '1' },
    '[1]',
    '{bad json',
    '[',
    '"',
    ' {',
    [1, '2'],
    '-0',
    1.5,
  ]
  const directory = temporaryDirectory()
  const lines = values.map((json, n) => JSON.stringify({ n, json, inner: { json } }))
  writeFileSync(join(directory, 'values.ndjson'), lines.join('\n'))
  const inner = 'CREATE CLASS JsonPart EMBEDDABLE { json: Json }'
  const ofClass = (name: string) => `CREATE CLASS ${name} { n: Integer, json: Json, inner: Object{Class: JsonPart} }`
  const schema = `UPDATE SCHEMA { ${inner} ${ofClass('JsonFrom')} ${ofClass('JsonTo')} }`
  const done = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(words, { directory })
    expect(code, stderr).toBe(0)
    return stdout
  }
  await done('query', schema)
  await done('import', 'values.ndjson', '--class', 'JsonFrom')
  writeFileSync(join(directory, 'values.csv'), await done('export', 'JsonFrom', '--format', 'csv'))
  await done('import', 'values.csv', '--class', 'JsonTo')
  const rows = (await done('export', 'JsonTo')).trimEnd().split('\n')
  const read = rows.map((line) => parseExactly(line) as { n: number; json: unknown; inner: { json: unknown } })
  expect(read.map(({ json }) => json)).toEqual(values)
  expect(read.map(({ inner: { json } }) => json)).toEqual(values)
})
