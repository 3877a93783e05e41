/** LMDB: reader slots that were cleared under a process, as by another one that takes it for ended. */
import { openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { commitChanges, entriesIn, put } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

/** Slots follow a header of another size: this is where the process stands from one multiple of their size on. */
const slotBytes = 64
const pidAt = 24

/** Sets the process of each reader slot of this process to 0. The file stays open, since closing it would release the locks of LMDB. */
function clearSlots(directory: string): number {
  const file = openSync(join(directory, 'lock.mdb'), 'r+')
  const table = readFileSync(file)
  let cleared = 0
  for (let at = 0; at + slotBytes <= table.length; at += slotBytes) {
    if (table.readUInt32LE(at + pidAt) !== process.pid) continue
    writeSync(file, Buffer.alloc(4), 0, 4, at + pidAt)
    cleared++
  }
  return cleared
}

it('a store without its reader slots says that it has to be opened again, and is whole then', async () => {
  const directory = await temporaryDirectory()
  const unusable: Error[] = []
  const store = await openLmdbStore(directory, { onUnusable: (error) => unusable.push(error) })
  await commitChanges(store, put('a', '1'))
  expect(await entriesIn(store)).toEqual(['a=1'])
  expect(clearSlots(directory)).toBeGreaterThan(0)
  await expect(async () => store.snapshot()).rejects.toMatchObject({
    type: 'StoreUnavailable',
    message: expect.stringContaining('lost its place among the readers'),
  })
  expect(unusable).toHaveLength(1)
  await store.close()
  const again = await openLmdbStore(directory)
  expect(await entriesIn(again)).toEqual(['a=1'])
  await again.close()
})
