/** Stores of the layout before checksums are told from those of today, refused for serving, and read for a copy. */
import { open } from 'lmdb'
import { describe, expect, it } from 'vitest'
import { copyStore } from '../../src/storage/copy-store.ts'
import type { RootDatabase } from '../../src/store/lmdb/lmdb-js.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { entriesKeys, openEntries } from '../../src/store/lmdb/storage-layout.ts'
import { commitOf, entriesIn, put } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const settings = { noSubdir: false, overlappingSync: false, keyEncoding: 'binary', encoding: 'binary' } as const

/** As versions before checksums made them. */
async function plainStore(): Promise<string> {
  const directory = await temporaryDirectory()
  const entries = open(directory, { ...settings, name: 'entries' })
  await entries.put(Buffer.from('a'), Buffer.from('1'))
  await entries.put(Buffer.from('b'), Buffer.from('x'.repeat(9_000)))
  await entries.close()
  return directory
}

describe('lmdb: a store without checksums', () => {
  it('is refused with the command that brings it over, and is left as it was', async () => {
    const directory = await plainStore()
    await expect(openLmdbStore(directory)).rejects.toThrow(
      `The LMDB store in ${directory} cannot be opened: it was written by an earlier version, without checksums; ` +
        `bring it over with: ashlar copy lmdb:${directory} lmdb:<new directory>`,
    )
    const entries = open(directory, { ...settings, name: 'entries' })
    expect([...entries.getKeys()].map(String)).toEqual(['a', 'b'])
    await entries.close()
  })

  it('is read for a copy, and cannot be written', async () => {
    const source = await openLmdbStore(await plainStore(), { isReadOnly: true })
    await expect(source.commit(commitOf([put('c', '1')]))).rejects.toThrow('is open for reading only')
    const target = await openLmdbStore(await temporaryDirectory())
    expect(await copyStore(source, target)).toMatchObject({ entries: 3 })
    // The first tells the version of the format, which such a store lacks.
    expect((await entriesIn(target)).slice(1)).toEqual(['a=1', `b=${'x'.repeat(9_000)}`])
    await source.close()
    await target.close()
  })
})

describe('lmdb: a store with checksums', () => {
  it('is not opened by versions that know none', async () => {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    await store.commit(commitOf([put('a', '1')]))
    await store.close()
    expect(() => open(directory, { ...settings, name: 'entries' })).toThrow('MDB_INCOMPATIBLE')
    const again = await openLmdbStore(directory)
    expect(await entriesIn(again)).toEqual(['a=1'])
    await again.close()
  })

  it('is read for a copy too, and never made by one', async () => {
    const directory = await temporaryDirectory()
    await expect(openLmdbStore(directory, { isReadOnly: true })).rejects.toThrow('cannot be opened')
    const store = await openLmdbStore(directory)
    await store.commit(commitOf([put('a', '1')]))
    await store.close()
    const read = await openLmdbStore(directory, { isReadOnly: true })
    expect(await entriesIn(read)).toEqual(['a=1'])
    await read.close()
  })

  it('is not begun anew where it was marked and its entries are not found', async () => {
    const directory = await temporaryDirectory()
    const root = open(directory, settings) as unknown as RootDatabase
    root.putSync(entriesKeys.plain, entriesKeys.marker)
    expect(() => openEntries(root, directory)).toThrow('it has no database entries.v2; restore a backup of the store')
    await root.close()
    await expect(openLmdbStore(directory)).rejects.toThrow('does not name that of the entries and nothing else')
  })
})
