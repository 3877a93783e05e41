/** `ashlar import` of Parquet files: types as the file has them, and rows a part at a time. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { type Ended, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { parseExactly } from '../../src/output/exact-json.ts'
import { served } from './command-line.ts'

const server = served()
const { run } = server

function done({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0)
  return stdout
}

const rows = async (query: string) => JSON.parse(done(await run(['query', query, '--json'])))

function fileOf(columnData: ColumnSource[], rowGroupSize?: number): string {
  const directory = temporaryDirectory()
  const bytes = parquetWriteBuffer({ columnData, ...(rowGroupSize !== undefined && { rowGroupSize }) })
  writeFileSync(join(directory, 'in.parquet'), new Uint8Array(bytes))
  return directory
}

test('each type becomes the one that it is, and values keep their digits', async () => {
  const directory = fileOf([
    { name: 'code', data: ['007', null, '12'], type: 'STRING' },
    { name: 'ok', data: [true, false, null], type: 'BOOLEAN' },
    { name: 'n', data: [1, -2, null], type: 'INT32' },
    { name: 'big', data: [9007199254740993n, 0n, -1n], type: 'INT64' },
    { name: 'x', data: [0.1, 1e300, -0.5], type: 'DOUBLE' },
    { name: 'f', data: [0.1, 2, 3], type: 'FLOAT' },
    { name: 'at', data: [new Date('2024-02-29T08:05:09.250Z'), null, new Date(0)], type: 'TIMESTAMP' },
    { name: 'tags', data: [['a', 'b'], [], null] },
    { name: 'home', data: [{ city: 'X', zip: 1 }, { city: 'Y', zip: 2 }, null] },
  ] as ColumnSource[])
  const plan = JSON.parse(
    done(await run(['import', 'in.parquet', '--class', 'Typed', '--dry-run', '--json'], { directory })),
  )
  expect(plan.class.attributes.slice(0, 7)).toEqual([
    { attributeName: 'code', logicalType: 'string' },
    { attributeName: 'ok', logicalType: 'boolean' },
    { attributeName: 'n', logicalType: 'integer' },
    { attributeName: 'big', logicalType: 'integer', storage: 'b64' },
    { attributeName: 'x', logicalType: 'real' },
    { attributeName: 'f', logicalType: 'real', storage: 'b32' },
    { attributeName: 'at', logicalType: 'datetime', storage: 'datetimeoffset' },
  ])
  expect(done(await run(['import', 'in.parquet', '--class', 'Typed'], { directory }))).toMatch(/^3 created/)
  const text = done(await run(['query', 'FROM Typed RETURN code, ok, n, big, x, f, at', '--json']))
  expect(text).toContain('9007199254740993')
  expect(JSON.parse(text)).toEqual([
    { code: '007', ok: true, n: 1, big: expect.anything(), x: 0.1, f: 0.1, at: '2024-02-29T08:05:09.25Z' },
    { code: null, ok: false, n: -2, big: 0, x: 1e300, f: 2, at: null },
    { code: '12', ok: null, n: null, big: -1, x: -0.5, f: 3, at: '1970-01-01T00:00:00Z' },
  ])
  expect(await rows('FROM Typed WHERE n = 1 RETURN tags, home.city AS city, home.zip AS zip')).toEqual([
    { tags: ['a', 'b'], city: 'X', zip: 1 },
  ])
})

test('row groups one after the other, gone on with where an import was stopped', async () => {
  const numbers = Array.from({ length: 2_500 }, (_, i) => i)
  const directory = fileOf([{ name: 'n', data: Int32Array.from(numbers), type: 'INT32' }] as ColumnSource[], 1_000)
  expect(done(await run(['import', 'in.parquet', '--class', 'Many', '--skip', '100'], { directory }))).toMatch(/^2,400/)
  expect(await rows('FROM Many RETURN COUNT(*) AS n, MIN(n) AS least, SUM(n) AS sum')).toEqual([
    { n: 2_400, least: 100, sum: (2_499 * 2_500) / 2 - (99 * 100) / 2 },
  ])
})

test('what is no Parquet, is cut off, or comes by standard input, is told', async () => {
  const directory = fileOf([{ name: 'n', data: [1, 2], type: 'INT32' }] as ColumnSource[])
  writeFileSync(join(directory, 'no.parquet'), 'n\n1\n')
  const no = await run(['import', 'no.parquet', '--class', 'Nothing'], { directory })
  expect([no.code, no.stderr]).toEqual([
    exitCodes.invalid,
    expect.stringMatching(/^ashlar: no\.parquet cannot be read as Parquet: /),
  ])
  const missing = await run(['import', 'missing.parquet', '--class', 'Nothing'], { directory })
  expect(missing.stderr).toMatch(/^ashlar: The file missing\.parquet cannot be read: /)
  const piped = await run(['import', '-', '--format', 'parquet', '--class', 'Nothing'], { directory, input: 'x' })
  expect(piped.stderr).toMatch(/Parquet is read from a file/)
  expect((await run(['export', 'Nothing'])).code).toBe(exitCodes.notFound)
})

/** In hundredths of a second. */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

test('a damaged file that has its reader loop for ever does not keep Ctrl-C from ending the import', async () => {
  const directory = fileOf([{ name: 'n', data: [1, null, 2, null], type: 'INT32' }] as ColumnSource[])
  const bytes = readFileSync(join(directory, 'in.parquet'))
  // The length of a run: -2³¹ or so, which the reader counts down to 0.
  bytes.set([0xfe, 0xff, 0xff, 0xff, 0x0f], 25)
  writeFileSync(join(directory, 'in.parquet'), bytes)
  const endless = start(
    ['import', 'in.parquet', '--class', 'Endless', '--dry-run'],
    { ASHLAR_URL: server.url },
    directory,
  )
  // Several times what the command needs otherwise.
  while (processorTime(endless.child.pid as number) < 200) await delay(50)
  endless.child.kill('SIGINT')
  expect((await endless.ended).code).toBe(exitCodes.interrupted)
})

