/** docs/typescript.md: its example is type-checked with the declarations of its schema, is run, and prints what the page says. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { schemaOfSource } from '../../cli/src/schema/scratch-schema.ts'
import { declarationsOf } from '../../cli/src/types/declarations.ts'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(join(root, 'docs/typescript.md'), 'utf8')

function blocks(kind: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text)
}

it('the example compiles, and prints what the page says', async () => {
  const [schema = ''] = blocks('do')
  const { classes } = await schemaOfSource({ text: schema, placeOf: () => ({ place: 'the page', line: '' }) })
  const { app } = await openServer()
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await new AshlarClient({ baseUrl: url }).query(schema)

  const folder = mkdtempSync(join(tmpdir(), 'typescript-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const client = join(root, 'packages/client/src/index.ts')
  const compilerOptions = {
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
    paths: { '@ashlar/client': [client] },
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  writeFileSync(join(folder, 'schema.d.ts'), declarationsOf(classes))
  writeFileSync(join(folder, 'example.ts'), blocks('ts').join('').replace('http://127.0.0.1:8185', url))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  expect(spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout).toBe('')

  const outfile = join(folder, 'example.mjs')
  const alias = { '@ashlar/client': client }
  await build({
    entryPoints: [join(folder, 'example.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias,
    outfile,
  })
  const { stdout } = await promisify(execFile)(process.execPath, [outfile])
  expect(stdout).toBe(blocks('text').join(''))
})
