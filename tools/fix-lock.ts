/**
 * Completes package-lock.json with what the registry in use left out: packages of other platforms, and digests of packages that a server
 * runs. Run it after `npm install`.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type LockFile,
  missingPlatformPackages,
  nameAt,
  runTimeWithoutIntegrity,
  withIntegrity,
  withPlatformPackages,
} from './lock-file.ts'

const path = join(import.meta.dirname, '..', 'package-lock.json')
const before = readFileSync(path, 'utf8')
const lock = JSON.parse(before) as LockFile
const missing = missingPlatformPackages(lock).size
const whole = withPlatformPackages(lock)
const digests = new Map<string, string>()
for (const without of runTimeWithoutIntegrity(whole)) {
  const digest = digestOf(`${nameAt(without)}@${whole.packages[without]?.version}`)
  if (digest === undefined) console.log(`${without} has no integrity, and the registry in use does not carry it`)
  else digests.set(without, digest)
}
if (missing + digests.size > 0) writeFileSync(path, `${JSON.stringify(withIntegrity(whole, digests), null, 2)}\n`)
console.log(`${missing} platform packages and ${digests.size} digests added to package-lock.json`)

/** As the registry tells it; undefined where it does not carry the package. */
function digestOf(versioned: string): string | undefined {
  try {
    const told = execFileSync('npm', ['view', versioned, 'dist.integrity'], { encoding: 'utf8', stdio: 'pipe' }).trim()
    return told.startsWith('sha512-') ? told : undefined
  } catch (error) {
    if (String((error as { stderr?: unknown }).stderr).includes('E404')) return undefined
    throw error
  }
}
