/** One exit code for one kind of mistake, whichever command meets it: 2 for a place that is wrong, 5 for what is in the way, 7 for bad data. */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, it, onTestFinished } from 'vitest'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { ashlar, ashlarHere, served } from './command-line.ts'
import { start, temporaryDirectory } from './process.ts'

const { usage, conflict, invalid, notFound, unavailable } = exitCodes

const server = served()
const { run } = server

function folder(files: Readonly<Record<string, string | Buffer>> = {}): string {
  const directory = temporaryDirectory()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content)
  return directory
}

async function makeStore(address: string): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'default', store: await openStore(address), changeLog: 'on' })
  const attributes = [{ attributeName: 'name', logicalType: 'string' }]
  await fd.defineClasses([{ className: 'Port', isReferenceable: true, attributes }], 'create')
  await fd.createObject('Port', { name: 'Callao' })
  await fd.close()
}

/** It never answers. `asked` resolves once it is asked for something. */
async function silentServer() {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    silent.close()
    silent.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    asked: () => new Promise<void>((resolve) => silent.once('request', () => resolve())),
  }
}

it('a class', async () => {
  const schema =
    'UPDATE SCHEMA {CREATE CLASS Car {plate: String, n: Integer}}; CREATE UNIQUE INDEX byPlate ON Car (plate)'
  expect(await run(['query', schema])).toMatchObject({ code: 0 })
})

const rows = Array.from({ length: 5_000 }, (_, n) => `P${n},${(n * 7_919) % 100_003}`)
const objects = rows.map((row) => JSON.stringify({ plate: row.split(',')[0], n: Number(row.split(',')[1]) }))

it.each([
  ['json', `[${objects.slice(0, 3).join(',')}`, 'the JSON array has no end'],
  ['json', `[${objects[0]}] more`, 'text follows the end of the JSON array'],
  ['json', '{"plate":"A"}', 'it is not a JSON array'],
  ['ndjson', `${objects[0]}\n{"plate":`, 'Line 2: The record is not JSON'],
  ['csv', 'plate,n\nA,1\n"B,2\n', 'a quoted value that is not closed'],
  ['csv', Buffer.from('plate,n\nM\xfcller,1\n', 'latin1'), 'Line 2 is not UTF-8'],
  ['csv', Buffer.from('\ufeffplate,n\nA,1\n', 'utf16le'), 'The file is UTF-16, and not UTF-8.'],
  ['csv.gz', gzipSync(`plate,n\n${rows.join('\n')}\n`).subarray(0, 5_000), 'is damaged or cut off'],
  ['parquet', 'PAR1 and nothing else', 'cannot be read as Parquet'],
  ['ndjson', '{"plate":"H","n":1e400}\n', 'Line 1: Class Car, attribute n: "1e400" is not an integer'],
  ['parquet', '', 'cannot be read as Parquet: it is empty'],
])('bad data in %s, %#', async (ending, content, told) => {
  const directory = folder({ [`in.${ending}`]: content })
  const words = ['import', `in.${ending}`, '--class', 'Car', '--upsert-on', 'byPlate']
  const { code, stderr } = await run(words, { directory })
  expect(stderr).toMatch(/^ashlar: [^\n]+\n$/)
  expect([code, stderr]).toEqual([invalid, expect.stringContaining(told)])
})

it('bad JSON of create, update and parameters is bad data too', async () => {
  const directory = folder({ 'bad.json': '{"plate":', 'latin.json': Buffer.from('{"plate":"\xfc"}', 'latin1') })
  for (const words of [
    ['create', 'Car', '{"plate":'],
    ['create', 'Car', '@bad.json'],
    ['create', 'Car', '@latin.json'],
    ['create', 'Car', 'n:=one'],
    ['create', 'Car', 'n:=1e400'],
    ['create', 'Car', '[1]'],
    ['update', '3-3-1-1', '[]'],
    ['query', 'SHOW $n', '-p', 'n:=one'],
  ]) {
    const { code, stderr } = await run(words, { directory })
    expect([words, code, stderr]).toEqual([words, invalid, expect.stringMatching(/^ashlar: [^\n]+\n$/)])
  }
})

