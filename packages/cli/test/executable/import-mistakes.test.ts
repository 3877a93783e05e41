/** `ashlar import` of files with mistakes: nothing is lost silently, and a sentence says where the fault is and what to do. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { served } from './command-line.ts'

const { run } = served()

/** Of a refusal: without what has been done before it, which is nothing in a dry run. */
const endReasonOf = ({ code, stderr }: { readonly code: number | null; readonly stderr: string }) => ({
  code,
  reason: stderr.replace(/ (Nothing was imported|This was a dry run|At least [\d,]+ records? (is|are) done).*/s, ''),
})

async function imported(name: string, content: string | Buffer, words: readonly string[] = []) {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, name), content)
  return run(['import', name, '--class', 'Item', ...words], { directory })
}

test.each([
  ['two columns of one name', 'in.csv', 'name,name\nA,1\n', "Two columns have the name 'name', and one would be lost"],
  ['another delimiter', 'in.csv', 'name;age\nA;1\n', "a single column, 'name;age'.* --delimiter ';'"],
  ['tabs in CSV', 'in.csv', 'name\tage\nA\t1\n', '--delimiter tab'],
  ['Latin-1', 'in.csv', Buffer.from('name,age\nB,2\nM\xfcller,1\n', 'latin1'), 'Line 3 is not UTF-8.*iconv'],
  ['Latin-1 in NDJSON', 'in.ndjson', Buffer.from('{"name":"M\xfcller"}\n', 'latin1'), 'Line 1 is not UTF-8'],
  ['an end amid a character', 'in.csv', Buffer.from('name\nB\n\xc3', 'latin1'), 'Line 3 is not UTF-8'],
  ['nothing', 'in.csv', '', 'The file has no records'],
  [
    'a number as a name',
    'in.csv',
    'Ann,30\nBob,40\n',
    "The first line looks like data: a column has the name '30'. If the file has no header, --columns names",
  ],
  ['a column without a name', 'in.csv', 'Ann,\nBob,40\n', 'The first line looks like data: a column has no name. '],
  ['objects too deep', 'in.ndjson', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`, 'objects or arrays more than 30 deep'],
  ['UTF-16 without a mark', 'in.csv', Buffer.from('name,age\nB,2\n', 'utf16le'), 'The file is UTF-16, and not UTF-8'],
  ['UTF-16 of the other order', 'in.csv', Buffer.from('name,age\nB,2\n', 'utf16le').swap16(), 'The file is UTF-16'],
  ['UTF-16 in NDJSON', 'in.ndjson', Buffer.from('{"größe":1}\n', 'utf16le'), 'The file is UTF-16'],
  [
    'a record that is too short',
    'in.csv',
    'name,age\nB,2\nC\n',
    'Line 3: The record has 1 value for 2 columns\\. .*Nothing was',
  ],
  [
    'columns that would be one attribute',
    'in.csv',
    'a b,a-b\n1,2\n',
    "The columns 'a b' and 'a-b' would both be the attribute a_b",
  ],
  [
    'the same in NDJSON, of different records',
    'in.ndjson',
    '{"grösse":1}\n{"größe":2}\n',
    "The columns 'grösse' and 'größe' would both be the attribute grosse.*--mapping a file with \\{\"columns\"",
  ],
  [
    'the same in embedded objects',
    'in.ndjson',
    '{"o":{"a b":1,"a-b":2}}\n',
    "The columns 'a b' and 'a-b' would both be",
  ],
  ['a key twice', 'in.ndjson', '{"a":1}\n{"a":1,"a":2}\n', "Line 2: The record has the key 'a' twice"],
  [
    'a key twice, escaped',
    'in.ndjson',
    '{"b":":","a" :1,"\\u0061":"1:\\\\"}\n',
    "Line 1: The record has the key 'a' twice",
  ],
  [
    'a key twice, with a long number',
    'in.json',
    '[{"a":12345678901234567890,"a":2}]',
    "The record has the key 'a' twice",
  ],
  ['a key twice in a nested object', 'in.json', '[{"o":[{"b":1,"b":1}]}]', "Line 1: The record has the key 'b' twice"],
  ['a header without an end', 'in.csv', 'x'.repeat(5 * 2 ** 20), 'The first line is longer than 4 MiB'],
  ['nothing as JSON', 'in.json', '', 'The file has no records'],
  [
    'what is named gzip and is not',
    'in.csv.gz',
    Buffer.from('\xfd\xfe\x00', 'latin1'),
    'is not UTF-8, and not compressed by gzip',
  ],
  [
    'what is named zstd and is not',
    'in.csv.zst',
    Buffer.from('\xfd\xfe\x00', 'latin1'),
    'is not UTF-8, and not compressed by zstd',
  ],
])('%s makes no class', async (_what, name, content, message) => {
  const { code, stderr } = await imported(name, content)
  expect(stderr).toMatch(new RegExp(`^ashlar: .*${message}`))
  expect(code).toBe(exitCodes.invalid)
  expect((await run(['export', 'Item'])).code).toBe(exitCodes.notFound)
})

test('columns keep the order of the header, and dry runs show values as they are stored', async () => {
  const table = '2020,2019,name,ok,code\n1,2.5,A,TRUE,007\n'
  const { code, stdout } = await imported('in.csv', table, ['--dry-run'])
  expect({ code, lines: stdout.split('\n') }).toEqual({
    code: 0,
    lines: [
      'The class Item would be created:',
      ...['c2020 integer b64', 'c2019 real', 'name string', 'ok boolean', 'code string'].map((line) => `  ${line}`),
      'The first objects:',
      '  {"c2020":1,"c2019":2.5,"name":"A","ok":true,"code":"007"}',
      '1 would be created, 0 rejected.',
      '',
    ],
  })
  const given = await imported('in.csv', '1,2\n3,4\n', ['--columns', '2,1', '--skip', '1', '--dry-run', '--json'])
  const { attributes } = JSON.parse(given.stdout).class
  expect(attributes.map(({ attributeName }: { readonly attributeName: string }) => attributeName)).toEqual(['c2', 'c1'])
})

test('a column that the class does not have: add an attribute, or skip the column', async () => {
  const own = ['--class', 'Car']
  expect(await imported('in.csv', 'license\nA\n', own)).toMatchObject({ code: 0 })
  const { code, stderr } = await imported('in.csv', 'license,color\nB,red\n', own)
  expect(stderr).toBe(
    'ashlar: Class Car has no attribute color for the column color: add the attribute ' +
      '(UPDATE SCHEMA { ALTER CLASS Car {ADD color: String} }), or skip the column by a --mapping: {"columns": {"color": null}}.\n',
  )
  expect(code).toBe(exitCodes.invalid)
  expect((await run(['query', 'FROM Car RETURN COUNT() AS n', '--json'])).stdout).toBe('[\n{"n":1}\n]\n')
})

test('an index that is not there is told before a class is made; so is a delimiter that is none', async () => {
  const { code, stderr } = await imported('in.csv', 'name\nA\n', ['--upsert-on', 'nope'])
  expect({ code, stderr }).toEqual({ code: exitCodes.notFound, stderr: "ashlar: There is no index 'nope'.\n" })
  expect((await imported('in.csv', 'a;b\n1;2\n', ['--delimiter', ';;'])).code).toBe(exitCodes.usage)
  expect((await run(['export', 'Item'])).code).toBe(exitCodes.notFound)
})

test('a dry run refuses what the import refuses, for the same reason, and makes nothing', async () => {
  const files = [
    ['in.csv', 'name,age\nA\nB,2\n', []],
    ['in.csv', 'a b,a-b\n1,2\n', []],
    ['in.csv', 'n\n1\n2\n', ['--skip', '3']],
    ['in.csv', `id\n${'x'.repeat(10)}\n`, ['--class', 'Made', '--mapping', 'mapping.json']],
  ] as const
  for (const [name, content, words] of files) {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, name), content)
    writeFileSync(join(directory, 'mapping.json'), '{"columns":{"id":{"type":"integer"}}}')
    const command = ['import', name, '--class', 'Dry', ...words]
    const tried = await run([...command, '--dry-run'], { directory })
    const done = await run(command, { directory })
    expect(tried.code).not.toBe(0)
    expect(endReasonOf(tried)).toEqual(endReasonOf(done))
    expect((await run(['export', 'Dry'])).code).toBe(exitCodes.notFound)
  }
  const lenient = await imported('in.csv', 'name,age\nA\nB,2\n', ['--class', 'Dry', '--dry-run', '--rejects', 'bad'])
  expect(lenient.stdout).toMatch(
    /"name":"B","age":2.*\n1 would be created, 1 rejected\. Line 2: The record has 1 value/,
  )
})

test.each([[], ['--dry-run']])('a key that occurs twice is refused for a class that exists %s', async (...words) => {
  expect(await imported('in.ndjson', '{"a":1}\n', ['--class', 'Twice'])).toMatchObject({ code: 0 })
  const { code, stderr } = await imported('in.ndjson', '{"a":1,"a":2}\n', ['--class', 'Twice', ...words])
  expect(stderr).toMatch(/^ashlar: Line 1: The record has the key 'a' twice in one object/)
  expect(code).toBe(exitCodes.invalid)
})

test('keys that look like duplicates are none', async () => {
  const { code, stderr } = await imported('in.ndjson', '{"a":":","b":{"a":":\\":"},"c":[{"a":1},{"a":2}]}\n', [
    '--class',
    'Once',
    '--dry-run',
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

test('a dry run refuses a line that is too long for the server', async () => {
  const line = `{"a":"${'x'.repeat(17 * 2 ** 20)}"}\n`
  const tried = await imported('in.ndjson', line, ['--class', 'Long', '--dry-run'])
  const done = await imported('in.ndjson', line, ['--class', 'Long'])
  for (const { code, stderr } of [tried, done]) {
    expect(stderr).toContain('Line 1: The line has more than 16777216 bytes (lineBytesMax).')
    expect(code).toBe(exitCodes.invalid)
  }
})

test('a CSV file with NUL characters is not UTF-16', async () => {
  const { stdout, stderr } = await imported('in.csv', 'a,b\n1\x002,x\0y\n', ['--class', 'Nul', '--dry-run'])
  expect(stderr).toBe('')
  expect(stdout).toContain('"b":"x\\u0000y"')
})

test('a dry run into a class that is there refuses values as the server does', async () => {
  expect(await imported('in.csv', 'n,day\n1,2024-02-29\n', ['--class', 'There'])).toMatchObject({ code: 0 })
  for (const content of ['n,day\n2,2024-03-01\nx,2024-03-01\n', 'n,day\n1.5,2024-03-01\n', 'n,day\n5,2023-02-29\n']) {
    const tried = await imported('in.csv', content, ['--class', 'There', '--dry-run'])
    const done = await imported('in.csv', content, ['--class', 'There'])
    expect(done.code).toBe(exitCodes.invalid)
    expect(endReasonOf(tried)).toEqual(endReasonOf(done))
  }
})

test('standard input needs a format', async () => {
  const { code, stderr } = await run(['import', '-', '--class', 'Item'], { input: 'a\n1\n' })
  expect(code).toBe(exitCodes.usage)
  expect(stderr).toMatch(/^ashlar: Standard input has no name that tells the format: give --format csv/)
})

test('an empty cell is null, and quotes with nothing between them an empty text', async () => {
  const lines = ['name,note', 'A,', 'B,""', '', '"C ""D""",', 'E,"a', 'b"', ',""', '']
  expect(await imported('in.csv', lines.join('\n'), ['--class', 'Note'])).toMatchObject({ code: 0 })
  const { stdout } = await run(['query', 'FROM Note RETURN name, note', '--json'])
  const rows = JSON.parse(stdout) as { readonly name: unknown; readonly note: unknown }[]
  expect(rows.map(({ name, note }) => [name, note])).toEqual([
    ['A', null],
    ['B', ''],
    ['C "D"', null],
    ['E', 'a\nb'],
    [null, ''],
  ])
})

test('with --null, a text stands for null, unless it is in quotes, and an empty cell is an empty text', async () => {
  const lines = ['name,note', 'A,\\N', 'B,', 'C,"\\N"', '\\N,"say ""\\N"""', '']
  const own = ['--class', 'Dumped', '--null', '\\N']
  expect(await imported('in.csv', lines.join('\n'), own)).toMatchObject({ code: 0 })
  expect(await imported('in.tsv', 'name\tnote\nD\t\\N\nE\t\n', own)).toMatchObject({ code: 0 })
  const { stdout } = await run(['query', 'FROM Dumped RETURN name, note', '--json'])
  const rows = JSON.parse(stdout) as { readonly name: unknown; readonly note: unknown }[]
  expect(rows.map(({ name, note }) => [name, note])).toEqual([
    ['A', null],
    ['B', ''],
    ['C', '\\N'],
    [null, 'say "\\N"'],
    ['D', null],
    ['E', ''],
  ])
  const json = await imported('in.ndjson', '{"name":"A"}', own)
  expect(json).toEqual({
    code: exitCodes.usage,
    stdout: '',
    stderr: 'ashlar: --null is for CSV and TSV: ndjson has a null of its own.\n',
  })
})

test('records of CSV that cannot be read say why; other delimiters, long lines', async () => {
  const semicolons = await imported('in.csv', 'name;age\nA;1\n', ['--delimiter', ';', '--class', 'Apart'])
  expect(semicolons).toMatchObject({ code: 0, stdout: '1 created, 0 updated, 0 rejected.\n' })
  const long = await imported('in.csv', 'name,age\nB,2,3\n')
  expect(long.stderr).toMatch(/^ashlar: Line 2: The record has 3 values for 2 columns\. .*--rejects/)
  const open = await imported('in.csv', `name,age\n"A\n""A""",1\n"B","2\n${'C,3\n'.repeat(50)}`)
  expect(open.stderr).toMatch(/Line 4: The record begins a quoted value that is not closed up to the end of the file\./)
  const endless = await imported('in.csv', `name,age\nC,3\n"B,2\n${'y'.repeat(33 * 2 ** 20)}`)
  expect(endless.stderr).toMatch(/: The record after line 2 is longer than 32 MiB: a quote that is not closed/)
  const amid = await imported('in.csv', 'name,age\nB"x"",2\n')
  expect(amid.stderr).toMatch(/The record has a quote amid a value/)
  const name = 'x'.repeat(300_000)
  const lines = await imported('in.ndjson', `{"name":"${name}"}\n{"name":"b"}`, ['--class', 'Long'])
  expect(lines).toMatchObject({ code: 0, stdout: '2 created, 0 updated, 0 rejected.\n' })
})
