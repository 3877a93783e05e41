/** The program is started by code that was kept when it was built: what V8 takes, and what has run at a start. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'

const codeOf = (name: string): string => `${name}.${process.arch}.${process.versions.v8}.code`

/** In a process of its own: that of tests may have other settings. `code`: beside the file; otherwise none. */
function compiled(name: string, isTaken: boolean): { readonly isRefused: boolean | undefined; readonly bytes: number } {
  const folder = dirname(inject('server'))
  const [file, code] = [join(folder, `${name}.cjs`), join(folder, codeOf(name))]
  const script = `const { compile } = require(${JSON.stringify(join(folder, 'load.cjs'))})
    const code = ${isTaken} ? require('node:fs').readFileSync(${JSON.stringify(code)}) : undefined
    const made = compile(${JSON.stringify(file)}, code)
    console.log(JSON.stringify({ isRefused: made.cachedDataRejected, bytes: made.createCachedData().length }))`
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }))
}

test.each(['program', 'server', 'engine', 'client'])('V8 takes the code of %s', (name) => {
  expect(compiled(name, true).isRefused).toBe(false)
})

test.runIf(process.platform !== 'win32')(
  'the code of a start has the functions that ran, which V8 compiles late',
  () => {
    for (const name of ['program', 'server', 'engine']) {
      const { size } = statSync(join(dirname(inject('server')), codeOf(name)))
      expect(size, name).toBeGreaterThan(1.2 * compiled(name, false).bytes)
    }
  },
)

/** Node 20.19 takes the code of Node 20.20 without a word, and `ashlar --version` ends with a TypeError. */
test('the code of the same version of V8 with other patches of Node is not taken', () => {
  const folder = dirname(inject('server'))
  const before = join(temporaryDirectory(), 'before.cjs')
  const count = `require(${JSON.stringify(join(folder, 'load.cjs'))}).scripts.size`
  writeFileSync(
    before,
    `const [version] = process.versions.v8.split('-')
    const { versions } = process
    Object.defineProperty(process, 'versions', { value: { ...versions, v8: process.env.PATCHES ? version + process.env.PATCHES : versions.v8 } })
    process.on('exit', () => console.log(${count}))`,
  )
  const taken = (patches: string): string =>
    execFileSync(process.execPath, ['--require', before, inject('server'), '--version'], {
      encoding: 'utf8',
      env: { ...process.env, PATCHES: patches },
    })
  expect(taken('')).toMatch(/\n1\n$/)
  expect(taken('-node.0')).toMatch(/\n0\n$/)
})

test('what declares the commands, and watches over workers, has no engine in it', () => {
  const map = JSON.parse(readFileSync(join(dirname(inject('server')), 'program.cjs.map'), 'utf8'))
  const sources = (map.sources as readonly string[]).join('\n')
  expect(sources).toContain('src/workers/primary.ts')
  expect(sources).not.toMatch(/engine\/src\/(query|store|access)\//)
})
