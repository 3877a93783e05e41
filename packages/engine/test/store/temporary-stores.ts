/** LMDB stores in directories of their own, which are removed after the tests of a file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEachFile } from '../../../../tools/after-file.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Driver } from './conformance.ts'

const directories: string[] = []

afterEachFile(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true })
})

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ashlar-store.'))
  directories.push(directory)
  return directory
}

export const temporaryLmdb: Driver = {
  isInOrder: true,
  open: async () => openLmdbStore(await temporaryDirectory()),
  async reopen(store: Store) {
    await store.close()
    return openLmdbStore(store.capabilities.location)
  },
}