it('a store, file or directory that is not there, or of another kind, is exit code 2 for all commands, and nothing is made', async () => {
  const directory = folder({ file: 'x', 'map.json': '{' })
  mkdirSync(join(directory, 'empty'))
  await makeStore(`lmdb:${join(directory, 'store')}`)
  const before = readdirSync(directory).sort()
  const cases: readonly (readonly string[])[] = [
    ...['backup lmdb:none made', 'copy lmdb:none lmdb:made', 'verify lmdb:none', 'compact lmdb:none'],
    ...['backup lmdb:empty made', 'copy lmdb:empty lmdb:made', 'verify lmdb:empty', 'compact lmdb:empty'],
    ...['backup lmdb:file made', 'copy lmdb:file lmdb:made', 'verify lmdb:file', 'compact lmdb:file'],
    ...['backup memory: made', 'copy memory: lmdb:made', 'verify memory:', 'compact memory:', 'restore empty memory:'],
    ...['restore none lmdb:made', 'restore empty lmdb:made', 'restore file lmdb:made', 'restore none --check'],
    ...['copy archive:none.tar.gz lmdb:made', 'copy lmdb:store lmdb:store', 'copy lmdb:store lmdb:file/made'],
    ...['backup lmdb:store file', 'backup lmdb:store file/made'],
    ...['verify postgres://db.example/x?odd=1', 'verify ftp://somewhere'],
    ...[
      'import none.csv --class Car',
      'import none --class Car',
      'import empty --class Car',
      'import none.parquet --class Car',
    ],
    ...[
      'import file --format csv --class Car --mapping none.json',
      'import file --format csv --class Car --mapping map.json',
    ],
    ...['query -f none.do', 'query -f empty', 'create Car @none.json', 'schema apply none', 'schema check empty'],
    ...[
      'export Car -o none/out',
      'export Car -o empty',
      'export Car -o file/out',
      'schema pull file',
      'demo --port x',
      'create Car =x',
      'create Car :=1',
    ],
    ...['status --ca none.pem', 'status --token-file none', 'status --profile none'],
  ].map((line) => line.split(' '))
  const told: string[] = []
  for (const words of cases) {
    const { code, stderr } = await run(words, { directory })
    if (code !== usage || !/^ashlar: [^\n]+\n$/.test(stderr)) told.push(`${words.join(' ')}: ${code} ${stderr}`)
  }
  expect(told).toEqual([])
  expect(readdirSync(directory).sort()).toEqual(before)
})

it('what is in the way is exit code 5, and what is damaged 7', async () => {
  const directory = folder()
  const here = (...words: string[]) => ashlar(words, { directory })
  await makeStore(`lmdb:${join(directory, 'store')}`)
  await makeStore(`lmdb:${join(directory, 'other')}`)
  expect(await here('backup', 'lmdb:store', 'full')).toMatchObject({ code: 0 })
  expect(await here('backup', 'lmdb:store', 'one.entries')).toMatchObject({ code: 0 })
  for (const line of [
    'copy lmdb:store lmdb:other',
    'restore full lmdb:other',
    'backup lmdb:store empty --incremental',
    'backup lmdb:store one.entries',
  ]) {
    const { code, stderr } = await here(...line.split(' '))
    expect([line, code, stderr]).toEqual([line, conflict, expect.stringMatching(/^ashlar: [^\n]+\n$/)])
  }
  const [entries = ''] = readdirSync(join(directory, 'full')).filter((name) => name.endsWith('.entries'))
  const path = join(directory, 'full', entries)
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
  writeFileSync(path, bytes)
  writeFileSync(join(directory, 'cut.tar.gz'), gzipSync('nothing').subarray(0, 12))
  writeFileSync(join(directory, 'other.tar.gz'), gzipSync('a,b\n1,2\n'))
  // A check names each damaged file on a line of its own.
  const checked = await here('restore', 'full', '--check')
  expect([checked.code, checked.stderr]).toEqual([invalid, expect.stringMatching(/^ashlar: [^\n]+:\n[^\n]+\n$/)])
  for (const line of [
    'restore full lmdb:made',
    'copy archive:cut.tar.gz lmdb:never',
    'copy archive:other.tar.gz lmdb:never',
  ]) {
    const { code, stderr } = await here(...line.split(' '))
    expect([line, code, stderr]).toEqual([line, invalid, expect.stringMatching(/^ashlar: [^\n]+\n$/)])
  }
  expect(existsSync(join(directory, 'never'))).toBe(false)
  expect(await here('verify', 'postgres://ashlar@127.0.0.1:9/none?patienceMs=0')).toMatchObject({ code: 2 })
  expect(await here('copy', 'postgres://ashlar@127.0.0.1:9/none?patienceMs=0', 'lmdb:never')).toMatchObject({
    code: unavailable,
    stderr: expect.stringMatching(/^ashlar: [^\n]+\n$/),
  })
})

