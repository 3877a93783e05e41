/** Directories for stores, which end with the measurement. */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Place } from './contender.ts'

export async function freshDirectory(): Promise<Place> {
  const address = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
  return {
    address,
    bytes: async () => blocksOf(address),
    remove: async () => rmSync(address, { recursive: true, force: true }),
  }
}

/** What the files take of the disk, which is less than their size where they have holes. */
export function blocksOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return files.reduce((sum, file) => sum + lstatSync(join(directory, file)).blocks * 512, 0)
}
