/**
 * Compiles LMDB for this machine, where a compiler and the headers of Node are installed. The binary that npm installs with lmdb-js is compiled without
 * optimization (its package.json calls `prebuildify --debug`), and takes up to a fifth more CPU a request: docs/decisions/0039-lmdb-compiled.md.
 */
import { spawn } from 'node:child_process'
import {
  closeSync,
  cpSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

/** Later versions of V8 have another interface than lmdb-js knows; its own binary for them does without, too. */
const lastMajorWithV8 = 22
/** What node-gyp reads; the rest of the package is JavaScript. */
const sources = ['binding.gyp', 'package.json', 'src', 'dependencies']

/** Of the probe: what lmdb-js needs to know which binary to take. */
const probe = `
const { open } = require('lmdb')
const store = open({ path: process.argv[1], encoding: 'binary' })
store.putSync('key', Buffer.from('value'))
const read = String(store.get('key')) + [...store.getRange({})].length
store.close().then(() => process.exit(read === 'value1' ? 0 : 1))
`

/**
 * @param {string} root
 * @returns {string} the file that lmdb-js loads before that of npm. Its name has the binary interface, so that no other version of Node takes it.
 */
export function compiledFile(root) {
  const { platform, arch, versions } = process
  return join(folderOf(root), 'prebuilds', `${platform}-${arch}`, `node.abi${versions.modules}.node`)
}

/**
 * @param {string} root
 * @returns {string | undefined} what is missing on this machine, in words
 */
export function missingForCompiling(root) {
  if (process.platform === 'win32') return 'compiling on Windows is not supported'
  if (!existsSync(folderOf(root))) return 'lmdb-js is not installed'
  if (nodeGyp() === undefined) return "npm's node-gyp is not there"
  if (!existsSync(join(prefix(), 'include', 'node', 'node.h'))) return `Node's headers are not in ${prefix()}/include`
  const commands = ['make', process.env.CXX || 'c++', process.env.PYTHON || 'python3']
  const missing = commands.filter((command) => !isCommand(command))
  return missing.length > 0 ? `there is no ${missing.join(' and no ')}` : undefined
}

/**
 * Compiles beside lmdb-js, tries what came of it, and puts it in its place in one step: whenever this is ended, lmdb-js has either binary, whole.
 * @param {string} root
 * @returns {Promise<string | undefined>} what went wrong: the output of the step that failed; lmdb-js uses the binary of npm then
 */
export async function compileLmdb(root) {
  const place = join(root, 'node_modules', '.cache', `lmdb.${process.pid}`)
  try {
    removeLeftovers(dirname(place))
    mkdirSync(place, { recursive: true })
    for (const name of sources) cpSync(join(folderOf(root), name), join(place, name), { recursive: true })
    mendMessages(join(place, 'dependencies/lmdb/libraries/liblmdb/mdb.c'))
    const built = await run(place, [nodeGyp() ?? '', 'rebuild', '--release', `--nodedir=${prefix()}`, '--jobs=max'])
    if (built !== undefined) return built
    const target = compiledFile(root)
    const made = join(place, 'prebuilds', target.slice(dirname(dirname(target)).length + 1))
    mkdirSync(dirname(made), { recursive: true })
    renameSync(join(place, 'build', 'Release', 'lmdb.node'), made)
    const tried = await run(root, ['-e', probe, join(place, 'probe', 'data.mdb')], { LMDB_PREBUILD: place })
    if (tried !== undefined) return tried
    mkdirSync(dirname(target), { recursive: true })
    // Its content before its name: what a power cut leaves is not tried again.
    const file = openSync(made, 'r+')
    fsyncSync(file)
    closeSync(file)
    renameSync(made, target)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/**
 * LMDB composes messages in buffers that are too short for some of them, such as that of a page that the disk does not take, and so overwrites memory.
 * @param {string} path
 */
function mendMessages(path) {
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('last_error = malloc(100);', 'last_error = malloc(200);'))
}

/** @param {string} root */
function folderOf(root) {
  return join(root, 'node_modules', 'lmdb')
}

/** Where Node is installed. */
function prefix() {
  return dirname(dirname(process.execPath))
}

/** @returns {string | undefined} npm's own: that of the npm that runs this, else of the one beside Node */
function nodeGyp() {
  for (const npm of [process.env.npm_execpath, join(prefix(), 'lib/node_modules/npm/bin/npm-cli.js')]) {
    if (!npm?.endsWith('npm-cli.js')) continue
    try {
      return createRequire(npm).resolve('node-gyp/bin/node-gyp.js')
    } catch (_) {
      // Some distributions package npm without it.
    }
  }
  return undefined
}

/** @param {string} command its name or path; words after it are its options, as `CXX` may have them */
function isCommand(command) {
  const [name = ''] = command.split(' ')
  if (name.includes('/')) return existsSync(name)
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)))
}

/**
 * Of compilations that were killed.
 * @param {string} folder
 */
function removeLeftovers(folder) {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const pid = Number(/^lmdb\.(\d+)$/.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

/**
 * @param {string} cwd
 * @param {string[]} words for `node`
 * @param {Record<string, string>} [more] environment
 * @returns {Promise<string | undefined>} what it printed, if it failed
 */
function run(cwd, words, more = {}) {
  const isWithV8 = Number(process.versions.node.split('.')[0]) <= lastMajorWithV8
  const env = { ...process.env, ENABLE_V8_FUNCTIONS: String(isWithV8), ...more }
  return new Promise((resolve) => {
    const child = spawn(process.execPath, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const end = () => child.kill()
    process.once('exit', end)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code) => {
      process.off('exit', end)
      resolve(code === 0 ? undefined : output || `it ended with ${code}`)
    })
  })
}
