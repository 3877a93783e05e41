/**
 * Makes a checkout ready: the right Node, the packages installed, the sources built; says nothing when all is well. With `start`, only what the program needs
 * is installed and built, since whoever tries Ashlar for the first time waits for it.
 */
// It runs before anything is installed, and on any Node: built-ins only, and no syntax that Node 16 cannot read.
import { spawn, spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { constants as constantsOfOs, setPriority, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiledFile, compileLmdb, missingForCompiling } from './compile-lmdb.mjs'
import {
  builtPackages,
  isBundled,
  isCompiled,
  isInstalled,
  isSupported,
  packageState,
  sourceState,
  systemRelease,
} from './set-up-state.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stampFile = join(root, 'node_modules', '.ashlar-set-up.json')

/** @param {string} words */
function say(words) {
  process.stderr.write(`set-up: ${words}\n`)
}

/**
 * @param {string} words what to do about it
 * @param {string} [output] of the step that failed
 * @returns {never}
 */
function fail(words, output) {
  if (output) process.stderr.write(`${output.trimEnd()}\n`)
  say(words)
  process.exit(1)
}

/**
 * `program` and `sources`: the state of the sources of which the program was bundled, and the packages compiled. `isForStart`: packages for tests are missing.
 * @returns {{ lock?: string, machine?: string, isForStart?: boolean, program?: string, sources?: string, isLmdbTried?: boolean, lmdbSystem?: string }}
 */
function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'))
  } catch (_) {
    return {}
  }
}

/**
 * @param {string} command
 * @param {string[]} parameters
 */
