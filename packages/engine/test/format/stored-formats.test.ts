/**
 * Stores that earlier builds have written. The present format has to read its own example, and write the same bytes: where this fails,
 * the change needs a new version of the format with a migration (or a new layout of the driver), and a fixture of its own.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, inject, it, vi } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { encodeFormatVersion, formatVersionKey, storageFormat } from '../../src/storage/storage-format.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { checkStore } from '../../src/verify/check-store.ts'
import { withClient } from '../store/database-client.ts'
import { freshAddress } from '../store/postgres-stores.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { type ExampleContent, fillExample, readExample } from './example-database.ts'
import { entriesOf, type Fixture, fixedNow, fixture, postgresFile } from './fixture-files.ts'

const unversioned = fixture('unversioned')
const earlier = [1, 2, 3, 4].map((version) => ({ version, ...fixture(`format-${version}`) }))
const presentName = `format-${storageFormat.version}`
const present = fixture(presentName)
/** The present one as builds wrote it whose change log has of a class what it became, and not what it was. */
const withoutEarlierClasses = 'format-4-without-earlier-classes'

afterEach(() => void vi.useRealTimers())

async function lmdbOf({ lmdb }: Fixture): Promise<string> {
  const directory = await temporaryDirectory()
  await writeFile(join(directory, 'data.mdb'), lmdb)
  return directory
}

/** The tables and rows that an earlier build has made in a PostgreSQL database: the address of the store. */
async function postgresOf(name: string): Promise<string> {
  const address = freshAddress()
  const schema = new URL(address).searchParams.get('schema') as string
  const file = fileURLToPath(new URL(`fixtures/${name}/${postgresFile}`, import.meta.url))
  const statements = gunzipSync(readFileSync(file)).toString()
  await withClient(inject('postgres'), (client) => client.query(statements.replaceAll(/\bSCHEMA(?=[.;])/g, schema)))
  return address
}

/** Everything is there as it was, agrees with itself, and can be worked with. */
async function expectWhole(store: Store, content: ExampleContent): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'stored', store })
  expect(await readExample(fd, Object.keys(content.objects), Object.keys(content.queries))).toEqual(content)
  expect((await fd.verify()).problems).toEqual([])
  const oid = await fd.createObject('Rock.Item', { name: 'another', owner: '3-4-1-1' })
  expect(Object.keys(content.objects)).not.toContain(oid)
  await expect(fd.createObject('Rock.Item', { name: 'item 3' })).rejects.toMatchObject({ type: 'UniqueViolation' })
  await fd.updateObject('3-7-1-1', { kept: 'rewritten in its present shape' })
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

async function storeWith(entries: readonly string[]): Promise<Store> {
  const store = await openMemoryStore()
  const changes = entries.map((entry): Change => {
    const [key = '', value = ''] = entry.split(' ').map((digits) => Buffer.from(digits, 'hex'))
    return { kind: 'put', key: Buffer.from(key), value: Buffer.from(value) }
  })
  await store.commit({ changes, preconditions: [] })
  return store
}

describe('a store from before there was a format version', () => {
  it('on LMDB is refused with the command that copies it, which leaves it as it is and brings everything over', async () => {
    const directory = await lmdbOf(unversioned)
    const digest = (): string =>
      createHash('sha256')
        .update(readFileSync(join(directory, 'data.mdb')))
        .digest('hex')
    const before = digest()
    await expect(openStore(`lmdb:${directory}`)).rejects.toThrow(`ashlar copy lmdb:${directory} `)
    const source = await openStore(`lmdb:${directory}`, { isReadOnly: true })
    const target = await openStore(`lmdb:${await temporaryDirectory()}`)
    await copyStore(source, target)
    await source.close()
    expect(digest()).toBe(before)
    expect(await entriesOf(target)).toEqual(['0000 00000001', ...unversioned.entries])
    await expectWhole(target, unversioned.content)
  })

  it('on PostgreSQL is refused with the command that copies it, which brings everything over', async () => {
    const address = await postgresOf('unversioned')
    const { host, search } = new URL(address)
    await expect(openStore(address)).rejects.toThrow(
      `its tables have version 2, of an earlier Ashlar (this one has version 4); bring it over with: ashlar copy 'postgres://${host}/postgres${search}' <new store>`,
    )
    for (const to of [`lmdb:${await temporaryDirectory()}`, freshAddress()]) {
      const [source, target] = [await openStore(address, { isReadOnly: true }), await openStore(to)]
      await copyStore(source, target)
      await source.close()
      expect(await entriesOf(target)).toEqual(['0000 00000001', ...unversioned.entries])
      await expectWhole(target, unversioned.content)
    }
  })
})

