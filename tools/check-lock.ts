/** Checks that package-lock.json serves `npm ci` on every machine. */
import type { CheckResult } from './finding.ts'
import { type LockFile, lockFileProblems, type Manifest } from './lock-file.ts'
import type { ProjectFiles } from './project-files.ts'

export function checkLock(files: ProjectFiles): CheckResult {
  const file = 'package-lock.json'
  const text = files.get(file)
  if (text === undefined) return { findings: [{ file, message: 'the lock file is missing' }], summary: '' }
  const lock = JSON.parse(text) as LockFile
  const manifests = new Map<string, Manifest>()
  for (const [path, content] of files) {
    if (/^(packages\/[^/]+\/)?package\.json$/.test(path)) {
      manifests.set(path.replace(/\/?package\.json$/, ''), JSON.parse(content) as Manifest)
    }
  }
  return {
    findings: lockFileProblems(lock, manifests).map((message) => ({ file, message })),
    summary: `${Object.keys(lock.packages).length} packages`,
  }
}
