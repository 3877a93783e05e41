/**
 * `npm run build:lmdb`: compiles LMDB for this machine. The binary that lmdb-js comes with is compiled without optimization (its package.json calls
 * `prebuildify --debug`), and takes up to a quarter more CPU a request. Needs Python 3, make and a C++ compiler; the headers of Node are those beside it,
 * and are downloaded where there are none. `npm ci` removes what was built.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const lmdb = join(root, 'node_modules', 'lmdb')
const built = join(lmdb, 'build')
/** Later versions of V8 have another interface than lmdb-js knows; its own binary for them does without, too. */
const lastMajorWithV8 = 22

/**
 * @param {string} words
 * @returns {never}
 */
function fail(words) {
  rmSync(built, { recursive: true, force: true })
  process.stderr.write(`build:lmdb: ${words} The binary that lmdb-js comes with is used as before.\n`)
  process.exit(1)
}

/** Where npm has it. */
function nodeGyp() {
  try {
    return createRequire(process.env.npm_execpath ?? '').resolve('node-gyp/bin/node-gyp.js')
  } catch (error) {
    return fail(
      `npm's node-gyp is not there (${error instanceof Error ? error.message : error}): use \`npm run build:lmdb\`.`,
    )
  }
}

const prefix = dirname(dirname(process.execPath))
const hasHeaders = existsSync(join(prefix, 'include', 'node', 'node.h'))
const hasV8 = Number(process.versions.node.split('.')[0]) <= lastMajorWithV8
const words = [nodeGyp(), 'rebuild', '--release', ...(hasHeaders ? [`--nodedir=${prefix}`] : [])]
const env = { ...process.env, ENABLE_V8_FUNCTIONS: String(hasV8) }
const compiled = spawnSync(process.execPath, words, { cwd: lmdb, env, stdio: ['ignore', 'inherit', 'inherit'] })
if (compiled.status !== 0) fail('it could not be compiled: what is missing stands above.')

const probe = `
const { open } = require('lmdb')
const store = open({ path: process.argv[1], encoding: 'binary' })
store.putSync('key', Buffer.from('value'))
const read = String(store.get('key')) + [...store.getRange({})].length
store.close().then(() => process.exit(read === 'value1' ? 0 : 1))
`
const folder = mkdtempSync(join(tmpdir(), 'ashlar-lmdb-'))
const tried = spawnSync(process.execPath, ['-e', probe, join(folder, 'data.mdb')], { cwd: root, stdio: 'inherit' })
rmSync(folder, { recursive: true })
if (tried.status !== 0) fail('what was compiled does not work.')
process.stdout.write(`build:lmdb: ${built} is used from the next start on; npm ci removes it.\n`)
