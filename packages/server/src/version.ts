/** The version and the package of the server. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The directory of the package, at any depth above this file or the bundle that includes it. */
export const packageFolder = folderOf(fileURLToPath(import.meta.url))

const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
  name: string
  version: string
}

export const version = manifest.version
/** The package that holds this file: the server, the command line, or `ashlar`. */
export const packageName = manifest.name

function folderOf(file: string): string {
  const folder = dirname(file)
  return existsSync(join(folder, 'package.json')) ? folder : folderOf(folder)
}
