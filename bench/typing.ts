/**
 * What the typed interface of the client costs the type checker and the language service of TypeScript: `node --import tsx bench/typing.ts`. 100 classes of 22
 * attributes and 150 nested queries are checked, 300 classes are completed. It also prints the size of the declarations, of the bundle for browsers, and the
 * time in which a call is translated to DO.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import type { ListedClass } from '../packages/cli/src/schema/schema-state.ts'
import { declarationsOf } from '../packages/cli/src/types/declarations.ts'
import { findStatements } from '../packages/client/src/typed/statement.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const client = join(root, 'packages/client/dist/index')
const tsc = join(root, 'node_modules/typescript/bin/tsc')

/** 18 scalars, an embedded object, a list, a reference and a list of references; four of five classes have a superclass. */
function classesOf(count: number): ListedClass[] {
  const scalars = ['string', 'integer', 'boolean', 'datetime', 'decimal', 'real']
  const embedded = ['city', 'street'].map((attributeName) => ({ attributeName, logicalType: 'string' }))
  const address = {
    className: 'Address',
    isReferenceable: false,
    superClass: null,
    attributes: embedded,
    properties: {},
  }
  const classes = Array.from({ length: count }, (_, at): ListedClass => {
    const own = Array.from({ length: 18 }, (_, column) => ({
      attributeName: `c${at}_a${column}`,
      logicalType: scalars[column % scalars.length] ?? 'string',
      ...(column % 3 === 1 && { isRequired: true }),
    }))
    const attributes = [
      ...own,
      { attributeName: `c${at}_part`, logicalType: 'object', class: 'Address' },
      { attributeName: `c${at}_list`, logicalType: 'list', elementSpecification: { logicalType: 'string' } },
      { attributeName: `c${at}_one`, logicalType: 'reference', referencedClass: `C${(at + 7) % count}` },
      {
        attributeName: `c${at}_many`,
        logicalType: 'list',
        elementSpecification: { logicalType: 'reference', referencedClass: `C${(at + 13) % count}` },
      },
    ]
    const superClass = at % 5 === 0 ? null : `C${at - (at % 5)}`
    return { className: `C${at}`, isReferenceable: true, superClass, attributes, properties: {} }
  })
  return [address, ...classes]
}

/** A query through a reference and two lists of references, with a filter, and uses of what it returns. */
function queryText(number: number, classes: number): string {
  const c = number % classes
  const [d, m] = [(c + 7) % classes, (c + 13) % classes]
  const e = (d + 13) % classes
  return `export async function q${number}() {
  const [row] = await db.find('C${c}', {
    select: { c${c}_a0: true, c${c}_a1: true, c${c}_part: { city: true }, c${c}_list: true,
      c${c}_one: { c${d}_a1: true, c${d}_many: { c${e}_a0: true, c${e}_a3: true, $take: 5 } },
      c${c}_many: { c${m}_a1: true, $where: { c${m}_a1: { $gt: 3 } } } },
    where: { c${c}_a1: { $gt: 5 }, c${c}_one: { c${d}_a0: 'x' }, c${c}_part: { city: 'Oslo' } },
    orderBy: { c${c}_a1: 'asc' }, take: 10,
  })
  const text: string | null | undefined = row?.c${c}_a0
  const size: number | undefined = row?.c${c}_many[0]?.c${m}_a1
  const at: string | null | undefined = row?.c${c}_one?.c${d}_many[0]?.c${e}_a3
  return [text, size, at, row?.c${c}_part.city, row?.c${c}_list[0]]
}
`
}

const config = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: 'es2023',
    lib: ['es2024', 'dom'],
    types: [],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    paths: { '@ashlar/client': [`${client}.d.ts`] },
  },
  include: ['*.ts'],
}

const head = `import { connect } from '@ashlar/client'
import type { Schema } from './schema.d.ts'
const db = connect<Schema>('http://127.0.0.1:8185')
`

function writeProject(folder: string, classes: number, queries: string): number {
  const declarations = declarationsOf(classesOf(classes))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(folder, 'schema.d.ts'), declarations)
  writeFileSync(join(folder, 'queries.ts'), head + queries)
  return declarations.length
}

function check(folder: string): { readonly instantiations: number; readonly checkSeconds: number } {
  const printed = execFileSync(process.execPath, [tsc, '-p', folder, '--extendedDiagnostics', '--singleThreaded'], {
    encoding: 'utf8',
  })
  const figure = (name: string): number => Number(new RegExp(`^${name}:\\s+([\\d.]+)`, 'm').exec(printed)?.[1])
  return { instantiations: figure('Instantiations'), checkSeconds: figure('Check time') }
}

/** The language service of TypeScript, as an editor runs it. */
class LanguageService {
  private readonly child: ChildProcess
  private received = Buffer.alloc(0)
  private nextId = 1
  private readonly waiting = new Map<number, (result: unknown) => void>()

