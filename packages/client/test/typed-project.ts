/** A temporary TypeScript project that uses the client, and the messages of the compiler about it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

export const clientSource = join(root, 'packages/client/src/index.ts')
export const reactSource = join(root, 'packages/client/src/react.ts')

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
  jsx: 'react-jsx',
  skipLibCheck: true,
  paths: {
    '@ashlar/client': [clientSource],
    '@ashlar/client/react': [reactSource],
    vue: [join(root, 'node_modules/@vue/reactivity/dist/reactivity.d.ts')],
  },
}

/** Writes the files, by name, to a folder that is removed after the test. Returns the folder, and the errors that the compiler prints. */
export function compileProject(files: Readonly<Record<string, string>>): { folder: string; errors: string } {
  const folder = mkdtempSync(join(tmpdir(), 'typed-project-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', '*.tsx'] }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { encoding: 'utf8' })
  return { folder, errors: stdout }
}
