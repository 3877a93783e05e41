/** The package as `npm pack` makes it, in an empty folder: one package with the program, `open`, `connect` and their types, on every Node that is supported. */
import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { nodePrograms } from '../../../../tools/other-nodes.ts'
import { start } from '../../../server/test/executable/process.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const run = promisify(execFile)
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const unpackedBytesMax = 8_000_000

/** As `npm pack` has made it. */
let packed: string

beforeAll(async () => {
  packed = mkdtempSync(join(tmpdir(), 'ashlar-packed-'))
  const packing = [
    'pack',
    '--workspace=packages/ashlar',
    `--pack-destination=${packed}`,
    `--cache=${join(packed, 'cache')}`,
  ]
  await run('npm', packing, { cwd: root, shell: process.platform === 'win32' })
  const archive = readdirSync(packed).find((file) => file.endsWith('.tgz')) ?? ''
  await run('tar', ['-xzf', archive], { cwd: packed })
  return () => rmSync(packed, { recursive: true, force: true })
})

/** An installation in an empty folder: dependencies come from this checkout, and what the package does not name it does not find. */
function install(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-installed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const place = join(folder, 'node_modules/ashlar')
  cpSync(join(packed, 'package'), place, { recursive: true })
  const { dependencies } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>
  }
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link, 'junction')
  }
  return folder
}

const consumer = `
import { AshlarRequestError, connect, type Id, open } from 'ashlar'
import { AshlarRequestError as OfClient } from 'ashlar/client'

interface Schema { Person: Person }
interface Person { $id: Id<'Person'>; name: string | null }

const url = process.argv[2] ?? ''
const schema = \`CREATE CLASS Person {name: String{Required}}\`
const seen: unknown[] = []
const db = await open<Schema>('./data-' + process.version)
await db.client.query('UPDATE SCHEMA { ' + schema + ' }')
const overHttp = connect<Schema>(url)
if (process.argv[3] === 'first') await overHttp.client.query('UPDATE SCHEMA { ' + schema + ' }')
for (const one of [db, overHttp]) {
  const id = await one.create('Person', { name: 'Ann' })
  const refused = await one.create('Person', { name: null }).catch((error: unknown) => error)
  seen.push((await one.get('Person', id))?.name, refused instanceof AshlarRequestError && refused instanceof OfClient && refused.type)
}
seen.push(await db.transaction(async (tx) => tx.count('Person')))
await db.createMany('Person', Array.from({ length: 700 }, () => ({ name: 'x' })))
const [row] = await db.query<{ n: number }>\`FROM Person AS a, Person AS b WHERE a.name = b.name RETURN COUNT() AS n\`
seen.push(row?.n)
await db.close()
console.log(JSON.stringify(seen))
`

const settings = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2024'],
    strict: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  },
  include: ['*.mts'],
}

it('has a program, a database in process and a client, whose types need nothing else', async () => {
  const folder = install()
  writeFileSync(join(folder, 'consumer.mts'), consumer)
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const compiling = run(process.execPath, [compiler, '--build'], { cwd: folder })
  expect(await compiling.catch(({ stdout }: { readonly stdout: string }) => stdout)).toMatchObject({ stdout: '' })

  const program = join(folder, 'node_modules/ashlar/bin/ashlar.cjs')
  const { url, child, ended } = start(['serve', '--port', '0'], {}, folder, program)
  writeFileSync(join(folder, 'schema.do'), 'UPDATE SCHEMA { CREATE CLASS Person {name: String} }')
  const { stdout: types } = await run(process.execPath, [program, 'types', 'schema.do'], { cwd: folder })
  expect(types).toContain("import type { Id } from 'ashlar'")
  for (const [nth, node] of (await nodePrograms()).entries()) {
    const { stdout: version } = await run(node, [program, '--version'], { cwd: folder })
    expect([node, version]).toEqual([node, '0.1.0\n'])
    // The second time with the code that the first has kept.
    for (const word of [nth === 0 ? 'first' : '', 'again']) {
      const { stdout } = await run(node, ['consumer.mjs', await url, word], { cwd: folder })
      expect([node, JSON.parse(stdout)]).toEqual([
        node,
        ['Ann', 'ConstraintViolation', 'Ann', 'ConstraintViolation', 1, 490_001],
      ])
      rmSync(join(folder, `data-${await versionOf(node)}`), { recursive: true })
    }
    const kept = readdirSync(join(folder, 'node_modules/ashlar/lib/bin')).filter((file) => file.endsWith('.code'))
    expect(kept.length).toBeGreaterThanOrEqual(3 * (nth + 1))
  }
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})

async function versionOf(node: string): Promise<string> {
  return (await run(node, ['--version'])).stdout.trim()
}

it('lays out a project that is served, typed and run as it says', async () => {
  const folder = install()
  const program = join(folder, 'node_modules/ashlar/bin/ashlar.cjs')
  await run(process.execPath, [program, 'new', 'tasks'], { cwd: folder })
  const project = join(folder, 'tasks')
  const { url, output, log, child, ended } = start(['dev', '--port', '0'], {}, project, program)
  await vi.waitFor(() => expect(output() + log()).toContain('Wrote schema.d.ts.'), { timeout: 40_000 })

  const main = join(project, 'src/main.ts')
  writeFileSync(main, readFileSync(main, 'utf8').replace('http://127.0.0.1:8185', await url))
  const typing = ['--project', project, '--typeRoots', join(root, 'node_modules/@types')]
  const compiling = run(process.execPath, [compiler, ...typing], { cwd: project })
  expect(await compiling.catch(({ stdout }: { readonly stdout: string }) => stdout)).toMatchObject({ stdout: '' })
  const checking = [program, 'types', 'schema.do', '--check', 'schema.d.ts']
  expect((await run(process.execPath, checking, { cwd: project })).stdout).toContain('has the types of the schema')
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const { stdout } = await run(process.execPath, ['--import', tsx, 'src/main.ts'], { cwd: project })
  expect(stdout).toBe('2030-05-01  Home: Paint the door\n')
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})

it('is small, and holds nothing of the build', () => {
  const files = readdirSync(join(packed, 'package'), { recursive: true, encoding: 'utf8' })
  const bytes = files.reduce((sum, file) => sum + statSync(join(packed, 'package', file)).size, 0)
  expect(bytes).toBeLessThan(unpackedBytesMax)
  expect(readdirSync(join(packed, 'package')).sort()).toEqual(['LICENSE', 'README.md', 'bin', 'lib', 'package.json'])
  expect(files.filter((file) => /\.(map|code|tsbuildinfo)$/.test(file))).toEqual([])
})

it('has a client for web pages that needs nothing of Node', async () => {
  const folder = install()
  writeFileSync(join(folder, 'page.mjs'), "import { connect } from 'ashlar/client'\nglobalThis.connect = connect\n")
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'page.mjs')],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  expect(outputFiles[0]?.text).toContain('had no reply within')
})