describe.each(earlier)('a store of format $version', (stored) => {
  it('is checked as it is', async () => {
    const directory = await lmdbOf(stored)
    const before = readFileSync(join(directory, 'data.mdb'))
    expect((await checkStore(`lmdb:${directory}`)).problems).toEqual([])
    expect(readFileSync(join(directory, 'data.mdb')).equals(before)).toBe(true)
  })

  it('is migrated when it is opened, and nothing of it is written anew', async () => {
    for (const store of [await storeWith(stored.entries), await openStore(`lmdb:${await lmdbOf(stored)}`)]) {
      const unclosed = { ...store, close: async () => undefined }
      const fd = await FederatedDatabase.open({ alias: 'migrated', store: unclosed })
      await fd.close()
      const kept = (await entriesOf(store)).filter((entry) => !isOfOpening(entry))
      expect(kept).toEqual(stored.entries.filter((entry) => !isOfOpening(entry)))
      expect((await entriesOf(store))[0]).toBe(`0000 0000000${storageFormat.version}`)
      await expectWhole(store, stored.content)
    }
  })
})

/** The version of the format, that of the catalog, and the number of the last session. */
function isOfOpening(entry: string): boolean {
  return ['0000', '0001', '0100'].includes(entry.split(' ')[0] as string)
}

describe.each([presentName, withoutEarlierClasses])('a store of %s', (name) => {
  const stored = fixture(name)

  it('is read as it was written', async () => {
    await expectWhole(await storeWith(stored.entries), stored.content)
  })

  it('is read from the file of LMDB as it was written', async () => {
    await expectWhole(await openStore(`lmdb:${await lmdbOf(stored)}`), stored.content)
  })

  it('has the same change log in the file of LMDB, whose entries hold several commits', async () => {
    const store = await openStore(`lmdb:${await lmdbOf(stored)}`)
    expect(await entriesOf(store)).toEqual(stored.entries)
    const snapshot = await store.snapshot({ isCounted: true })
    expect(snapshot.entryCount).toBeLessThan(stored.entries.length)
    snapshot.release()
    await store.close()
  })

  it('has a change log that tells of its classes', async () => {
    const fd = await FederatedDatabase.open({
      alias: 'stored',
      store: await storeWith(stored.entries),
      changeLog: 'on',
    })
    const { changes } = await fd.following().changes.page({ since: 'first', include: 'keys', limit: 1_000 })
    const told = changes.map(({ json }) => JSON.parse(json.toString()) as { readonly classes?: readonly string[] })
    expect(new Set(told.flatMap(({ classes = [] }) => classes))).toContain('Rock.Item')
    await fd.close()
  })

  it('is read from the tables of PostgreSQL as they were written', async () => {
    await expectWhole(await openStore(await postgresOf(name)), stored.content)
  })
})

describe(`the storage format ${storageFormat.version}`, () => {
  it('is written as it was, with the change log', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: fixedNow })
    const store = await openMemoryStore()
    const unclosed = { ...store, close: async () => undefined }
    const fd = await FederatedDatabase.open({ alias: 'written', store: unclosed, changeLog: 'on' })
    await fillExample(fd)
    await fd.close()
    expect(await entriesOf(store)).toEqual(present.entries)
    await store.close()
  })
})

describe('a store of a later format', () => {
  it('is not checked', async () => {
    const address = `lmdb:${await temporaryDirectory()}`
    const store = await openStore(address)
    const value = encodeFormatVersion(storageFormat.version + 1)
    await store.commit({ changes: [{ kind: 'put', key: formatVersionKey, value }], preconditions: [] })
    await store.close()
    await expect(checkStore(address)).rejects.toThrow(/has storage format 6, and this program checks formats 1 to 5/)
  })
})
