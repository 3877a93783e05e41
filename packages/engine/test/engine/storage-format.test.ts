/** The version of the storage format: who may open a store, how it is migrated, and what becomes of those that still serve it. */
import { describe, expect, it } from 'vitest'
import { soleKey } from '../../src/bytes/key-layout.ts'
import { prefixEnd } from '../../src/bytes/key-space.ts'
import { FederatedDatabase, type OpenOptions } from '../../src/federated-database.ts'
import { objectKey } from '../../src/records/object-key.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openStore } from '../../src/storage/open-store.ts'
import {
  encodeFormatVersion,
  formatVersionKey,
  type Migration,
  type StorageFormat,
  storageFormat,
} from '../../src/storage/storage-format.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change, Commit, Store } from '../../src/store/store.ts'
import type { Oid } from '../../src/types/oid.ts'
import { startChild } from '../store/children/child.ts'
import { freshAddress } from '../store/postgres-stores.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { skewed } from '../store/wrappers/skewed.ts'
import { classOf, outcome, read } from './open-fd.ts'

const part = classOf('Part', { name: 'string' })
const next = storageFormat.version + 1

/** Gives each entry under `prefix` a twin under the space 7F, `size` a step. */
function twins(to: number, size: number, prefix: Uint8Array = Buffer.of(3)): Migration {
  return {
    to,
    async step(snapshot, last) {
      const from = last === undefined ? prefix : Buffer.concat([Buffer.from(last, 'hex'), Buffer.of(0)])
      const { ranges } = await snapshot.read([], [{ from, to: prefixEnd(prefix), limit: size }])
      const entries = ranges[0] ?? []
      const changes = entries.map(({ key, value }): Change => {
        return { kind: 'put', key: Buffer.concat([Buffer.of(0x7f), key]), value }
      })
      const reached = entries.length < size ? undefined : Buffer.from(entries.at(-1)!.key).toString('hex')
      return reached === undefined ? { changes } : { changes, reached }
    },
  }
}

const nextFormat: StorageFormat = { version: next, migrations: [twins(next, 3)] }

/** For one of several that use the store: what it does in the background ends when it is closed, and the store stays open. */
function keptOpen(store: Store): Store {
  return { ...store, close: async () => undefined }
}

function open(store: Store, more: Partial<OpenOptions> = {}): Promise<FederatedDatabase> {
  return FederatedDatabase.open({ alias: 'test', store, ...more })
}

async function storedFormat(store: Store): Promise<Buffer | undefined> {
  const snapshot = await store.snapshot()
  const value = await snapshot.view(formatVersionKey, (bytes) => Buffer.from(bytes))
  snapshot.release()
  return value
}

async function withParts(store: Store, count: number): Promise<{ fd: FederatedDatabase; oids: string[] }> {
  const fd = await open(store)
  await fd.defineClasses([part], 'create')
  const oids: string[] = []
  for (let nth = 0; nth < count; nth++) oids.push(await fd.createObject('Part', { name: `part ${nth}` }))
  return { fd, oids }
}

async function expectTwins(store: Store, oids: readonly string[]): Promise<void> {
  const snapshot = await store.snapshot()
  const keys = oids.map((oid) => objectKey(oid as Oid))
  const { values } = await snapshot.read([...keys, ...keys.map((key) => Buffer.concat([Buffer.of(0x7f), key]))])
  expect(values.slice(oids.length)).toEqual(values.slice(0, oids.length))
  expect((await snapshot.read([soleKey('migration')])).values).toEqual([undefined])
  snapshot.release()
}