function run(command, parameters) {
  const result = spawnSync(command, parameters, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const output = `${result.stdout || ''}${result.stderr || ''}${result.error ? result.error.message : ''}`
  return { ok: result.status === 0, output }
}

/**
 * The npm that started this, so that another one on the path is never mixed in.
 * @param {string[]} parameters
 */
function npm(parameters) {
  const cli = process.env.npm_execpath
  if (cli?.endsWith('npm-cli.js')) return run(process.execPath, [cli].concat(parameters))
  // Outside npm on Windows the command is a .cmd file, which only a shell starts.
  if (process.platform === 'win32') return run('cmd.exe', ['/d', '/s', '/c', 'npm'].concat(parameters))
  return run('npm', parameters)
}

function install() {
  say(`installing packages (about ${isForStart ? 10 : 20} s, only when they changed) …`)
  // Under NODE_ENV=production npm would leave out the compiler, without which nothing can be built.
  const quiet = [isForStart ? '--omit=dev' : '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  // `npm ci` empties the folder first, and a server that was started from it may still be running.
  if (isInstalled(root, true) && npm(['install', '--no-save'].concat(quiet)).ok) return
  let exact = npm(['ci'].concat(quiet))
  if (exact.ok) return
  if (/\b(EACCES|EPERM|EROFS)\b/.test(exact.output)) {
    // A home that cannot be written to: in a container under any user's number, for one.
    say('npm may not be able to write to its cache; trying with a temporary one …')
    const cache = mkdtempSync(join(tmpdir(), 'ashlar-npm.'))
    quiet.push(`--cache=${cache}`)
    process.on('exit', () => rmSync(cache, { recursive: true, force: true }))
    exact = npm(['ci'].concat(quiet))
    if (exact.ok) return
  }
  say('npm ci refused the lock file; trying npm install …')
  if (npm(['install', '--no-save'].concat(quiet)).ok) return
  fail(
    'the packages could not be installed. Check the network and `npm config get registry`, then run the command again.',
    exact.output,
  )
}

/** @param {Partial<ReturnType<typeof readStamp>>} changes */
function save(changes) {
  // Read again: a set-up that compiles LMDB may have written it meanwhile.
  Object.assign(stamp, readStamp(), changes)
  writeFileSync(stampFile, JSON.stringify(stamp))
}

/** Whether LMDB is to be compiled: not for a user who may only start what is set up. */
function isLmdbDue() {
  if (![stampFile, dirname(stampFile)].every(isWritable)) return false
  forgetOtherSystem()
  return !stamp.isLmdbTried && process.env.ASHLAR_COMPILE_LMDB !== '0' && !existsSync(compiledFile(root))
}

/**
 * Where this machine cannot, or it goes wrong, LMDB is used as npm installed it, and nothing is missing but speed.
 * @returns {Promise<void>}
 */
async function compileLmdbOnce() {
  const problem = await compiling().catch((error) => String(error))
  if (problem !== undefined)
    say(`LMDB is used as npm installed it, which takes more CPU (docs/workers.md): ${problem}.`)
  save({ isLmdbTried: true })
}

/** In a process with the lowest priority, which goes on while the server runs: the next start uses what it compiles. */
function compileLmdbLater() {
  const folder = join(root, 'node_modules', '.cache')
  try {
    mkdirSync(folder, { recursive: true })
    const log = openSync(join(folder, 'set-up.log'), 'a')
    const parameters = [fileURLToPath(import.meta.url), 'lmdb']
    spawn(process.execPath, parameters, { cwd: root, detached: true, stdio: ['ignore', log, log] }).unref()
  } catch (error) {
    say(`LMDB is used as npm installed it, which takes more CPU (docs/workers.md): ${error}.`)
    save({ isLmdbTried: true })
  }
}

/** A checkout may have been copied from a system with a newer C library, without which what was compiled there does not load here. */
function forgetOtherSystem() {
  const system = systemRelease()
  const { lmdbSystem = system } = stamp
  const isOther = lmdbSystem !== system
  if (isOther) rmSync(compiledFile(root), { force: true })
  if (stamp.lmdbSystem !== system) save({ lmdbSystem: system, ...(isOther && { isLmdbTried: false }) })
}

/** @returns {Promise<string | undefined>} why it was not compiled, in words */
async function compiling() {
  const missing = missingForCompiling(root)
  if (missing !== undefined) return missing
  say('compiling LMDB for this machine (about 20 s, once; ASHLAR_COMPILE_LMDB=0 leaves it out) …')
  const output = await compileLmdb(root)
  if (output === undefined) return undefined
  const log = join(root, 'node_modules', '.cache', 'lmdb.log')
  writeFileSync(log, output)
  return `it could not be compiled: ${log}`
}

/** @param {string} path */
function isWritable(path) {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch (_) {
    return false
  }
}

function compilePackages() {
  say('compiling the packages …')
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const result = run(process.execPath, [compiler, '-b'].concat(builtPackages(root)))
  if (!result.ok)
    fail('the build failed: correct what the compiler names above, then run the command again.', result.output)
}

async function bundleProgram() {
  say('building the program …')
  // Imported only now: what it needs had to be installed first.
  const { buildProgram } = await import('./build-program.mjs')
  await buildProgram(root)
}

if (!isSupported(process.version)) {
  fail(
    `Ashlar needs Node 20.19 or newer; this is ${process.version}. Install a newer Node, then run the command again.`,
  )
}
const [task] = process.argv.slice(2)
const stamp = readStamp()
if (task === 'lmdb') {
  setPriority(constantsOfOs.priority.PRIORITY_LOW)
  await compileLmdbOnce()
  process.exit(0)
}
const { lock, machine } = packageState(root)
// A checkout that has all packages keeps them.
const isForStart = task === 'start' && (stamp.isForStart ?? stamp.lock === undefined)
const isOther = stamp.lock !== lock || stamp.machine !== machine
if (isOther || (stamp.isForStart && !isForStart)) {
  const sameMachine = stamp.machine === undefined || stamp.machine === machine
  if (!sameMachine || !isInstalled(root, isForStart)) install()
  save({ lock, machine, isForStart, ...(isOther && { program: '', sources: '', isLmdbTried: false }) })
}
// `npm run check` compiles by itself, and tells what else is wrong even when that fails.
if (task === 'packages') process.exit(0)
// Beside the build, most of which is one thread.
const compiled = task !== 'start' && isLmdbDue() ? compileLmdbOnce() : undefined
// Determined before the build: what is edited while it runs is built the next time.
const sources = sourceState(root)
if (task !== 'start' && (stamp.sources !== sources || !isCompiled(root))) {
  compilePackages()
  save({ sources })
}
if (stamp.program !== sources || !isBundled(root)) {
  await bundleProgram()
  save({ program: sources })
}
await compiled
if (task === 'start' && isLmdbDue()) compileLmdbLater()
