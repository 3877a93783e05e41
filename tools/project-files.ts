/** The files of the project as git knows them: tracked, or new and not ignored. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The text of each file by its path relative to the root; checks are functions of it, so tests need no folder. */
export type ProjectFiles = ReadonlyMap<string, string>

const binary = /\.(png|jpe?g|gif|ico|woff2?|gz|zip|mdb)$/

export function readProjectFiles(root: string): ProjectFiles {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const files = new Map<string, string>()
  for (const path of [...new Set(listed.split('\0'))].sort()) {
    // A tracked file that is deleted in the working tree is still listed.
    if (path === '' || binary.test(path) || !existsSync(join(root, path))) continue
    files.set(path, readFileSync(join(root, path), 'utf8'))
  }
  return files
}