describe('a store', () => {
  it('gets the version with its first commit, under the first key', async () => {
    const store = await openStoreOfRun()
    const commits: Commit[] = []
    const noting: Store = {
      ...store,
      async commit(commit) {
        commits.push(commit)
        return store.commit(commit)
      },
    }
    const fd = await open(noting)
    expect(commits[0]?.changes).toEqual([
      { kind: 'put', key: Buffer.of(0, 0), value: encodeFormatVersion(storageFormat.version) },
    ])
    expect(await storedFormat(store)).toEqual(Buffer.of(0, 0, 0, storageFormat.version))
    await fd.close()
  })

  it('that is opened can still do all that its driver can', async () => {
    const store = await openStoreOfRun()
    const backup = async (): Promise<void> => undefined
    const fd = await open({ ...store, backup })
    expect(fd.store.backup).toBe(backup)
    expect(Object.keys(fd.store)).toEqual(expect.arrayContaining(Object.keys(store)))
    await fd.close()
  })

  it('without a version that holds something is refused with the command that copies it, and is left as it is', async () => {
    const store = await openStoreOfRun()
    await store.commit({
      changes: [{ kind: 'put', key: soleKey('session'), value: Buffer.of(0, 0, 0, 7) }],
      preconditions: [],
    })
    await expect(open(store)).rejects.toThrow(
      /^The store \S+ was made before stores had a format version; bring it over to this version with: ashlar copy \S+ <new store>$/,
    )
    expect((await store.stats()).entries).toBe(1)
    await store.close()
  })

  it('of a newer version is refused, copied neither, and is left as it is', async () => {
    const [store, target] = [await openStoreOfRun(), await openMemoryStore()]
    await store.commit({
      changes: [{ kind: 'put', key: formatVersionKey, value: encodeFormatVersion(99) }],
      preconditions: [],
    })
    const sentence = /^The store \S+ has storage format 99, and this program reads formats up to \d+: use .*Ashlar/
    await expect(open(store)).rejects.toThrow(sentence)
    await expect(copyStore(store, target)).rejects.toThrow(sentence)
    expect([(await store.stats()).entries, (await target.stats()).entries]).toEqual([1, 0])
    await store.close()
  })

  it('whose snapshots are not consistent is migrated, though what reads the next step of it keeps commits out', async () => {
    const memory = await openMemoryStore()
    const { oids } = await withParts(memory, 8)
    const store = skewed(memory, { seed: 1 })
    const fd = await open(store, { format: nextFormat })
    await expectTwins(memory, oids)
    await fd.close()
  })

  it('that another process migrates while this one opens it is left as it is', async () => {
    const store = await openMemoryStore()
    const { fd } = await withParts(store, 1)
    const changed = (commit: Commit): string[] => [...commit.changes].map(({ key }) => Buffer.from(key).toString('hex'))
    const session = soleKey('session').toString('hex')
    const written: string[] = []
    const migratedMeanwhile: Store = {
      ...store,
      async commit(commit) {
        const change: Change = { kind: 'put', key: formatVersionKey, value: encodeFormatVersion(99) }
        if (changed(commit).includes(session)) await store.commit({ changes: [change], preconditions: [] })
        const outcome = await store.commit(commit)
        if (outcome.isCommitted) written.push(...changed(commit))
        return outcome
      },
    }
    await expect(open(migratedMeanwhile)).rejects.toThrow('has storage format 99')
    expect(written).toEqual([])
    await fd.close()
  })

  it('needs no whole view of itself to be opened again', async () => {
    const store = await openMemoryStore()
    const { fd } = await withParts(store, 1)
    const isolations: unknown[] = []
    const watched: Store = {
      ...store,
      snapshot(options) {
        isolations.push(options?.isolation)
        return store.snapshot(options)
      },
      close: async () => undefined,
    }
    await (await open(watched)).close()
    expect(isolations.length).toBeGreaterThan(0)
    expect(isolations).not.toContain('consistent')
    await fd.close()
  })

  it('of a version from which no migration leads is refused with the command that copies it', async () => {
    const store = await openStoreOfRun()
    const { fd } = await withParts(store, 1)
    await expect(open(store, { format: { version: next, migrations: [] } })).rejects.toThrow(
      /has storage format \d+; bring it over to this version with: ashlar copy /,
    )
    await fd.close()
  })

  it('is claimed by one of a server and a copy that begin at the same moment', async () => {
    const [source, target] = [await openMemoryStore(), await openMemoryStore()]
    const { fd } = await withParts(source, 3)
    const [opened, copied] = await Promise.allSettled([open(target), copyStore(source, target)])
    expect([opened.status, copied.status].sort()).toEqual(['fulfilled', 'rejected'])
    const reason = [opened, copied].find((one) => one.status === 'rejected')?.reason as Error
    expect(reason.message).toMatch(/is not finished|is not empty/)
    await fd.close()
  })

  it('without a version gets one in its copy', async () => {
    const [old, target] = [await openMemoryStore(), await openMemoryStore()]
    const { oids } = await withParts(old, 3)
    await old.commit({ changes: [{ kind: 'delete', key: formatVersionKey }], preconditions: [] })
    const report = await copyStore(old, target)
    expect(report.entries).toBe((await target.stats()).entries)
    const fd = await open(target)
    expect(await read(fd, oids[2] as string)).toMatchObject({ name: 'part 2' })
    await fd.close()
  })
})