it('a store is not made among other files, nor in the directory of its source', async () => {
  const directory = folder()
  const here = (...words: string[]) => ashlar(words, { directory })
  await makeStore(`lmdb:${join(directory, 'store')}`)
  mkdirSync(join(directory, 'volume', 'lost+found'), { recursive: true })
  expect(await here('backup', 'lmdb:store', 'full')).toMatchObject({ code: 0 })
  const [entries = ''] = readdirSync(join(directory, 'full')).filter((name) => name.endsWith('.entries'))
  const names = () => ['.', 'full', 'store'].map((name) => readdirSync(join(directory, name)).sort())
  const before = names()
  for (const [line, code, told] of [
    ['restore full lmdb:full', usage, 'A backup cannot be restored into the directory of the backups; name '],
    [`restore full/${entries} lmdb:full`, conflict, 'The directory full holds files that are not those of a store, '],
    ['restore full lmdb:.', conflict, 'The directory . holds files that are not those of a store, such as full; '],
    ['copy lmdb:store lmdb:full', conflict, 'The directory full holds files that are not those of a store, '],
    ['copy archive:none.tar.gz lmdb:full', conflict, 'The directory full holds files that are not those of a store, '],
    ['compact lmdb:full', usage, 'there is no store in that directory'],
    ['backup lmdb:store store', usage, 'A store cannot be backed up into its own directory; name another.'],
  ] as const) {
    const ended = await here(...line.split(' '))
    expect([line, ended.code, ended.stderr]).toEqual([line, code, expect.stringContaining(told)])
    expect(ended.stderr).toMatch(/^ashlar: [^\n]+\n$/)
  }
  expect(names()).toEqual(before)
  expect(await here('restore', 'full', 'lmdb:volume')).toMatchObject({ code: 0 })
})

it('what a server keeps in memory is backed up through it', async () => {
  const { stderr } = await ashlar(['backup', 'memory:', 'made'])
  expect(stderr).toMatch(
    /^ashlar: memory: is a store within the process that serves it, .* ashlar tool run Backup --fd <alias>\.\n$/,
  )
})

it('an import of which all records are rejected has failed, and one of which some are has not', async () => {
  const directory = folder({
    'all.csv': 'plate,n\nA,x\nB,y\n',
    'some.csv': 'plate,n\nS1,x\nS2,1\n',
    'none.csv': 'plate,n\n',
  })
  const imported = (file: string, ...more: string[]) =>
    run(['import', file, '--class', 'Car', '--rejects', 'bad.ndjson', ...more], { directory })
  const all = await imported('all.csv')
  expect(all).toMatchObject({ code: invalid, stdout: '' })
  expect(all.stderr).toMatch(
    /^ashlar: Nothing was imported\. All 2 records were rejected \(see bad\.ndjson\)\. Line 2: .*\n$/,
  )
  expect(readFileSync(join(directory, 'bad.ndjson'), 'utf8').trimEnd().split('\n')).toHaveLength(2)
  const json = await imported('all.csv', '--json')
  expect(JSON.parse(json.stderr)).toMatchObject({ error: { exitCode: invalid } })
  expect(await imported('some.csv')).toMatchObject({
    code: 0,
    stdout: '1 created, 0 updated, 1 rejected (see bad.ndjson).\n',
  })
  expect(await imported('some.csv', '--upsert-on', 'byPlate', '-o', 'told')).toMatchObject({
    code: 0,
    stderr: '1 record was rejected (see bad.ndjson).\n',
  })
  expect(await imported('none.csv')).toMatchObject({ code: 0 })
})

