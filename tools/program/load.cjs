/**
 * Loads a file of the program, and takes the code that V8 compiled of it when it was built: to compile it anew takes longer than everything else
 * until the first answer. Another version of V8, or one with other settings, refuses that code, and compiles.
 */
const { existsSync, readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { compileFunction } = require('node:vm')

/** @type {Map<string, any>} what was loaded, by name: each file runs once, as modules do */
const loaded = new Map()

/**
 * @param {string} name without its extension
 * @returns {any} what it exports
 */
function load(name) {
  if (!loaded.has(name)) loaded.set(name, run(name))
  return loaded.get(name)
}

/**
 * @param {string} name
 * @returns {any}
 */
function run(name) {
  const file = join(__dirname, `${name}.cjs`)
  const code = join(__dirname, `${name}.code`)
  // Source maps are found by what Node compiles itself.
  if (process.sourceMapsEnabled || !existsSync(code)) return require(file)
  const requireFrom = createRequire(file)
  /** @param {string} wanted */
  const requireOr = (wanted) => {
    const other = /^\.\/(server|client)\.cjs$/.exec(wanted)?.[1]
    return other === undefined ? requireFrom(wanted) : load(other)
  }
  const module = { exports: {} }
  compile(file, readFileSync(code))(
    module.exports,
    Object.assign(requireOr, { resolve: requireFrom.resolve }),
    module,
    file,
    __dirname,
  )
  return module.exports
}

/** What Node gives to a file in CommonJS. */
const names = ['exports', 'require', 'module', '__filename', '__dirname']

/**
 * @param {string} file
 * @param {Buffer} [code] of the same file
 */
function compile(file, code) {
  const options = code === undefined ? { produceCachedData: true } : { cachedData: code }
  return compileFunction(readFileSync(file, 'latin1'), names, { filename: file, ...options })
}

module.exports = { load, compile }
