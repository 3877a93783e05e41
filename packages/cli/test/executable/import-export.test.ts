/** `ashlar import` and `ashlar export`: files in, files out. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type Ended, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { readTar } from '../../../server/test/tar-files.ts'
import { served } from './command-line.ts'

const { run } = served()

function done({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0)
  return stdout
}

const rows = async (query: string) => JSON.parse(done(await run(['query', query, '--json'])))

test('a CSV file makes a class, is loaded, and comes out again', async () => {
  const directory = temporaryDirectory()
  const csv = 'code,name,price,since,is ok\r\n007,"a, b",1.5,2024-02-29,true\r\n12,"",2,,FALSE\r\n'
  writeFileSync(join(directory, 'items.csv.gz'), gzipSync(csv))
  const plan = JSON.parse(
    done(await run(['import', 'items.csv.gz', '--class', 'Item', '--dry-run', '--json'], { directory })),
  )
  expect(plan.class.attributes).toEqual([
    { attributeName: 'code', logicalType: 'string' },
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'price', logicalType: 'real' },
    { attributeName: 'since', logicalType: 'date' },
    { attributeName: 'is_ok', logicalType: 'boolean' },
  ])
  const told = done(await run(['import', 'items.csv.gz', '--class', 'Item'], { directory }))
  expect(told).toBe('2 created, 0 updated, 0 rejected.\n')
  expect(await rows('FROM Item ORDER BY price RETURN code, name, price, since, is_ok')).toEqual([
    { code: '007', name: 'a, b', price: 1.5, since: '2024-02-29', is_ok: true },
    { code: '12', name: '', price: 2, since: null, is_ok: false },
  ])
  done(await run(['export', 'Item', '--format', 'csv', '--columns', 'code,name,since', '-o', 'out.csv'], { directory }))
  expect(readFileSync(join(directory, 'out.csv'), 'utf8')).toBe('code,name,since\n007,"a, b",2024-02-29\n12,"",\n')
  const lines = done(await run(['export', 'Item']))
    .trimEnd()
    .split('\n')
  expect(lines.map((line) => JSON.parse(line).code)).toEqual(['007', '12'])
  done(await run(['export', '-o', 'all.tar.gz'], { directory }))
  const files = readTar(gunzipSync(readFileSync(join(directory, 'all.tar.gz'))))
  expect([...files.keys()].at(-1)).toBe('end.json')
})

test('a mapping, records that are refused, and an import that goes on', async () => {
  const directory = temporaryDirectory()
  const records = [
    { Key: 'a', km: '7', fuel: 'E' },
    { Key: 'b', km: 'many', fuel: 'D' },
    { Key: 'c', km: 'n/a', fuel: 'E', no: 1 },
  ]
  writeFileSync(join(directory, 'cars.json'), JSON.stringify(records))
  const columns = { Key: 'plate', no: null, km: { nulls: ['n/a'] }, fuel: { values: { E: 'electric' } } }
  writeFileSync(join(directory, 'mapping.json'), JSON.stringify({ columns }))
  done(await run(['query', 'UPDATE SCHEMA {CREATE CLASS Ride {plate: String, fuel: String, km: Integer}}']))
  const words = ['import', 'cars.json', '--class', 'Ride', '--mapping', 'mapping.json']
  const refused = await run(words, { directory })
  expect(refused.code).toBe(7)
  expect(refused.stderr).toMatch(/^ashlar: Line 2: .*km.* At least 1 record is done: resume with --skip 1/)
  const told = JSON.parse(
    done(await run([...words, '--skip', '1', '--rejects', 'bad.ndjson', '--json'], { directory })),
  )
  expect(told).toEqual({ created: 1, updated: 0, rejected: 1 })
  const bad = JSON.parse(readFileSync(join(directory, 'bad.ndjson'), 'utf8'))
  expect(bad).toMatchObject({ line: 2, reason: expect.stringContaining('km'), record: { Key: 'b' } })
  expect(await rows('FROM Ride ORDER BY plate RETURN plate, km, fuel')).toEqual([
    { plate: 'a', km: 7, fuel: 'electric' },
    { plate: 'c', km: null, fuel: 'electric' },
  ])
})

test('mistakes are told in a sentence, and nothing is done', async () => {
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['import', 'no.csv', '--class', 'X'], 2, /cannot be read/],
    [['import', 'no.what', '--class', 'X'], 2, /there is no such file/],
    [['import', '-', '--format', 'csv'], 2, /--class/],
    [['import', '-', '--format', 'json', '--class', 'X', '--skip', 'x'], 2, /--skip/],
    [['export', 'Nobody'], 3, /no class 'Nobody'/],
    [['export', '--format', 'csv'], 2, /--format csv takes a class or --query/],
  ]
  for (const [words, code, message] of cases) {
    const ended = await run(words)
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(message)])
  }
  const broken = await run(['import', '-', '--format', 'json', '--class', 'X'], { input: '[{"a":1},' })
  expect([broken.code, broken.stderr]).toEqual([7, expect.stringMatching(/no end/)])
})