it('rejects that cannot be written are refused before a class is made; an import that does not begin leaves the file as it was', async () => {
  const directory = folder({ 'in.csv': 'a,b\n1,2\n', 'old.ndjson': 'kept\n' })
  for (const file of ['none/bad.ndjson', '.']) {
    const { code, stderr } = await run(['import', 'in.csv', '--class', 'Fresh', '--rejects', file], { directory })
    expect([code, stderr]).toEqual([usage, expect.stringContaining(`${file} cannot be written: `)])
  }
  expect((await run(['export', 'Fresh'])).code).toBe(notFound)
  // A name that no class can have.
  for (const file of ['old.ndjson', 'new.ndjson'])
    expect((await run(['import', 'in.csv', '--class', '9', '--rejects', file], { directory })).code).toBe(invalid)
  expect(readFileSync(join(directory, 'old.ndjson'), 'utf8')).toBe('kept\n')
  expect(existsSync(join(directory, 'new.ndjson'))).toBe(false)
})

it('a file that is not there is told as such, whatever its name', async () => {
  const { stderr } = await run(['import', '/nope', '--class', 'X'])
  expect(stderr).toBe('ashlar: The file /nope cannot be read: there is no such file; check its name.\n')
})

it('a header alone, and a header that is rather data, are told', async () => {
  const directory = folder({
    'head.csv': 'a,b\n',
    'long.csv': 'x'.repeat(3_000_000),
    'wide.csv': Array.from({ length: 200_000 }, (_, n) => `c${n}`).join(','),
  })
  for (const [file, told] of [
    ['head.csv', 'The file has a header of 2 columns and no records below it, so '],
    ['long.csv', "The first line looks like data: a column has a name of 3,000,000 characters, 'xxxx"],
    ['wide.csv', 'The file has a header of 200,000 columns and no records below it, so '],
  ] as const) {
    const { code, stderr } = await run(['import', file, '--class', 'Fresh'], { directory })
    expect([code, stderr.slice(0, 300)]).toEqual([invalid, expect.stringContaining(`ashlar: ${told}`)])
  }
})

it('what killed commands have left is removed by the next one that writes the file, and links are followed', async () => {
  const directory = folder({ real: 'old' })
  symlinkSync('real', join(directory, 'out'))
  // Killed as soon as it has opened its file: the server does not answer.
  const silent = start(['export', 'Car', '--url', 'http://10.255.255.1:9', '-o', 'out'], {}, directory)
  const partial = (): string[] => readdirSync(directory).filter((name) => name.endsWith('.partial'))
  await expect.poll(partial, { interval: 5 }).toHaveLength(1)
  silent.child.kill('SIGKILL')
  await silent.ended
  expect(partial()).toHaveLength(1)
  writeFileSync(join(directory, 'real.other.partial'), 'of somebody else')
  expect(await run(['export', 'Car', '-o', 'out'], { directory })).toMatchObject({ code: 0 })
  expect(partial()).toEqual(['real.other.partial'])
  expect(lstatSync(join(directory, 'out')).isSymbolicLink()).toBe(true)
  expect(readFileSync(join(directory, 'real'), 'utf8')).not.toBe('old')
})

it('parameters of REST are told as options of the command', async () => {
  const several = start(['serve', '--port', '0', '--fd', 'one=memory:', '--fd', 'two=memory:'])
  onTestFinished(() => void several.child.kill('SIGTERM'))
  const url = ['--url', await several.url]
  const { code, stderr } = await run(['query', 'SHOW 1', ...url])
  expect([code, stderr]).toEqual([
    invalid,
    'ashlar: The server has several federated databases; name one by --fd, ASHLAR_FD or a profile: there are one, two.\n',
  ])
})

