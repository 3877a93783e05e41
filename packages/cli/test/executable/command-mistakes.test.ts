/** Mistakes on a command line that could cost data or a secret: refused before anything is done, in a sentence and with the right exit code. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect, inject, it, onTestFinished } from 'vitest'
import { start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { served } from './command-line.ts'

const server = served()
const { run } = server

it('a class with a unique index and another one', async () => {
  const schema = 'UPDATE SCHEMA {CREATE CLASS Car {plate: String, n: Integer}}; CREATE INDEX byN ON Car (n);'
  expect(await run(['query', `${schema} CREATE UNIQUE INDEX byPlate ON Car (plate)`])).toMatchObject({ code: 0 })
})

function folder(files: Readonly<Record<string, string>> = {}): string {
  const directory = temporaryDirectory()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content)
  return directory
}

const numberOfCars = async (): Promise<number> =>
  (JSON.parse((await run(['query', 'FROM Car RETURN COUNT() AS n', '--json'])).stdout) as [{ n: number }])[0].n

it('an output that cannot be written is refused before the command does anything', async () => {
  const before = await numberOfCars()
  const directory = folder({ file: '' })
  for (const [output, why] of [
    ['nowhere/out', 'there is no such directory'],
    ['file/out', 'a part of its path is a file'],
    ['.', 'it is a directory; name a file'],
  ]) {
    const { code, stderr } = await run(['create', 'Car', 'plate=O', '-o', output as string], { directory })
    expect([code, stderr]).toEqual([exitCodes.usage, `ashlar: ${output} cannot be written: ${why}.\n`])
  }
  expect(await numberOfCars()).toBe(before)
  expect(readdirSync(directory)).toEqual(['file'])
})

it('an attribute that is specified twice is refused', async () => {
  const before = await numberOfCars()
  const { code, stderr } = await run(['create', 'Car', 'plate=A', 'plate:="B"'])
  expect([code, stderr]).toEqual([exitCodes.usage, 'ashlar: The attribute plate is specified twice.\n'])
  expect(await numberOfCars()).toBe(before)
})

it('rejects do not overwrite a file that the import reads', async () => {
  const content = { 'in.csv': 'plate,n\nR1,x\n', 'map.json': '{"columns":{}}' }
  const directory = folder(content)
  const words = ['import', 'in.csv', '--class', 'Car', '--mapping', 'map.json', '--rejects']
  for (const file of ['./in.csv', 'map.json']) {
    const { code, stderr } = await run([...words, file], { directory })
    expect([code, stderr]).toEqual([
      exitCodes.usage,
      `ashlar: --rejects ${file} would overwrite the file that is read.\n`,
    ])
  }
  expect(readFileSync(join(directory, 'in.csv'), 'utf8')).toBe(content['in.csv'])
})

it('an import that goes on keeps the rejects of the part before', async () => {
  const directory = folder({ 'in.csv': 'plate,n\nS1,x\nS2,2\nS3,y\n' })
  const words = ['import', 'in.csv', '--class', 'Car', '--rejects', 'bad.ndjson']
  expect(await run(words, { directory })).toMatchObject({ code: 0 })
  expect(await run([...words, '--skip', '2'], { directory })).toMatchObject({ code: 0 })
  const lines = readFileSync(join(directory, 'bad.ndjson'), 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { line: number }).line)).toEqual([2, 4, 4])
  // From the beginning, they are those of that run alone: now S2 is there, too.
  expect(await run(words, { directory })).toMatchObject({ code: exitCodes.invalid })
  expect(readFileSync(join(directory, 'bad.ndjson'), 'utf8').trimEnd().split('\n')).toHaveLength(3)
})

it('an index that cannot identify objects of the class is refused before a class is made', async () => {
  const directory = folder({ 'in.csv': 'plate,n\nT1,1\n' })
  for (const [className, index, why] of [
    ['Car', 'byN', "The index 'byN' is not unique"],
    ['Made', 'byPlate', "The index 'byPlate' is of class Car"],
  ]) {
    const words = ['import', 'in.csv', '--class', className as string, '--upsert-on', index as string]
    const { code, stderr } = await run(words, { directory })
    expect([code, stderr]).toEqual([exitCodes.usage, expect.stringMatching(`^ashlar: ${why}`)])
    expect(stderr).not.toContain('--skip')
  }
  expect((await run(['export', 'Made'])).code).toBe(exitCodes.notFound)
})

it('more records to skip than the file has are refused', async () => {
  const directory = folder({ 'in.csv': 'plate,n\nU1,1\nU2,2\n' })
  const words = ['import', 'in.csv', '--class', 'Car', '--skip']
  expect(await run([...words, '2'], { directory })).toMatchObject({ code: 0 })
  const { code, stderr } = await run([...words, '3'], { directory })
  expect([code, stderr]).toEqual([exitCodes.usage, 'ashlar: --skip 3 is more than the 2 records of the file.\n'])
})

it.each([
  ['no array', '{"a":1}', exitCodes.invalid, 'in.json cannot be read: it is not a JSON array'],
  ['elements that are no objects', '[7,8]', exitCodes.invalid, 'Line 1: The record is not a JSON object\\.'],
  [
    'deep nesting',
    `[${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}]`,
    exitCodes.invalid,
    'Line 1: The record is nested too deeply\\.',
  ],
])('JSON with %s is refused in a sentence, and no class is made', async (_what, text, expected, message) => {
  const directory = folder({ 'in.json': text })
  const { code, stderr } = await run(['import', 'in.json', '--class', 'Made'], { directory })
  expect([code, stderr]).toEqual([expected, expect.stringMatching(`^ashlar: ${message}[^\n]*\n$`)])
  expect((await run(['export', 'Made'])).code).toBe(exitCodes.notFound)
})

it('a folder that cannot be made is told', async () => {
  const directory = folder({ file: '' })
  for (const [place, why] of [
    ['file', 'it is a file; name a directory'],
    ['file/below', 'a part of its path is a file'],
    ...(process.platform === 'linux' ? [['/proc/none/schema', 'there is no such directory']] : []),
  ]) {
    const { code, stderr } = await run(['schema', 'pull', place as string], { directory })
    expect([code, stderr]).toEqual([exitCodes.usage, `ashlar: ${place} cannot be written: ${why}.\n`])
  }
})

it('a password file and no password at all do not go together', async () => {
  const directory = folder({ secret: 'a long enough password' })
  const words = ['user', 'add', 'bob', '--no-password', '--password-file', 'secret', '--data', 'data']
  const { code, stderr } = await run(words, { directory })
  expect([code, stderr]).toEqual([
    exitCodes.usage,
    expect.stringMatching(/'--no-password' cannot be used with option '--password-file <file>'/),
  ])
  expect(existsSync(join(directory, 'data'))).toBe(false)
})

it('what is no backup, no archive and no moment is told with exit code 2', async () => {
  const directory = folder({ file: 'x' })
  mkdirSync(join(directory, 'empty'))
  for (const [words, code, told] of [
    [['restore', 'file', 'lmdb:made'], 2, 'file is a file; name a directory of backups'],
    [['restore', 'empty', 'lmdb:made', '--until', 'yesterday'], 2, "It is a time with its zone.*not 'yesterday'"],
    [['copy', 'archive:none.tar.gz', 'lmdb:made'], 2, 'none.tar.gz cannot be read: there is no such file'],
    [['changes', '--since', '1-1'], 3, 'The position 1-1 is of a log that was ended'],
  ] as const) {
    const ended = await run(words, { directory })
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(told)])
  }
  expect(existsSync(join(directory, 'made'))).toBe(false)
})

it('a word that is not an OID is exit code 2 for all commands, for numbers beyond what there can be, too', async () => {
  for (const word of ['nope', '3-3-1', '3-3-1-99999', '3-32768-1-1', '3-3-01-1']) {
    for (const words of [
      ['get', word],
      ['get', '3-3-1-1', word],
      ['delete', word],
      ['update', word, 'plate=x'],
    ]) {
      const { code, stderr } = await run(words)
      const told = `ashlar: ${word} is not an OID: an OID is four numbers up to 65535, the second up to 32767, such as 3-3-1-1.\n`
      expect([words, code, stderr]).toEqual([words, exitCodes.usage, told])
    }
  }
})

it('an import whose connection is lost tells how to go on', async () => {
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      const attributes = [{ attributeName: 'n', logicalType: 'integer' }]
      response.end(JSON.stringify({ className: 'Car', superClass: null, attributes }))
      return
    }
    let lines = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      lines += text
      if (response.headersSent || lines.split('\n').length <= 2) return
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      const replies = [1, 2].map((line) => JSON.stringify({ line, __identifier__: `3-3-1-${line}` }))
      response.write(`${replies.join('\n')}\n`)
      response.socket?.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const directory = folder({ 'in.csv': 'n\n1\n2\n3\n' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, stderr } = await run(['import', 'in.csv', '--class', 'Car', '--url', url], { directory })
  expect([code, stderr]).toEqual([
    exitCodes.unavailable,
    expect.stringMatching(
      /^ashlar: The connection was lost amid the reply: .* At least 2 records are done: resume with --skip 2,/,
    ),
  ])
})

it('an import that did nothing says so, and not how to go on', async () => {
  const directory = folder({ 'in.csv': 'plate,n\nZ1,x\nZ2,2\n', 'in.ndjson': '{"plate":\n{"plate":"Z3"}\n' })
  for (const file of ['in.csv', 'in.ndjson']) {
    const { code, stderr } = await run(['import', file, '--class', 'Car'], { directory })
    expect([code, stderr]).toEqual([
      exitCodes.invalid,
      expect.stringMatching(/^ashlar: Line \d: .* skip such records with --rejects <file>\. Nothing was imported\.\n$/),
    ])
  }
})

it('what is wrong is named by what was typed', async () => {
  const long = `{"plate":"${'x'.repeat(100)}`
  for (const [words, code, told] of [
    [['create', 'Car', '{"plate":'], exitCodes.invalid, `The argument '{"plate":' is not JSON: `],
    [['create', 'Car', long], exitCodes.invalid, `The argument '${long.slice(0, 40)}…' is not JSON: `],
    [
      ['export', '--query', 'DELETE Car'],
      exitCodes.invalid,
      'An export only reads: statements that change something are for ashlar query.\n',
    ],
    [['help', 'xyzzy'], exitCodes.usage, 'There is no command xyzzy. See ashlar --help.\n'],
    [['help', 'exprot'], exitCodes.usage, 'There is no command exprot. Did you mean export? See ashlar --help.\n'],
    [['restore', 'nodir', 'lmdb:made'], exitCodes.usage, 'There is no directory '],
  ] as const) {
    const ended = await run(words)
    expect([words, ended.code, ended.stderr]).toEqual([words, code, expect.stringContaining(`ashlar: ${told}`)])
  }
  expect(await run(['help', 'export'])).toMatchObject({ code: 0 })
})

it('a compressed file that is cut off tells how to go on', async () => {
  const lines = Array.from({ length: 10_000 }, (_, n) => `V${n},${(n * 7_919) % 100_003}`)
  const whole = gzipSync(`plate,n\n${lines.join('\n')}\n`)
  const directory = folder()
  writeFileSync(join(directory, 'in.csv.gz'), whole.subarray(0, whole.length / 2))
  const { code, stderr } = await run(['import', 'in.csv.gz', '--class', 'Car', '--quiet'], { directory })
  expect([code, stderr]).toEqual([
    exitCodes.invalid,
    expect.stringMatching(
      /^ashlar: in\.csv\.gz is damaged or cut off: .*\. At least [\d,]+ records are done: resume with --skip \d+/,
    ),
  ])
})

it.skipIf(!existsSync('/dev/full'))('standard output on a full disk is told', async () => {
  for (const words of [
    ['export', 'Car'],
    ['query', 'FROM Car RETURN *', '--format', 'ndjson'],
    ['status'],
    ['completion', 'bash'],
    ['--help'],
  ]) {
    const child = spawn(process.execPath, [inject('server'), ...words], {
      env: { ...process.env, ASHLAR_URL: server.url },
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const told = await text(child.stderr as NodeJS.ReadableStream)
    expect([words, await ended, told]).toEqual([
      words,
      exitCodes.failed,
      'ashlar: Standard output cannot be written: the disk is full.\n',
    ])
  }
})

it.skipIf(!existsSync('/dev/full'))('rejects on a full disk end the import, and what is lost is told', async () => {
  const directory = folder({ 'in.csv': 'plate,n\nW1,1\nW2,x\nW3,3\n' })
  const words = ['import', 'in.csv', '--class', 'Car', '--rejects', '/dev/full']
  const { code, stderr } = await run(words, { directory })
  expect([code, stderr]).toEqual([
    exitCodes.failed,
    expect.stringMatching(
      /^ashlar: \/dev\/full cannot be written: the disk is full\. Refused records from line 3 on are not in it: /,
    ),
  ])
})

it.skipIf(process.platform === 'win32')('changes that were followed into a file are in it after Ctrl-C', async () => {
  const directory = folder()
  const words = ['changes', '--class', 'Car', '--json', '--follow', '-o', 'out', '--url', server.url]
  const following = start(words, {}, directory)
  expect(await run(['create', 'Car', 'plate=followed'])).toMatchObject({ code: 0 })
  const read = (): string =>
    readdirSync(directory)
      .map((name) => readFileSync(join(directory, name), 'utf8'))
      .join('')
  await expect.poll(read, { interval: 20, timeout: 20_000 }).toContain('"followed"')
  following.child.kill('SIGINT')
  const { code, stderr } = await following.ended
  expect(readdirSync(directory)).toEqual(['out'])
  expect(read()).toContain('"followed"')
  expect([code, stderr]).toEqual([
    exitCodes.interrupted,
    expect.stringMatching(/^Continue with --since \S+\n\{"error":\{"exitCode":130,"message":"Stopped\."\}\}\n$/),
  ])
})
