/** docs/embedding.md: its example compiles, and prints what the page says. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(join(root, 'docs/embedding.md'), 'utf8')

function blocks(kind: string): string {
  return [...page.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
    .map(([, text = '']) => text)
    .join('')
}

const compilerOptions = {
  strict: true,
  noEmit: true,
  target: 'es2023',
  lib: ['es2024'],
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  module: 'nodenext',
  paths: {
    ashlar: [join(root, 'packages/ashlar/dist/index.d.ts')],
    '@ashlar/client': [join(root, 'packages/client/dist/index.d.ts')],
  },
}

it('the example compiles, and prints what the page says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'embedding-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  writeFileSync(join(folder, 'example.ts'), blocks('ts'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout: errors } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  })
  expect(errors).toBe('')

  const { code } = await transform(blocks('ts'), { loader: 'ts', format: 'esm' })
  const outfile = join(folder, 'example.mjs')
  writeFileSync(
    outfile,
    code.replace('"ashlar"', JSON.stringify(pathToFileURL(join(root, 'packages/ashlar/dist/index.js')))),
  )
  const { stdout } = await promisify(execFile)(process.execPath, [outfile], { cwd: folder })
  expect(stdout).toBe(blocks('text'))
})
