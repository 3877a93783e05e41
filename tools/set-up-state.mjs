/** What set-up compares to know whether the installed packages and the built sources are still those of this checkout. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @param {string} version as `process.version` has it
 * @returns {boolean} whether this Node can run Ashlar
 */
export function isSupported(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > 20 || (major === 20 && minor >= 19)
}

/**
 * The packages that have sources, each after those it is built from (the compiler orders them itself).
 * @param {string} root
 * @returns {string[]} folders relative to `root`
 */
export function builtPackages(root) {
  return readdirSync(join(root, 'packages'))
    .map((name) => join('packages', name))
    .filter((folder) => existsSync(join(root, folder, 'tsconfig.json')) && hasFile(join(root, folder, 'src')))
    .sort()
}

/**
 * Changes when the lock file, the platform or the binary interface of Node do.
 * @param {string} root
 * @returns {{ lock: string, machine: string }}
 */
export function packageState(root) {
  return {
    lock: createHash('sha256')
      .update(readFileSync(join(root, 'package-lock.json')))
      .digest('hex'),
    machine: `${process.platform} ${process.arch} ${process.versions.modules}`,
  }
}

/**
 * The operating system and its release, which decide about the C library that a binary is linked with.
 * @returns {string} as `debian 12`; empty where it is not known
 */
export function systemRelease() {
  try {
    const lines = readFileSync('/etc/os-release', 'utf8').split('\n')
    const field = (/** @type {string} */ name) => lines.find((line) => line.startsWith(`${name}=`))
    return [field('ID'), field('VERSION_ID')]
      .map((line) => line?.split('=')[1]?.replaceAll('"', ''))
      .join(' ')
      .trim()
  } catch (_) {
    return ''
  }
}

/**
 * Whether npm's own note of what it put into node_modules agrees with the lock file: so a developer's `npm install`
 * is not followed by a needless `npm ci`, which would empty the folder first.
 * @param {string} root
 * @param {boolean} isForStart whether the packages that only tests and checks use may be missing
 * @returns {boolean}
 */
export function isInstalled(root, isForStart) {
  const note = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(note)) return false
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(note, 'utf8')).packages
  return Object.keys(wanted).every((path) => {
    const mayBeMissing = wanted[path].optional || (isForStart && (wanted[path].dev || wanted[path].devOptional))
    if (path === '' || !path.includes('node_modules/') || (mayBeMissing && !present[path])) return true
    return present[path] !== undefined && present[path].version === wanted[path].version
  })
}

/**
 * Changes when a source file or a compiler setting is written, added or removed, and with the version of V8, for which code is kept. Times and sizes stand for contents:
 * reading every file would cost more than the build's own check.
 * @param {string} root
 * @returns {string}
 */
export function sourceState(root) {
  const hash = createHash('sha256').update(`${process.versions.v8}\n`)
  const files = ['tsconfig.base.json', 'tools/build-program.mjs', 'tools/keep-code.mjs']
  files.push(...filesUnder(root, 'tools/program'))
  for (const folder of builtPackages(root)) {
    files.push(join(folder, 'package.json'), join(folder, 'tsconfig.json'))
    files.push(...filesUnder(root, join(folder, 'src')))
  }
  files.push(...filesUnder(root, 'packages/cli/demo'))
  for (const file of files) {
    const { size, mtimeMs } = statSync(join(root, file))
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/**
 * @param {string} root
 * @returns {boolean} whether the output of the compiler is there for each package
 */
export function isCompiled(root) {
  return builtPackages(root).every((folder) => existsSync(join(root, folder, 'dist', '.tsbuildinfo')))
}

/**
 * @param {string} root
 * @returns {boolean} whether the program `ashlar` is there
 */
export function isBundled(root) {
  return existsSync(join(root, 'packages/cli/dist/bin/ashlar.cjs'))
}

/** @param {string} folder */
function hasFile(folder) {
  return existsSync(folder) && readdirSync(folder).length > 0
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(root, folder) {
  /** @type {string[]} */
  const files = []
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) files.push(...filesUnder(root, path))
    else files.push(path)
  }
  return files.sort()
}
