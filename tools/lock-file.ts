/** Knows what package-lock.json must hold to serve `npm ci` on any machine: every platform's package, and no address. */

export interface LockedPackage {
  version?: string
  resolved?: string
  /** The digest that npm holds what it downloads against. */
  integrity?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/** A package-lock.json of version 3: a package for each path, '' being the project itself. */
export interface LockFile {
  packages: Record<string, LockedPackage>
}

/** A package.json, as far as the lock file repeats it. */
export type Manifest = Pick<LockedPackage, 'version' | 'dependencies' | 'devDependencies' | 'optionalDependencies'>

const systems = new Set('aix android darwin freebsd linux netbsd openbsd openharmony sunos win32'.split(' '))
const processors = new Set('arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x wasm32 x64'.split(' '))
const exactVersion = /^\d+\.\d+\.\d+(-[\w.]+)?$/

/**
 * The platform packages that a package of the lock file asks for and the lock file does not have, by their path.
 * A registry that does not carry them all leaves them out silently, and `npm ci` then refuses the file.
 *
 * @throws Error for a missing package whose name or version does not say enough; it has to be added by hand
 */
export function missingPlatformPackages(lock: LockFile): Map<string, LockedPackage> {
  const missing = new Map<string, LockedPackage>()
  for (const [path, parent] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      if (resolvedPath(lock, path, name) !== undefined) continue
      if (!exactVersion.test(version))
        throw new Error(`${path} wants ${name} ${version}: add it to the lock file by hand`)
      const { cpu, libc, os } = platformOf(name)
      // In npm's own order, so that the next `npm install` leaves the file as it is.
      const dev = parent.dev ? { dev: true } : {}
      missing.set(`node_modules/${name}`, { version, cpu, ...dev, ...(libc ? { libc } : {}), optional: true, os })
    }
  }
  return missing
}

/** The same lock file with those packages, in npm's order of paths. */
export function withPlatformPackages(lock: LockFile): LockFile {
  const all = [...Object.entries(lock.packages), ...missingPlatformPackages(lock)]
  return { ...lock, packages: Object.fromEntries(all.sort(([a], [b]) => a.localeCompare(b, 'en'))) }
}

/** Paths of the packages that a server runs, and whose download npm would not check. */
export function runTimeWithoutIntegrity({ packages }: LockFile): string[] {
  return Object.entries(packages).flatMap(([path, { integrity, link, dev }]) => {
    const isDownloaded = path.includes('node_modules/') && link !== true
    return isDownloaded && dev !== true && integrity === undefined ? [path] : []
  })
}

/** The same lock file with these digests, by path; `integrity` stands behind the version, as npm has it. */
export function withIntegrity(lock: LockFile, digests: ReadonlyMap<string, string>): LockFile {
  const packages = Object.entries(lock.packages).map(([path, { version, ...rest }]) => {
    const integrity = digests.get(path)
    const versioned = version === undefined ? {} : { version }
    return [path, integrity === undefined ? { ...versioned, ...rest } : { ...versioned, integrity, ...rest }] as const
  })
  return { ...lock, packages: Object.fromEntries(packages) }
}

/** What npm calls the package at a path of the lock file. */
export function nameAt(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** What would make `npm ci` refuse the lock file, bind it to one registry, or let it take something else than was locked; one sentence each. */
export function lockFileProblems(lock: LockFile, manifests: ReadonlyMap<string, Manifest>): string[] {
  const problems: string[] = []
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.resolved !== undefined && !entry.link) problems.push(`${path} names a download address`)
    const platform = entry.os ?? entry.cpu
    if (platform && !entry.optional) problems.push(`${path} is for one platform but not optional`)
  }
  for (const path of missingPlatformPackages(lock).keys()) problems.push(`${path} is missing: run npm run fix-lock`)
  for (const path of runTimeWithoutIntegrity(lock)) problems.push(`${path} has no integrity: run npm run fix-lock`)
  for (const [path, manifest] of manifests) {
    const entry = lock.packages[path]
    if (entry === undefined) problems.push(`the workspace ${path} is missing: run npm install`)
    for (const field of ['dependencies', 'devDependencies', 'optionalDependencies'] as const) {
      for (const name of differingNames(manifest[field], entry?.[field])) {
        problems.push(`${name} differs from ${field} of ${path || '.'}/package.json: run npm install`)
      }
      for (const [name, version] of Object.entries(manifest[field] ?? {})) {
        if (!exactVersion.test(version)) problems.push(`${path || '.'}/package.json pins ${name} to no exact version`)
      }
    }
  }
  return problems
}

function differingNames(a: Record<string, string> = {}, b: Record<string, string> = {}): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name])
}

/** Where Node would find `name` from the package at `path`: in its own node_modules, then outwards. */
function resolvedPath(lock: LockFile, path: string, name: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const candidate = `${folder ? `${folder}/` : ''}node_modules/${name}`
    if (lock.packages[candidate]) return candidate
    if (folder === '') return undefined
    if (!folder.includes('node_modules/')) folder = ''
  }
}

/** `binding-linux-arm-musleabihf` → linux, arm, musl. */
function platformOf(name: string): { os: string[]; cpu: string[]; libc?: string[] } {
  const words = name.replace(/^@[^/]+\//, '').split('-')
  const os = words.filter((word) => systems.has(word))
  const cpu = words.filter((word) => processors.has(word))
  if (os.length === 0 || cpu.length !== 1) throw new Error(`${name} names no platform: add it to the lock file by hand`)
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : words.some((w) => w.startsWith('gnu'))
      ? ['glibc']
      : []
  return { os: os.slice(-1), cpu, ...(libc.length > 0 && os.includes('linux') ? { libc } : {}) }
}
