/** The version of the server, as its package states it. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the package, however deep in it this file is, or the one in which it is inlined. */
export const packageFolder = folderOf(fileURLToPath(import.meta.url))

const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }

export const version = manifest.version

function folderOf(file: string): string {
  const folder = dirname(file)
  return existsSync(join(folder, 'package.json')) ? folder : folderOf(folder)
}
