/** Tests that a checkout which is set up can be started, whatever becomes of compiling LMDB. */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { compiledFile, missingForCompiling } from '../compile-lmdb.mjs'
import { packageState, sourceState } from '../set-up-state.mjs'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ashlar set-up ü '))
  chmodSync(root, 0o755)
  for (const folder of ['tools/program', 'packages/cli/dist/bin', 'packages/cli/demo', 'node_modules/lmdb'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const name of ['set-up.mjs', 'set-up-state.mjs', 'compile-lmdb.mjs'])
    cpSync(join('tools', name), join(root, 'tools', name))
  const empty = ['tsconfig.base.json', 'tools/build-program.mjs', 'tools/keep-code.mjs']
  for (const name of [...empty, 'packages/cli/dist/bin/ashlar.cjs']) writeFileSync(join(root, name), '')
  writeFileSync(join(root, 'package-lock.json'), '{}')
  const sources = sourceState(root)
  const stamp = { ...packageState(root), sources, program: sources, isForStart: false }
  writeFileSync(join(root, 'node_modules', '.ashlar-set-up.json'), JSON.stringify(stamp))
})

afterEach(() => {
  chmodSync(join(root, 'node_modules'), 0o755)
  rmSync(root, { recursive: true })
})

const nobody = { uid: 65_534, gid: 65_534 }

/** `isOther`: by a user to whom the checkout does not belong, where there can be one. `task`: what is set up, if not everything. */
function setUp(isOther: boolean, ...task: string[]) {
  const asWhom = isOther && process.getuid?.() === 0 ? nobody : {}
  const env = { ...process.env, ASHLAR_COMPILE_LMDB: '' }
  return spawnSync(process.execPath, [join(root, 'tools', 'set-up.mjs'), ...task], { ...asWhom, env, encoding: 'utf8' })
}

it('whoever cannot write to the packages has nothing compiled, and starts', () => {
  chmodSync(join(root, 'node_modules'), 0o555)
  expect(setUp(true)).toMatchObject({ status: 0, stderr: '' })
})

it.skipIf(missingForCompiling(process.cwd()) !== undefined)(
  'what hinders compiling is told, and hinders no start',
  () => {
    writeFileSync(join(root, 'node_modules', '.cache'), 'no folder')
    const { status, stderr } = setUp(false)
    expect(stderr).toContain('LMDB is used as npm installed it')
    expect(status).toBe(0)
    const stamp: unknown = JSON.parse(readFileSync(join(root, 'node_modules', '.ashlar-set-up.json'), 'utf8'))
    expect(stamp).toMatchObject({ isLmdbTried: true })
  },
)

it('for a start, LMDB is compiled afterwards, and what fails then is in a log', async () => {
  const log = join(root, 'node_modules', '.cache', 'set-up.log')
  expect(setUp(false, 'start')).toMatchObject({ status: 0, stderr: '' })
  const stamp = join(root, 'node_modules', '.ashlar-set-up.json')
  await expect.poll(() => JSON.parse(readFileSync(stamp, 'utf8')).isLmdbTried, { timeout: 60_000 }).toBe(true)
  // It cannot be compiled here: the folder of the package is empty.
  expect(readFileSync(log, 'utf8')).toContain('LMDB is used as npm installed it')
})

it('what was compiled on another system is removed, and on this one kept', () => {
  const stampFile = join(root, 'node_modules', '.ashlar-set-up.json')
  const compiled = compiledFile(root)
  mkdirSync(dirname(compiled), { recursive: true })
  writeFileSync(compiled, '')
  expect(setUp(false).status).toBe(0)
  const stamp = JSON.parse(readFileSync(stampFile, 'utf8'))
  expect(setUp(false).status).toBe(0)
  expect(existsSync(compiled)).toBe(true)
  writeFileSync(stampFile, JSON.stringify({ ...stamp, lmdbSystem: 'another 1' }))
  // It cannot be compiled here: the folder of the package is empty.
  expect(setUp(false).status).toBe(0)
  expect(existsSync(compiled)).toBe(false)
  expect(JSON.parse(readFileSync(stampFile, 'utf8'))).toMatchObject({ lmdbSystem: stamp.lmdbSystem })
})