describe('a migration', () => {
  it('brings a store over step by step, and is done once', async () => {
    const store = await openStoreOfRun()
    const { fd: before, oids } = await withParts(store, 7)
    const fd = await open(keptOpen(store), { format: nextFormat })
    expect(await storedFormat(store)).toEqual(encodeFormatVersion(next))
    await expectTwins(store, oids)
    expect(await read(fd, oids[0] as string)).toMatchObject({ name: 'part 0' })
    await fd.close()
    const { entries } = await store.stats()
    await (await open(keptOpen(store), { format: nextFormat })).close()
    expect((await store.stats()).entries).toBe(entries)
    await expect(open(store)).rejects.toThrow(`has storage format ${next}`)
    await before.close()
  })

  it('that is stopped after any of its commits is gone on with by whoever comes next', async () => {
    const formats: StorageFormat = { version: next + 1, migrations: [twins(next, 2), twins(next + 1, 5, Buffer.of(1))] }
    const outcomes: string[] = []
    for (let commits = 0; commits < 12; commits++) {
      const store = await openMemoryStore()
      const { oids } = await withParts(store, 7)
      let left = commits
      const dying: Store = {
        ...store,
        async commit(commit) {
          if (--left < 0) throw new Error('killed')
          return store.commit(commit)
        },
      }
      outcomes.push(await outcomeOf(open(dying, { format: formats })))
      await open(store, { format: formats })
      expect(await storedFormat(store)).toEqual(encodeFormatVersion(next + 1))
      await expectTwins(store, oids)
    }
    expect(new Set(outcomes)).toEqual(new Set(['killed', 'done']))
  })

  it('is shared by several that come at once', async () => {
    const store = await openStoreOfRun()
    const { fd, oids } = await withParts(store, 20)
    const several = await Promise.all(Array.from({ length: 4 }, () => open(keptOpen(store), { format: nextFormat })))
    await expectTwins(store, oids)
    for (const one of several) await one.close()
    await fd.close()
  })
})

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: Error) => error.message,
  )
}

describe('a process of an earlier format', () => {
  it('whose commits are under way when the migration begins writes nothing after it', async () => {
    const store = await openMemoryStore()
    const held: (() => void)[] = []
    let isHolding = false
    const slow: Store = {
      ...store,
      async commit(commit) {
        if (isHolding) await new Promise<void>((resolve) => held.push(resolve))
        return store.commit(commit)
      },
    }
    const told: string[] = []
    const fd = await open(slow, { onFormatChanged: (message) => told.push(message) })
    await fd.defineClasses([part, classOf('Other', {})], 'create')
    const oid = await fd.createObject('Part', { name: 'old' })
    isHolding = true
    // The first commits an object; the second leases a page of OIDs, which does not depend on the catalog.
    const works = [fd.updateObject(oid, { name: 'new' }), fd.createObject('Other', {})].map(outcome)
    while (held.length < 2) await new Promise((resolve) => setImmediate(resolve))
    isHolding = false
    await open(store, { format: nextFormat })
    const { entries } = await store.stats()
    for (const release of held) release()
    expect(await Promise.all(works)).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    expect((await store.stats()).entries).toBe(entries)
    await expect(fd.listClasses()).rejects.toThrow(`has storage format ${next} now, and this server reads format`)
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(`has storage format ${next} now`)
  })

  it('serves no more once another process has migrated the store, and tells its operator once', async () => {
    const address = isOnPostgres ? freshAddress() : `lmdb:${await temporaryDirectory()}`
    const child = startChild(new URL('./children/serve-requests.ts', import.meta.url), [address])
    const lines = child.lines[Symbol.asyncIterator]()
    const answer = async (): Promise<string> => (await lines.next()).value as string
    const ask = (request: string): Promise<string> => {
      child.process.stdin.write(`${request}\n`)
      return answer()
    }
    expect(await answer()).toBe('ready')
    expect([await ask('create'), await ask('read'), await ask('query')]).toEqual(['ok', 'ok', 'ok'])
    const fd = await open(await openStore(address), { format: nextFormat })
    const refused = [
      await ask('create'),
      await ask('read'),
      await ask('query'),
      await ask('define'),
      await ask('verify'),
    ]
    expect(refused).toEqual(Array(5).fill('StoreUnavailable'))
    expect(await fd.createObject('Part', { name: 'of the new format' })).toBeDefined()
    const told = JSON.parse(await ask('told')) as string[]
    expect(told).toEqual([expect.stringContaining(`has storage format ${next} now`)])
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
    // It does not end by itself, and ends cleanly when it is told to.
    child.process.stdin.write('stop\n')
    expect(await child.ended).toMatchObject({ code: 0, errors: '' })
  })
})