it('options that contradict each other are exit code 2, in the words of the command', async () => {
  const directory = folder({ 'in.csv': 'plate,n\nA,1\n' })
  await makeStore(`lmdb:${join(directory, 'store')}`)
  const before = readdirSync(directory)
  for (const [line, told] of [
    ['export Car --columns n', '--columns is for --format csv.'],
    ['export Car --format ndjson --columns n', '--columns is for --format csv.'],
    ['export Car --query SHOW', 'Give a class or --query, not both.'],
    ['export --query SHOW --after 3-3-1-1', '--after is for the export of a class.'],
    ['export --after 3-3-1-1', '--after is for the export of a class.'],
    ['export Car --escape-formulas', '--escape-formulas is for --format csv.'],
    ['export --format csv', '--format csv takes a class or --query, since CSV has the columns of one of them.'],
    [
      'export Car --format archive',
      'An archive is of a whole federated database: leave out the class, or choose another --format.',
    ],
    ['query SHOW --json --format csv', 'Give --json or --format csv, not both.'],
    [
      'import in.csv --class Car --rejects -',
      '--rejects names a file: standard output is for the result of the import.',
    ],
    [
      'backup lmdb:store one.entries --incremental',
      '--incremental is for a directory of backups, and a path that ends in .entries is a single full backup.',
    ],
  ] as const) {
    // Nobody answers there: they are refused before anything is sent.
    const words = line.startsWith('backup') ? [] : ['--url', 'http://127.0.0.1:9']
    const ended = await run([...line.split(' '), ...words], { directory })
    const isJson = line.includes('--json')
    const text = isJson ? JSON.parse(ended.stderr).error.message : ended.stderr
    expect([line, ended.code, text]).toEqual([line, usage, isJson ? told : `ashlar: ${told}\n`])
  }
  expect(readdirSync(directory)).toEqual(before)
})

it.skipIf(process.platform === 'win32')(
  'a profile file that holds a secret in any profile is for its owner alone',
  async () => {
    const profiles = { local: { url: server.url }, far: { url: 'https://db.example', token: 'ash_x_y' } }
    const directory = folder({ 'profiles.json': JSON.stringify({ default: 'local', profiles }) })
    const environment = { ASHLAR_PROFILES: join(directory, 'profiles.json'), ASHLAR_URL: '' }
    const { code, stderr } = await ashlarHere(['status'], { environment })
    expect([code, stderr]).toEqual([
      usage,
      expect.stringMatching(/holds a token or password, and others may read it: run chmod 600/),
    ])
  },
)

it('a shell without a server is told, whatever is in its script', async () => {
  for (const input of ['', 'SHOW 1;\n', '\\?\n']) {
    const { code, stderr } = await ashlar(['shell', '--url', 'http://127.0.0.1:9'], { input })
    expect([code, stderr]).toEqual([
      unavailable,
      expect.stringMatching(/No server answers at http:\/\/127\.0\.0\.1:9 /),
    ])
  }
})

it('the shell says what is wrong with a file, and which class may be meant', async () => {
  const schema = 'UPDATE SCHEMA {CREATE CLASS Ab {n: Integer}; CREATE CLASS Flight {n: Integer}}'
  expect(await run(['query', schema])).toMatchObject({ code: 0 })
  const included = await run(['shell'], { input: '\\i /nope\n' })
  expect(included).toMatchObject({ code: usage })
  expect(included.stderr).toContain('The file /nope cannot be read: there is no such file; check its name.\n')
  const described = await run(['shell'], { input: '\\d Fl\n' })
  expect(described).toMatchObject({
    code: notFound,
    stderr: expect.stringContaining('There is no class Fl. Did you mean Flight?'),
  })
})

it.skipIf(process.platform === 'win32')('Ctrl-C speaks of a change only where there may be one', async () => {
  const { url, asked } = await silentServer()
  for (const [line, told] of [
    [
      'query SHOW',
      'Stopped. If the statements change data, the change was made completely or not at all: check before you run them again.',
    ],
    ['query SHOW --explain', 'Stopped.'],
    ['get 3-3-1-1', 'Stopped.'],
    [
      'update 3-3-1-1 n:=1',
      'Stopped. A change in progress was made completely or not at all: check before you repeat it.',
    ],
  ] as const) {
    const request = asked()
    const { child, ended } = start([...line.split(' '), '--url', url], {}, folder())
    await request
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect([line, code, stderr]).toEqual([line, exitCodes.interrupted, `ashlar: ${told}\n`])
  }
})