test('a file that has fewer rows than it says', async () => {
  const directory = fileOf([{ name: 'n', data: [1, 2], type: 'INT32' }] as ColumnSource[])
  const bytes = readFileSync(join(directory, 'in.parquet'))
  // In Thrift's compact protocol, a 2 of 64 bits in the next field: first the file's rows, last those of its only row group.
  const two = Buffer.from([0x16, 0x04])
  for (const at of [bytes.indexOf(two, bytes.indexOf('root')), bytes.lastIndexOf(two)]) bytes[at + 1] = 0x08
  writeFileSync(join(directory, 'in.parquet'), bytes)
  const { code, stderr } = await run(['import', 'in.parquet', '--class', 'Fewer'], { directory })
  expect([code, stderr]).toEqual([exitCodes.invalid, expect.stringContaining('fewer rows than it says')])
})

/** By pyarrow: lists, a struct and maps with nulls, decimals of three precisions, unsigned integers, NaN and infinity; without compression, then by gzip. */
const nested =
  'H4sIAAAAAAACA42VTWsTURSG79yZTNISqkbOJVMHGkJnqJCGtDVBSkDtQmoNWkLpxoKdpAOGNh8mM/1YiLjxB3Thxr0LceXCXyBuRNcu3SoigiIuCno/ZpJMMmMbkrnDOc977jvnniHrN6oLgGAWZnOg0hsVVB0hhOlPlSTvTqY/mluG5RwkgpCMWVK+ixiLvCA6lX/f5+UBT4AETHAyxUkazEJ2PJvlWYtdajSVh3zUjtOc3OW4Xy2cvOTv+B//0/3nlAb+S1CK4me4XeegzZZ2y6ZQAQpjLZdldCF7/tejL0/gr/f5TQkd9BA0fu8DeEAOciGA9Ob57ReFn3f8UpGgD6DBs4Rv6UM0XoZyyMQI/Z/HYv3hrZ+vgaKdaEWUVnv1B3bTgjQCbOA0buygIk4re42eAxjUSpnSRcUPIFAoFLf37Kbdchgpt3d2zgSqPafr1h1QxEbSIYIkW48MVGF2Wa2m1aG1cCUnak3s2kf3960912aqpIHSMo14PK8S41mmjbfcZs3u9qL1iqcX+wqlX2sKUkBj9qFVd4xJUGAut8WuIpdguU63Ubd5LsVzKZE7z3L1tttiOvra0hy9shxrgOyWrhh65dXF6ynfsuwuLRrTNJThoUnRC6JqunZyzkQ6YM1QkcZOAmiYrJE1M3FLB3bEGJUvq5qJVKpkqMLRq7zn/OI3nCoTZJtsm9Uhpali7SbGSAmq2QmGi19LY2qEfbWwOecdq3TIzZZJ2TzGAbcljLEnSQYlR1yySlbNj0MSomhM1HeZ9FzS2RicJztHbnODbJjP5ICaGaWbBn2O6MXp8wps/6/yeJv6rr02+QMWYoL3ShkpMWQhGVVhyMYW2TKPY0MPktRGz2tKDIaYUt67TbJpfo8FhwOP4nxwOb5CVsy36ik4n2WOV0nVfBqPwEVX+ID34U9RMPbhpcW+kZeJCHhSwN5E1UjN/BY2/+TdBFHNBF3QXKZjdR+6tjNf73TmrW63fZDZp41utFuZxWK+kF+grxZ9z8/+RTMxhNbpP/E/2J2M644HAAA='

test('nulls of lists and structs, maps, decimals and unsigned integers keep all that they say', async () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'in.parquet'), gunzipSync(Buffer.from(nested, 'base64')))
  const ended = await run(['import', 'in.parquet', '--class', 'Nested'], { directory })
  done(ended)
  const lines = done(await run(['export', 'Nested']))
    .trimEnd()
    .split('\n')
  const objects = lines.map((line) => {
    const { __class__, __identifier__, ...attributes } = parseExactly(line) as Record<string, unknown>
    return attributes
  })
  expect(objects).toEqual([
    {
      id: 1,
      list: [1, 2],
      odd: '[1,null]',
      struct: { x: 1, y: 'a' },
      map: [
        { key: 'k', value: 1 },
        { key: 'a', value: null },
      ],
      numbers: [
        { key: 2, value: 'two' },
        { key: 1, value: 'one' },
      ],
      exact: '12345678901234567.89',
      price: '1234567.89',
      count: 123456789012345678n,
      u64: 18446744073709551615n,
      u32: 4294967295,
      x: null,
    },
    {
      id: 2,
      list: [],
      odd: null,
      struct: { x: null, y: null },
      map: [],
      numbers: [],
      exact: '-0.10',
      price: '-0.10',
      count: -1,
      u64: 0,
      u32: 0,
      x: null,
    },
    {
      id: 3,
      list: [],
      odd: '[3]',
      struct: { x: null, y: 'b' },
      map: [],
      numbers: [],
      exact: null,
      price: null,
      count: null,
      u64: null,
      u32: null,
      x: 0.5,
    },
  ])
  expect(ended.stderr).toContain('Attribute odd is a string with the JSON of each value')
  expect(ended.stderr).toContain(
    'Attribute x: 2 values were stored as null, since NaN is not a number that can be stored.',
  )
})
