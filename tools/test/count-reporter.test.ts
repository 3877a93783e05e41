/** Tests that the closing count is that of the run: a file that does not load, and one without a failure, told apart. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
let folder: string

beforeEach(() => {
  // Below node_modules/.cache, where `vitest` resolves and git does not look.
  folder = mkdtempSync(join(root, 'node_modules', '.ashlar-count-'))
  const reporter = join(root, 'tools', 'count-reporter.ts')
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `import { countReporter } from ${JSON.stringify(reporter)}
export default { test: { include: ['*.test.mjs'], exclude: [], globalSetup: ['set-up.mjs'], reporters: ['default', countReporter] } }`,
  )
})

afterEach(() => rmSync(folder, { recursive: true }))

/** `setUp`: what a global set-up of the run does. */
function run(tests: Record<string, string>, setUp = ''): { status: number | null; last: string | undefined } {
  for (const [name, text] of Object.entries(tests)) {
    writeFileSync(join(folder, `${name}.test.mjs`), `import { expect, it, describe, beforeAll } from 'vitest'\n${text}`)
  }
  writeFileSync(join(folder, 'set-up.mjs'), `export function setup() { ${setUp} }`)
  const script = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const result = spawnSync(process.execPath, [script, 'run', '--root', folder], { encoding: 'utf8' })
  return { status: result.status, last: result.stdout.trimEnd().split('\n').at(-1) }
}

describe('the closing line', () => {
  it('counts what passed', () => {
    const tests = `it('a', () => {})\nit('b', () => {})\nit.skip('c', () => {})`
    expect(run({ good: tests })).toEqual({ status: 0, last: '2 passed, 0 failed' })
  })

  it('makes the run fail, also where somebody else would end it as a good one', () => {
    const bad = `it('a', () => expect(1).toBe(2))`
    expect(run({ bad }, `process.on('beforeExit', () => process.exit(0))`)).toEqual({
      status: 1,
      last: '0 passed, 1 failed',
    })
  })

  it('counts failed tests, hooks and files', () => {
    const bad = `it('a', () => expect(1).toBe(2))\ndescribe('s', () => { beforeAll(() => { throw new Error('x') }); it('b', () => {}) })`
    const { status, last } = run({ bad, broken: `throw new Error('no')`, good: `it('c', () => {})` })
    expect(status).toBe(1)
    expect(last).toBe('1 passed, 3 failed')
  })

  it('does not tell a run without tests as a good one', () => {
    expect(run({})).toEqual({ status: 1, last: '0 passed, 1 failed' })
  })
})