  constructor() {
    this.child = spawn(process.execPath, [tsc, '--lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] })
    this.child.stdout?.on('data', (bytes: Buffer) => this.receive(bytes))
  }

  request(method: string, params: unknown): Promise<unknown> {
    const id = this.nextId++
    const result = new Promise<unknown>((resolve) => this.waiting.set(id, resolve))
    this.send({ id, method, params })
    return result
  }

  send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    this.child.stdin?.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.kill()
    await ended
  }

  private receive(bytes: Buffer): void {
    this.received = Buffer.concat([this.received, bytes])
    for (;;) {
      const end = this.received.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/.exec(this.received.toString('latin1', 0, Math.max(end, 0)))?.[1])
      if (end < 0 || this.received.length < end + 4 + length) return
      const message = JSON.parse(this.received.toString('utf8', end + 4, end + 4 + length)) as {
        readonly id?: number
        readonly method?: string
        readonly result?: unknown
      }
      this.received = this.received.subarray(end + 4 + length)
      if (message.method === undefined && message.id !== undefined) this.waiting.get(message.id)?.(message.result)
      // What the server asks of an editor has no answer here.
      else if (message.id !== undefined) this.send({ id: message.id, result: null })
    }
  }
}

/** Median and longest time of completions at places of several queries, after the first, which loads the project. */
async function completions(
  folder: string,
  classes: number,
): Promise<{ readonly median: number; readonly most: number }> {
  const service = new LanguageService()
  const uri = `file://${join(folder, 'queries.ts')}`
  await service.request('initialize', { processId: process.pid, rootUri: `file://${folder}`, capabilities: {} })
  service.send({ method: 'initialized', params: {} })
  const times: number[] = []
  for (let round = 0; round < 12; round++) {
    const c = (round * 37) % classes
    const line = `export const r${round} = db.find('C${c}', { select: { c${c}_one: {  } }, where: {  } })`
    const text = `${readFileSync(join(folder, 'queries.ts'), 'utf8')}${line}\n`
    const position = {
      line: text.split('\n').length - 2,
      character: line.indexOf(round % 2 === 0 ? '{  } }' : '{  } })') + 2,
    }
    const method = round === 0 ? 'textDocument/didOpen' : 'textDocument/didChange'
    const textDocument = { uri, version: round + 1, languageId: 'typescript', text }
    service.send({ method, params: round === 0 ? { textDocument } : { textDocument, contentChanges: [{ text }] } })
    const start = performance.now()
    const completed = (await service.request('textDocument/completion', { textDocument: { uri }, position })) as {
      readonly items?: readonly { readonly label: string }[]
    } | null
    const labels = completed?.items?.map(({ label }) => label) ?? []
    if (!labels.some((label) => /^c\d+_a0/.test(label))) throw new Error(`No attribute was completed at ${line}`)
    if (round > 0) times.push(performance.now() - start)
  }
  await service.stop()
  times.sort((one, other) => one - other)
  return { median: times[Math.floor(times.length / 2)] ?? 0, most: times.at(-1) ?? 0 }
}

/** Microseconds of CPU for a call of a shape that has been made before: the best of five runs. */
function translation(): number {
  const call = (owner: string): unknown =>
    findStatements('Task', {
      select: { title: true, project: { name: true }, tags: { label: true, $orderBy: { label: 'asc' }, $take: 3 } },
      where: { status: 'open', project: { owner }, due: { $lt: '2026-07-01T00:00:00Z' } },
      orderBy: { due: 'asc' },
      take: 20,
    })
  const calls = 200_000
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    for (let nth = 0; nth < calls; nth++) call('3-3-1-1')
    const { user, system } = process.cpuUsage(before)
    return (user + system) / calls
  })
  return Math.min(...runs)
}

async function bundleBytes(): Promise<number> {
  const contents = `export { connect } from ${JSON.stringify(`${client}.js`)}`
  const stdin = { contents, resolveDir: root }
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  })
  return gzipSync(outputFiles[0]?.contents ?? '').length
}

const folder = mkdtempSync(join(tmpdir(), 'typing-'))
try {
  const queries = Array.from({ length: 150 }, (_, number) => queryText(number, 100)).join('')
  writeProject(folder, 100, '')
  const base = check(folder)
  const characters = writeProject(folder, 100, queries)
  const { instantiations, checkSeconds } = check(folder)
  console.log(`Declarations: ${(characters / 100_000).toFixed(2)} kB a class of 22 attributes`)
  console.log(
    `100 classes, 150 queries: ${instantiations} instantiations (${base.instantiations} without queries), ${checkSeconds} s`,
  )
  writeProject(folder, 300, Array.from({ length: 50 }, (_, number) => queryText(number, 300)).join(''))
  const { median, most } = await completions(folder, 300)
  console.log(`300 classes: completion in ${median.toFixed(0)} ms (median), ${most.toFixed(0)} ms (longest of 11)`)
  console.log(`Bundle of connect: ${((await bundleBytes()) / 1_000).toFixed(1)} kB gzipped`)
  console.log(`Translation of a call: ${translation().toFixed(2)} µs`)
} finally {
  rmSync(folder, { recursive: true })
}
