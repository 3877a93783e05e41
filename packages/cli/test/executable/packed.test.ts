/** The packages as `npm pack` makes them, in an empty folder: each runs with what its package.json names, and nothing else of this checkout. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { nodePrograms } from '../../../../tools/other-nodes.ts'
import { start, temporaryDirectory } from '../../../server/test/executable/process.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const run = promisify(execFile)
const names = ['cli', 'client', 'engine', 'server'] as const
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
}

/** Packs all packages, and unpacks them into `folder` as an installation would. */
async function install(folder: string): Promise<void> {
  const workspaces = names.map((name) => `--workspace=packages/${name}`)
  const packing = ['pack', ...workspaces, '--ignore-scripts', `--pack-destination=${folder}`]
  // On Windows npm is a .cmd file, which only a shell starts.
  const shell = process.platform === 'win32'
  await run('npm', [...packing, `--cache=${join(folder, 'cache')}`], { cwd: root, shell })
  for (const name of names) {
    const file = readdirSync(folder).find((packed) => packed.startsWith(`ashlar-${name}-`)) ?? ''
    const place = join(folder, 'node_modules', '@ashlar', name)
    mkdirSync(place, { recursive: true })
    await run('tar', ['-xzf', file, '-C', place, '--strip-components=1'], { cwd: folder })
    expect(readdirSync(place).sort()).toEqual([
      'LICENSE',
      'README.md',
      ...(name === 'cli' ? ['bin'] : []),
      'dist',
      ...(name === 'cli' ? ['man'] : []),
      'package.json',
    ])
    expect(readFileSync(join(place, 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'))
    expect(readFileSync(join(place, 'README.md'), 'utf8')).toMatch(new RegExp(`^# @ashlar/${name}\n`))
    expect(readdirSync(join(place, 'dist'))).not.toContain('.tsbuildinfo')
    linkDependencies(name, place)
  }
}

/** Those of other makers come from this checkout; what a package does not name it does not find. */
function linkDependencies(name: string, place: string): void {
  for (const dependency of Object.keys(manifestAt(place).dependencies ?? {})) {
    if (dependency.startsWith('@ashlar/')) continue
    const [own, shared] = [join(root, 'packages', name), root].map((at) => join(at, 'node_modules', dependency))
    const link = join(place, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(existsSync(own!) ? own! : shared!, link, 'junction')
  }
}

function manifestAt(place: string): Manifest {
  return JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
}

/** What the README of a package shows. */
function exampleOf(place: string): string {
  return /```ts\n([\s\S]*?)```/.exec(readFileSync(join(place, 'README.md'), 'utf8'))?.[1] ?? ''
}

const settings = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  },
  include: ['*.mts'],
}

const consumer = `
import { AshlarClient } from '@ashlar/client'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { startServer } from '@ashlar/server'

const client = new AshlarClient({ baseUrl: process.argv[2] ?? '' })
await client.query('UPDATE SCHEMA { CREATE CLASS Packed' + process.pid + ' {n: Integer} }')
const { __identifier__: oid } = await client.createObject('Packed' + process.pid, { n: 7 })
const { n } = await client.readObject(oid)
const fd = await FederatedDatabase.open({ alias: 'own', store: await openStore('memory:') })
await fd.close()
console.log(JSON.stringify([n, typeof startServer]))
`

it('serve, are used by a program and its compiler, and hold nothing of the build', async () => {
  const folder = temporaryDirectory()
  await install(folder)
  const cli = join(folder, 'node_modules', '@ashlar', 'cli')
  const program = join(cli, manifestAt(cli).bin?.ashlar ?? '')
  const { url, child, ended } = start(['serve', '--port', '0'], {}, folder, program)
  writeFileSync(join(folder, 'consumer.mts'), consumer)
  for (const name of ['client', 'engine'])
    writeFileSync(join(folder, `${name}.mts`), exampleOf(join(folder, 'node_modules', '@ashlar', name)))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const compiling = run(process.execPath, [compiler, '--build'], { cwd: folder })
  expect(await compiling.catch(({ stdout }: { readonly stdout: string }) => stdout)).toMatchObject({ stdout: '' })
  for (const node of await nodePrograms()) {
    const { stdout } = await run(node, ['consumer.mjs', await url], { cwd: folder })
    expect([node, JSON.parse(stdout)]).toEqual([node, [7, 'function']])
  }
  const shown = await run(process.execPath, ['engine.mjs'], { cwd: folder })
  expect(JSON.parse(shown.stdout)).toEqual({ __class__: 'Model', __identifier__: '3-3-1-1', name: 'Tipo' })
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})
