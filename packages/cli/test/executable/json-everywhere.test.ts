/** `--json` on every command, as they are declared: what it prints is JSON, and so is what it fails with. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, it } from 'vitest'
import { type Ended, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { clients, type Leaf, leaves, lineOf } from './command-leaves.ts'
import { ashlarHere as ashlar, served } from './command-line.ts'

const { run } = served()
const nameOf = ({ words }: Leaf): string => words.join(' ')

/** Where operands that could be right do not do, or take long. */
const lines: Readonly<Record<string, readonly string[]>> = {
  backup: ['backup', 'lmdb:store', 'backups'],
  bench: ['bench', '--seconds', '1'],
  compact: ['compact', 'lmdb:store'],
  copy: ['copy', 'lmdb:store', 'lmdb:copy'],
  export: ['export', 'C'],
  restore: ['restore', 'backups', 'lmdb:restored'],
  'role add': ['role', 'add', 'x', 'read'],
  'role set': ['role', 'set', 'x', 'read', 'write'],
  'role show': ['role', 'show', 'reader'],
  verify: ['verify', 'lmdb:store'],
}
const lineFor = (leaf: Leaf): string[] => [...(lines[nameOf(leaf)] ?? lineOf(leaf)), '--json']

function folder(): string {
  const directory = temporaryDirectory()
  writeFileSync(`${directory}/schema.do`, 'UPDATE SCHEMA {CREATE CLASS C {a: String}};\n')
  writeFileSync(`${directory}/data.ndjson`, '{"a":"b"}\n')
  mkdirSync(`${directory}/made`)
  return directory
}

/** One text of JSON, or lines of it. */
function isJson(text: string): boolean {
  const isOne = (part: string): boolean => {
    try {
      JSON.parse(part)
      return true
    } catch {
      return false
    }
  }
  return isOne(text) || (text.endsWith('\n') && text.trimEnd().split('\n').every(isOne))
}

/** What is wrong with it; undefined where it is one line of JSON with a sentence and the exit code. */
function problemOf(leaf: Leaf, { code, stdout, stderr }: Ended, codes: readonly number[] = []): string | undefined {
  if (code === 0) return isJson(stdout) ? undefined : `${nameOf(leaf)} printed ${JSON.stringify(stdout.slice(0, 300))}`
  const last = stderr.trimEnd().split('\n').at(-1) ?? ''
  const error = isJson(last) ? JSON.parse(last).error : undefined
  const isTold = error?.exitCode === code && /^[^\n]+$/.test(error?.message)
  if (isTold && (codes.length === 0 || codes.includes(code ?? 0))) return undefined
  return `${nameOf(leaf)} ended with ${code} and ${JSON.stringify(stderr.slice(0, 300))}`
}

async function problems(of: readonly Leaf[], look: (leaf: Leaf) => Promise<string | undefined>): Promise<string[]> {
  const found: string[] = []
  for (const leaf of of) {
    const problem = await look(leaf)
    if (problem !== undefined) found.push(problem)
  }
  return found
}

const input = ({ words }: Leaf) => (words[0] === 'shell' ? { input: 'SHOW 1;\n' } : {})

it('every command has the option', () => {
  expect(leaves.filter(({ command }) => !command.options.some(({ long }) => long === '--json')).map(nameOf)).toEqual([])
})

it('a mistake on the command line is told as JSON', async () => {
  const odd = (leaf: Leaf) => ashlar([...leaf.words, '--json', '--no-such-option'])
  expect(await problems(leaves, async (leaf) => problemOf(leaf, await odd(leaf), [2]))).toEqual([])
  expect(problemOf({ ...leaves[0]!, words: ['none'] }, await ashlar(['none', '--json']), [2])).toBeUndefined()
})

it('a server that is not there is told as JSON', async () => {
  const directory = folder()
  const lost = (leaf: Leaf) => ashlar([...lineFor(leaf), '--url', 'http://127.0.0.1:9'], { directory, ...input(leaf) })
  expect(await problems(clients, async (leaf) => problemOf(leaf, await lost(leaf), [6]))).toEqual([])
})

/** They run until they are ended. */
const servers = ['serve', 'dev', 'demo']
/** What they are about is not there, or differs. */
const refused = [
  'schema diff',
  'webhook resume',
  'webhook dead-letters',
  'webhook show',
  'webhook redeliver',
  'webhook drop',
  'token revoke',
]

it('the result is JSON, and a refusal too', async () => {
  const directory = folder()
  const store = await openStore(`lmdb:${directory}/store`)
  await (await FederatedDatabase.open({ alias: 'default', store })).close()
  const schema = 'UPDATE SCHEMA {CREATE CLASS C {a: String}}; CREATE INDEX j ON C (a); CREATE UNIQUE INDEX k ON C (a)'
  expect(await run(['query', schema])).toMatchObject({ code: 0 })
  expect(await run(['create', 'C', 'a=a'])).toMatchObject({ code: 0, stdout: '3-3-1-1\n' })
  const told: string[] = []
  const look = async (leaf: Leaf): Promise<string | undefined> => {
    const { command } = leaf
    const isOnMachine = command.options.some(({ long }) => long === '--security-store')
    const words = lineFor(leaf)
    const ended = isOnMachine
      ? await ashlar([...words, '--data', 'data'], { directory })
      : await run(words, { directory, ...input(leaf) })
    if (ended.code !== 0) told.push(nameOf(leaf))
    return problemOf(leaf, ended)
  }
  const ending = leaves.filter((leaf) => !servers.includes(nameOf(leaf)))
  expect(await problems(ending, look)).toEqual([])
  expect(told).toEqual(refused)
})

it('what is no JSON is refused before it is written to standard output', async () => {
  for (const words of [['export'], ['export', 'C', '--format', 'csv']]) {
    const { code, stdout, stderr } = await run([...words, '--json'])
    expect([code, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr).error.message).toMatch(/ is not JSON: name a file by --output/)
  }
})

it.each(servers)('%s tells by JSON where it listens', async (name) => {
  const directory = folder()
  const server = start([name, '--json', '--port', '0', '--data', join(directory, 'served')], {}, directory)
  const [line] = await once(createInterface({ input: server.child.stdout as Readable }), 'line')
  const { url, version, federatedDatabases } = JSON.parse(line)
  expect({ url, version, federatedDatabases }).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    version: expect.stringMatching(/^\d/),
    federatedDatabases: [expect.objectContaining({ alias: name === 'demo' ? 'demo' : 'default', kind: 'lmdb' })],
  })
  server.child.kill('SIGTERM')
  await server.ended
})

it.each(servers)('%s tells by JSON why it does not start', async (name) => {
  const directory = folder()
  const words = [name, '--json', '--port', '0', '--data', 'data.ndjson']
  const { code, stdout, stderr } = await ashlar(words, { directory })
  expect([code, stdout]).toEqual([1, ''])
  const told = stderr.trimEnd().split('\n')
  expect(told.filter((line) => !isJson(line))).toEqual([])
  expect(told.map((line) => JSON.parse(line).error).filter(Boolean)).toMatchObject([{ exitCode: 1 }])
})
