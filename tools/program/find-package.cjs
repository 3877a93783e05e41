/**
 * Finds a package from its folder, as Node does, but without the conditions and patterns of its exports: to work these out takes Node longer than anything
 * else that the start of a worker asks of the disk.
 */
const { existsSync, readFileSync, realpathSync } = require('node:fs')
const { dirname, join } = require('node:path')

/**
 * @param {string[]} names each is found from the one before
 * @param {string} from a folder
 * @returns {string | undefined} the file that the last has for `require` as its `main`; undefined where one is not found so
 */
function findPackage(names, from) {
  const description = findDescription(names, from)
  if (description === undefined) return undefined
  const { main } = JSON.parse(readFileSync(description, 'utf8'))
  return main === undefined ? undefined : join(dirname(description), main)
}

/**
 * @param {string[]} names each is found from the one before
 * @param {string} from a folder
 * @returns {string | undefined} the `package.json` of the last; undefined where one is not found so
 */
function findDescription(names, from) {
  let folder = from
  for (const name of names) {
    const found = folderOf(name, folder)
    if (found === undefined) return undefined
    folder = realpathSync(found)
  }
  return join(folder, 'package.json')
}

/**
 * @param {string} name
 * @param {string} from
 * @returns {string | undefined}
 */
function folderOf(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(found)) return found
    if (dirname(folder) === folder) return undefined
  }
}

module.exports = { findPackage, findDescription }
