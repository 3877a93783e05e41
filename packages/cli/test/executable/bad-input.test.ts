/** Bad input of each kind to every command: a sentence, the exit code for it, and no escape sequence of a server in the terminal. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CommandOptions, type Ended, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { clients, type Leaf, leaves, lineOf } from './command-leaves.ts'
import { ashlarHere as ashlar, served } from './command-line.ts'

const real = served()

const hostile = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e'

let fake: Server
/** What is asked below its path is answered with that status, or with what is not JSON. */
let fakeUrl: string
beforeAll(async () => {
  fake = createServer((request, response) => {
    request.resume()
    const [, kind = ''] = (request.url ?? '').split('/')
    const status = Number(kind)
    if (Number.isNaN(status)) {
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
      response.end(kind === 'cut' ? `{"a${hostile}": [` : hostile)
      return
    }
    const message = `Refused ${hostile}by a server.`
    const problem = {
      type: `Odd${hostile}`,
      title: hostile,
      status,
      message,
      errors: [{ pointer: `/0/${hostile}`, message }],
    }
    response.writeHead(status, { 'content-type': 'application/problem+json', connection: 'close' })
    response.end(JSON.stringify(problem))
  })
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve))
  fakeUrl = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`
})
afterAll(() => void fake.close())

function folder(): string {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'schema.do'), 'UPDATE SCHEMA {CREATE CLASS C {a: String}};\n')
  writeFileSync(join(directory, 'data.ndjson'), '{"a":"b"}\n')
  mkdirSync(join(directory, 'made'))
  return directory
}

/** With a statement for the prompt, which needs one by a pipe. */
const options = ({ words }: Leaf, directory: string): CommandOptions =>
  words[0] === 'shell' ? { directory, input: 'SHOW 1;\n' } : { directory }

/** A few at once: each is a process. All that is wrong is told together. */
async function forEach(all: readonly Leaf[], check: (leaf: Leaf, line: string) => Promise<void>): Promise<void> {
  const left = [...all]
  const problems: string[] = []
  const work = async (): Promise<void> => {
    for (let leaf = left.shift(); leaf !== undefined; leaf = left.shift()) {
      try {
        await check(leaf, leaf.words.join(' '))
      } catch (error) {
        problems.push((error as Error).message)
      }
    }
  }
  await Promise.all([work(), work(), work()])
  expect(problems).toEqual([])
}

/** One sentence at the beginning, and nothing that steers a terminal. */
function expectTold(line: string, { code, stdout, stderr }: Ended, codes: readonly number[], words = ''): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  const isRaw = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(stdout + stderr)
  const isOurs = /(^|\n)ashlar: [^\n]+/.test(stderr) && !/\n\s+at \S|node:internal|undefined/.test(stderr)
  if (isOurs && !isRaw && code !== null && codes.includes(code) && stderr.includes(words)) return
  throw new Error(`${line}: ${code}, ${JSON.stringify(stderr)}, ${JSON.stringify(stdout.slice(0, 200))}`)
}

it('an unknown option, and an operand that is missing, are told with exit code 2, and nothing is made', async () => {
  const directory = folder()
  const before = readdirSync(directory)
  await forEach(leaves, async (leaf, line) => {
    const odd = await ashlar([...lineOf(leaf), '--no-such-option'], { directory })
    expectTold(line, odd, [2], "Unknown option '--no-such-option'")
    if (!leaf.command.registeredArguments.some(({ required }) => required)) return
    const missing = await ashlar(leaf.words, { directory })
    expectTold(line, missing, [2], 'equired ')
  })
  expect(readdirSync(directory)).toEqual(before)
})

it('a server that is not there is exit code 6', async () => {
  const directory = folder()
  await forEach(clients, async (leaf, line) => {
    const ended = await ashlar([...lineOf(leaf), '--url', 'http://127.0.0.1:9'], options(leaf, directory))
    expectTold(line, ended, [6], '127.0.0.1:9')
  })
})

it('a refusal is told by its status, and without the escape sequences of the server', async () => {
  const directory = folder()
  const codes = { 401: 4, 403: 4, 404: 3, 409: 5, 422: 7, 503: 6, 500: 1 } as const
  const statuses = Object.keys(codes).map(Number) as (keyof typeof codes)[]
  let nth = 0
  await forEach(clients, async (leaf, line) => {
    // Each command has some of them, and each of them many commands.
    const status = statuses[nth++ % statuses.length] ?? 404
    const ended = await ashlar([...lineOf(leaf), '--url', `${fakeUrl}/${status}`], options(leaf, directory))
    // Where something else is asked first, such as whether the server is ready.
    expectTold(`${line} ${status}`, ended, [codes[status], 1], 'Refused \\x1b]0;owned')
  })
})

it('a reply that is not what was asked for is told, and not shown raw', async () => {
  const directory = folder()
  const kinds = ['cut', 'odd'] as const
  let nth = 0
  // What is handed on as it comes is the server's: rows of a query and files of an export.
  await forEach(clients, async (leaf, line) => {
    const kind = kinds[nth++ % kinds.length] ?? 'cut'
    const ended = await ashlar([...lineOf(leaf), '--url', `${fakeUrl}/${kind}`], options(leaf, directory))
    if (line === 'export') return
    expectTold(`${line} ${kind}`, ended, [1, 6])
  })
})

it('a federated database that is not there is exit code 3, and those that are there are named', async () => {
  const directory = folder()
  const some = clients.filter(({ command }) => command.options.some(({ long }) => long === '--fd'))
  await forEach(some, async (leaf, line) => {
    const ended = await real.run([...lineOf(leaf), '--fd', 'nope'], options(leaf, directory))
    expectTold(line, ended, [3], "'nope'; there are default, other.")
  })
})

it('what was meant is told: near names, elements of lists, ends of texts, positions, addresses', async () => {
  const directory = folder()
  const run = (...words: string[]) => real.run(words, { directory })
  expect(await run('schema', 'apply', 'schema.do')).toMatchObject({ code: 0 })
  for (const [words, code, told] of [
    [['query', 'FROM'], 7, 'Line 1, column 5: the text ends here; expected a class.'],
    [['export', 'c2'], 3, "There is no class 'c2'. Did you mean C?"],
    [['changes', '--class', 'D'], 7, "There is no class 'D'. Did you mean C?"],
    [['changes', '--since', '0'], 7, 'such as 1763900000-42; without one, first or now.\n'],
    [['create', 'C', '[{"a":"x"},{"a":7}]'], 7, '\n  element 2 of the list, at /attributes/a\n'],
    [['create', 'C', '[{"a":"x"},7]'], 7, 'Object 2 of the list is not a JSON object'],
    [['get', '3-3-1-1', '3-3-1-99'], 3, 'ashlar: There is no object 3-3-1-'],
    [['delete', '3-3-1-98', '3-3-1-99'], 3, 'ashlar: There is no object 3-3-1-98.'],
    [['fd', 'show', 'nope'], 3, "There is no federated database 'nope'; there are default, other."],
    [['copy', 'default', 'lmdb:made'], 2, "The store address 'default' names no kind of store"],
    [['copy', 'lmdb:none', 'mysql://somebody:secret@host/x'], 2, "'mysql:…' names an unknown kind of store"],
    [['compact', 'default'], 2, "The store address 'default' names no kind of store"],
  ] as const) {
    const ended = await run(...words)
    expectTold(words.join(' '), ended, [code], told)
    // Nobody can go on from a position that is none.
    expect(ended.stderr).not.toContain('Continue with')
  }
  expect(readdirSync(join(directory, 'made'))).toEqual([])
})

it('types in a diagram of Mermaid have no braces, commas and generics', async () => {
  const directory = folder()
  const text = `UPDATE SCHEMA {CREATE CLASS C {a: String{Encoding: Byte, Storage: Fixed, FixedLength: 7}, b: List{Element: String},
    c: Map{Key: String, Element: Reference{Referenced: C}}, d: Reference{Referenced: C}}}`
  writeFileSync(join(directory, 'schema.do'), text)
  const { stdout } = await real.run(['schema', 'diagram', 'schema.do'], { directory })
  const lines = ['    a String', '    b List of String', '    c Map of C by String', '    d C']
  expect(stdout).toContain(`{\n${lines.join('\n')}\n  }\n`)
})
