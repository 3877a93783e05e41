/** Tests that the closing count is that of the run: a file that does not load, and one without a failure, told apart. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
let folder: string

beforeEach(() => {
  // Below node_modules/.cache, where `vitest` resolves and git does not look.
  folder = mkdtempSync(join(root, 'node_modules', '.ashlar-count-'))
  const reporter = join(root, 'tools', 'count-reporter.ts')
  const runner = join(root, 'tools', 'test-runner.ts')
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `import { countReporter } from ${JSON.stringify(reporter)}
export default { test: { include: ['**/*.test.mjs'], exclude: [], server: { deps: { inline: true } }, globalSetup: ['set-up.mjs'],
  runner: ${JSON.stringify(runner)}, retry: process.env.RETRY ? { count: 1, condition: /^(?!Property (failed|interrupted))/ } : 0, reporters: ['default', countReporter] } }`,
  )
})

afterEach(() => rmSync(folder, { recursive: true }))

interface Run {
  readonly status: number | null
  readonly last: string | undefined
  readonly errors: string
}

/** `setUp`: what a global set-up of the run does. */
function run(tests: Record<string, string>, setUp = '', env: NodeJS.ProcessEnv = { CI: '' }): Run {
  for (const [name, text] of Object.entries(tests)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, `${name}.test.mjs`), `import { expect, it, describe, beforeAll } from 'vitest'\n${text}`)
  }
  writeFileSync(join(folder, 'set-up.mjs'), `export function setup(project) { ${setUp} }`)
  const script = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const result = spawnSync(process.execPath, [script, 'run', '--root', folder], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { status: result.status, last: result.stdout.trimEnd().split('\n').at(-1), errors: result.stderr }
}

describe('the closing line', () => {
  it('counts failed tests, hooks and files, and makes the run fail, also where somebody else would end it as a good one', () => {
    const bad = `it('a', () => expect(1).toBe(2))\ndescribe('s', () => { beforeAll(() => { throw new Error('x') }); it('b', () => {}) })`
    const tests = { bad, broken: `throw new Error('no')`, good: `it('c', () => {})` }
    expect(run(tests, `process.on('beforeExit', () => process.exit(0))`)).toMatchObject({
      status: 1,
      last: '1 passed, 3 failed',
    })
  })

  it('follows the names of tests that passed when they were run again; a property that failed is not', () => {
    const once = 'if (attempts++ === 0)'
    const tests = {
      flaky: `let attempts = 0\nit('a', () => { ${once} expect(1).toBe(2) })`,
      property: `let attempts = 0\nit('b', () => { ${once} throw new Error('Property failed after 3 tests') })`,
    }
    const { status, last, errors } = run(tests, '', { CI: '', RETRY: '1' })
    expect([status, last]).toEqual([1, '1 passed, 1 failed'])
    expect(errors.match(/^FLAKY .*$/gm)).toEqual([expect.stringMatching(/flaky\.test\.mjs > a$/)])
  })

  it('does not tell a run without tests as a good one', () => {
    expect(run({})).toMatchObject({ status: 1, last: '0 passed, 1 failed' })
  })
})

describe('where no PostgreSQL can be started', () => {
  const setUp = `project.provide('postgresMissing', 'None here, for this reason.')`
  const asking = JSON.stringify(join(root, 'tools', 'postgres-of-run.ts'))
  const tests = {
    both: `import { postgresOfRun } from ${asking}\nit('a', () => postgresOfRun())\nit('b', () => {})`,
    // Named as one that is on PostgreSQL as a whole: its hook would fail.
    'store/postgres': `beforeAll(() => { throw new Error('not reached') })\nit('c', () => {})`,
  }

  it('what needs it is skipped, the rest is tested, and the reason is told last', () => {
    const { status, last, errors } = run(tests, setUp)
    expect([status, last, errors.trimEnd().split('\n').at(-1)]).toEqual([
      0,
      '1 passed, 0 failed',
      'None here, for this reason.',
    ])
  })

  it('a run that nobody watches fails', () => {
    expect(run(tests, setUp, { CI: 'true' })).toMatchObject({ status: 1, last: '1 passed, 1 failed' })
  })
})
