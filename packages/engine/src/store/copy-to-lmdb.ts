/** Copies what a snapshot shows into a new LMDB store: the backup of stores that have no files of their own. */
import { readdir } from 'node:fs/promises'
import { openLmdbStore } from './lmdb/lmdb-store.ts'
import type { Change, Snapshot } from './store.ts'

const commitBytesMax = 4_194_304

/** Throws when the directory holds something. */
export async function copyToLmdb(snapshot: Snapshot, directory: string): Promise<void> {
  const existing = await readdir(directory).catch(() => [])
  if (existing.length > 0) throw new Error(`The backup directory ${directory} is not empty.`)
  const store = await openLmdbStore(directory)
  try {
    let changes: Change[] = []
    let bytes = 0
    const change = (key: Uint8Array, value: Uint8Array): Change => {
      return { kind: 'put', key: Buffer.from(key), value: Buffer.from(value) }
    }
    for await (const batch of snapshot.scan({}, change)) {
      for (const next of batch) {
        changes.push(next)
        bytes += next.key.length + (next.kind === 'put' ? next.value.length : 0)
        if (bytes < commitBytesMax) continue
        await store.commit({ changes, expectations: [] })
        changes = []
        bytes = 0
      }
    }
    await store.commit({ changes, expectations: [] })
  } finally {
    await store.close()
  }
}
