/** The version of the server, from its package. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The directory of the package, at any depth above this file or the bundle that includes it. */
export const packageFolder = folderOf(fileURLToPath(import.meta.url))

const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }

export const version = manifest.version

function folderOf(file: string): string {
  const folder = dirname(file)
  return existsSync(join(folder, 'package.json')) ? folder : folderOf(folder)
}
