/**
 * Loads a file of the program, and takes the code that V8 compiled of it when it was built: to compile it anew takes longer than everything else
 * until the first answer. V8 refuses the code of another version or of other settings, and compiles. It does not notice patches that Node has made to
 * a version, though, and what it then runs goes wrong: so the whole version, with Node's patches, is in the file's name.
 */
const {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
} = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { Script } = require('node:vm')

/** @type {Map<string, any>} what was loaded, by name: each file runs once, as modules do */
const loaded = new Map()

/** @type {Map<string, Script>} what it was loaded from, where it has code beside it */
const scripts = new Map()

/** Names of what is compiled by this process for the next ones, too. */
const kept = new Set()

/**
 * @param {string} name without its extension
 * @param {boolean} [isKept] whether code that is missing is kept when the process ends: a package has none when it is installed
 * @returns {any} what it exports
 */
function load(name, isKept = false) {
  if (!loaded.has(name)) loaded.set(name, run(name, isKept))
  return loaded.get(name)
}

/**
 * @param {string} name
 * @param {boolean} isKept
 * @returns {any}
 */
function run(name, isKept) {
  const file = join(__dirname, `${name}.cjs`)
  const code = join(__dirname, codeFile(name))
  const hasCode = existsSync(code)
  // Source maps are found by what Node compiles itself.
  if (process.sourceMapsEnabled || !(hasCode || (isKept && mayWrite()))) return require(file)
  if (!hasCode) keep(name)
  const requireFrom = createRequire(file)
  /** @param {string} wanted */
  const requireOr = (wanted) => {
    const other = /^\.\/(\w+)\.cjs$/.exec(wanted)?.[1]
    return other === undefined ? requireFrom(wanted) : load(other, isKept)
  }
  const module = { exports: {} }
  const script = compile(file, hasCode ? readFileSync(code) : undefined)
  scripts.set(name, script)
  script.runInThisContext()(
    module.exports,
    Object.assign(requireOr, { resolve: requireFrom.resolve }),
    module,
    file,
    __dirname,
  )
  return module.exports
}

function mayWrite() {
  try {
    accessSync(__dirname, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** @param {string} name */
function keep(name) {
  if (kept.size === 0) process.once('exit', writeKept)
  kept.add(name)
}

/** At the end of the process, when most of what is used has been compiled. Where it cannot be written, the next process compiles it again. */
function writeKept() {
  for (const name of kept) {
    const data = scripts.get(name)?.createCachedData()
    const made = join(__dirname, `${codeFile(name)}.${process.pid}`)
    try {
      if (data !== undefined) writeFileSync(made, data, { flag: 'wx' })
      if (data !== undefined) renameSync(made, join(__dirname, codeFile(name)))
    } catch {
      return
    }
  }
}

/**
 * @param {string} name of what was compiled, without its extension
 * @returns {string} the file beside it that has the code for this process
 */
function codeFile(name) {
  return `${name}.${process.arch}.${process.versions.v8}.code`
}

/** What Node gives to a file in CommonJS. */
const [before, after] = ['(function (exports, require, module, __filename, __dirname) {', '\n})']

/**
 * A script whose value is a function, which runs the file.
 * @param {string} file
 * @param {Buffer} [code] of the same file
 * @param {string} [filename] the name that stacks have: that of when the code was made
 */
function compile(file, code, filename = file) {
  return new Script(functionOf(file), { filename, ...(code && { cachedData: code }) })
}

/**
 * Read into its place: to put it together as texts would copy megabytes once more.
 * @param {string} file
 */
function functionOf(file) {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const text = Buffer.allocUnsafeSlow(before.length + size + after.length)
    text.write(before, 'latin1')
    let end = before.length
    for (let read = 1; read > 0; end += read) {
      read = readSync(descriptor, text, end, before.length + size - end, null)
    }
    return text.toString('latin1', 0, end + text.write(after, end, 'latin1'))
  } finally {
    closeSync(descriptor)
  }
}

module.exports = { load, compile, codeFile, scripts }
