/** A store is copied into one of another kind: whole, resumed where it was stopped, and never used before it is done. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { soleKey, type storePart } from '../../src/bytes/key-layout.ts'
import { heartbeatKey } from '../../src/ddl/heartbeat.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { copyToLmdb, withBackup } from '../../src/storage/with-backup.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change, Snapshot, Store } from '../../src/store/store.ts'
import { commitChanges, entriesIn, put, remove } from './bytes.ts'
import type { Driver } from './conformance.ts'
import { temporaryPostgres } from './postgres-stores.ts'
import { temporaryLmdb } from './temporary-stores.ts'

const named = 7_000
/** Those, and that of the format's version. */
const entries = named + 1

async function filled(driver: Driver): Promise<Store> {
  const store = await driver.open()
  await commitChanges(store, put('\0\0', '\0\0\0\x01'))
  const name = (nth: number): string => `${String.fromCharCode((nth * 7) % 256)}${nth}`
  for (let nth = 0; nth < named; nth += 1_000) {
    await commitChanges(store, ...Array.from({ length: 1_000 }, (_, i) => put(name(nth + i), `value ${nth + i}`)))
  }
  return store
}

function stop(): never {
  throw new Error('stopped')
}

async function expectCopied(source: Store, target: Store): Promise<void> {
  const [wanted, found] = [await entriesIn(source), await entriesIn(target)]
  expect(found.length).toBe(wanted.length)
  expect(found).toEqual(wanted)
}

describe('a copy', () => {
  it.each([
    ['lmdb', 'postgres', temporaryLmdb, temporaryPostgres],
    ['postgres', 'lmdb', temporaryPostgres, temporaryLmdb],
  ])('from %s to %s holds every entry, and tells how many and their checksum', async (_from, _to, from, to) => {
    const [source, target] = [await filled(from), await to.open()]
    const steps: string[] = []
    const report = await copyStore(source, target, { onProgress: (step) => steps.push(step) })
    expect(report).toMatchObject({ entries, isResumed: false, checksum: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(new Set(steps)).toEqual(new Set(['copying', 'comparing']))
    await expectCopied(source, target)
    await Promise.all([source.close(), target.close()])
  })

  it.each([
    ['lmdb', temporaryLmdb],
    ['memory', { open: openMemoryStore }],
    ['postgres', temporaryPostgres],
  ])(
    'from %s is as of one moment, and ends however often the source is written to meanwhile',
    async (_from, driver) => {
      const [source, target] = [await filled(driver), await openMemoryStore()]
      const before = await entriesIn(source)
      let written = 0
      const besideWrites: Store = {
        ...target,
        async snapshot(asked) {
          await commitChanges(source, put(`new ${written++}`, 'value'))
          return target.snapshot(asked)
        },
        async commit(commit) {
          await commitChanges(source, put(`new ${written++}`, 'value'))
          return target.commit(commit)
        },
      }
      await copyStore(source, besideWrites)
      expect(written).toBeGreaterThan(4)
      expect(await entriesIn(target)).toEqual(before)
      await Promise.all([source.close(), target.close()])
    },
  )

  it('that was stopped goes on where it was, with what changed in the source meanwhile', async () => {
    const [source, target] = [await filled(temporaryLmdb), await temporaryPostgres.open()]
    const interrupted = new AbortController()
    const onProgress = (_step: string, done: number): void => {
      if (done > 3_000) interrupted.abort()
    }
    await expect(copyStore(source, target, { signal: interrupted.signal, onProgress })).rejects.toThrow('abort')
    await expect(FederatedDatabase.open({ alias: 'half', store: target })).rejects.toThrow('is not finished')
    const half = (await entriesIn(target)).length
    expect(half).toBeGreaterThan(1_000)
    expect(half).toBeLessThan(entries)
    const [first = ''] = (await entriesIn(target)).slice(2)
    await commitChanges(source, put('aa', 'new'), remove(first.split('=')[0]!), put('b', 'new'))
    const copied: number[] = []
    const report = await copyStore(source, target, { onProgress: (_step, done) => copied.push(done) })
    expect(report.isResumed).toBe(true)
    expect(copied[0]).toBeLessThan(1_001)
    await expectCopied(source, target)
    await Promise.all([source.close(), target.close()])
  })

  it('is refused into a store that holds something, and from one that holds nothing', async () => {
    const [full, empty] = [await filled({ open: openMemoryStore }), await openMemoryStore()]
    await expect(copyStore(full, full)).rejects.toThrow('is not empty')
    await expect(copyStore(empty, full)).rejects.toThrow('holds nothing')
    expect(await entriesIn(empty)).toEqual([])
  })

  it('leaves behind what belongs to the processes that serve the source', async () => {
    const [source, target] = [await openMemoryStore(), await openMemoryStore()]
    const fd = await FederatedDatabase.open({ alias: 'source', store: source })
    const entry = (kind: keyof typeof storePart): Change => ({
      kind: 'put',
      key: soleKey(kind),
      value: Buffer.from('{}'),
    })
    const heartbeat: Change = { kind: 'put', key: heartbeatKey(7), value: Buffer.from('{"beat":1,"pid":1}') }
    await source.commit({ changes: [entry('upgradePosition'), heartbeat], preconditions: [] })
    const { entries: copied } = await copyStore(source, target)
    expect(copied).toBe((await source.stats()).entries - 2)
    const found = await target.snapshot()
    const { values } = await found.read([soleKey('upgradePosition'), heartbeatKey(7), soleKey('unfinishedCopy')])
    expect(values).toEqual([undefined, undefined, undefined])
    expect((await found.read([soleKey('session')])).values[0]).toBeDefined()
    found.release()
    await Promise.all([fd.close(), target.close()])
  })

  it('of a copy that is not finished is refused', async () => {
    const [half, target] = [await openMemoryStore(), await openMemoryStore()]
    const unfinished: Change = { kind: 'put', key: soleKey('unfinishedCopy'), value: Buffer.from('a') }
    await half.commit({ changes: [unfinished], preconditions: [] })
    await expect(copyStore(half, target)).rejects.toThrow('is not finished')
    expect(await entriesIn(target)).toEqual([])
    await Promise.all([half.close(), target.close()])
  })

  it('that is unfinished is resumed from its own source only', async () => {
    const [one, other] = [await filled(temporaryLmdb), await filled(temporaryLmdb)]
    const target = await openMemoryStore()
    await expect(copyStore(one, target, { onProgress: stop })).rejects.toThrow('stopped')
    const before = await entriesIn(target)
    const refusal = `holds an unfinished copy of ${one.capabilities.location}; start that copy again`
    await expect(copyStore(other, target)).rejects.toThrow(refusal)
    expect(await entriesIn(target)).toEqual(before)
    expect((await copyStore(one, target)).isResumed).toBe(true)
    await Promise.all([one.close(), other.close(), target.close()])
  })

  it('that an earlier build has begun is resumed', async () => {
    const [source, target] = [await filled({ open: openMemoryStore }), await openMemoryStore()]
    const [version, mark] = [soleKey('formatVersion'), soleKey('unfinishedCopy')]
    await target.commit({
      changes: [
        { kind: 'put', key: version, value: Buffer.of(0, 0, 0, 1) },
        { kind: 'put', key: mark, value: version },
      ],
      preconditions: [],
    })
    expect((await copyStore(source, target)).isResumed).toBe(true)
    await expectCopied(source, target)
    await Promise.all([source.close(), target.close()])
  })

  it.each([
    ['in the middle', (changes: readonly Change[]) => changes.length > 1_000],
    ['before it counts as done', ([first]: readonly Change[]) => first?.kind === 'delete'],
  ])('stops when another one goes on with the target %s', async (_when, isTheMoment) => {
    const [source, target] = [await filled({ open: openMemoryStore }), await openMemoryStore()]
    let others = 0
    const overtaken: Store = {
      ...target,
      async commit(commit) {
        if (isTheMoment([...commit.changes]) && others++ === 0) {
          await expect(copyStore(source, target, { onProgress: stop })).rejects.toThrow('stopped')
        }
        return target.commit(commit)
      },
    }
    await expect(copyStore(source, overtaken)).rejects.toThrow('Another copy')
    expect(others).toBe(1)
    await expect(FederatedDatabase.open({ alias: 'half', store: target })).rejects.toThrow('is not finished')
    await copyStore(source, target)
    await expectCopied(source, target)
    await Promise.all([source.close(), target.close()])
  })

  it('of a federated database has the same objects, OIDs and indexes, and creates others', async () => {
    const source = await temporaryLmdb.open()
    const fd = await FederatedDatabase.open({ alias: 'source', store: source })
    const attributes = [{ attributeName: 'name', logicalType: 'string' }]
    await fd.defineClasses([{ className: 'Part', isReferenceable: true, attributes }], 'create')
    const keyAttributes = [{ attributeName: 'name' }]
    await fd.createIndex({ name: 'byName', indexedClass: 'Part', isUnique: true, keyAttributes })
    const oids: string[] = []
    for (let nth = 0; nth < 50; nth++) oids.push(await fd.createObject('Part', { name: `part ${nth}` }))
    const target = await temporaryPostgres.open()
    await copyStore(source, target)
    const copy = await FederatedDatabase.open({ alias: 'copy', store: target })
    for (const oid of oids) expect(await copy.readObject(oid)).toEqual(await fd.readObject(oid))
    await expect(copy.createObject('Part', { name: 'part 7' })).rejects.toMatchObject({ type: 'UniqueViolation' })
    expect(oids).not.toContain(await copy.createObject('Part', { name: 'other' }))
    expect((await copy.verify()).problems).toEqual([])
    await Promise.all([fd.close(), copy.close()])
  })
})

describe('a backup of a store without files of its own', () => {
  it('cannot be opened when it was stopped in between', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'ashlar-backup.'))
    const source = await openMemoryStore()
    const fd = await FederatedDatabase.open({ alias: 'source', store: source })
    const snapshot = await source.snapshot()
    const stopped = {
      view: snapshot.view.bind(snapshot),
      async *scan(...asked: Parameters<typeof snapshot.scan>) {
        yield* snapshot.scan(...asked)
        throw new Error('killed')
      },
    }
    const half = { ...snapshot, ...stopped } as Snapshot
    await expect(copyToLmdb(half, 'memory', directory)).rejects.toThrow('killed')
    await expect(openLmdbStore(directory)).rejects.toThrow('a backup into it is not finished; delete that directory')
    snapshot.release()
    await fd.close()
    await rm(directory, { recursive: true })
  })

  it('leaves behind what belongs to the processes that serve the source, and is not made of half a copy', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'ashlar-backup.'))
    const source = await openMemoryStore()
    await commitChanges(source, put('\0\0', '\0\0\0\x01'), put('\0\x02', 'here'), put('k', 'v'))
    await withBackup(source).backup(join(directory, 'whole'))
    const copy = await openLmdbStore(join(directory, 'whole'))
    expect(await entriesIn(copy)).toEqual(['\0\0=\0\0\0\x01', 'k=v'])
    await copy.close()
    await commitChanges(source, put('\0\x04', 'k'))
    await expect(withBackup(source).backup(join(directory, 'half'))).rejects.toThrow('is not finished')
    await source.close()
    await rm(directory, { recursive: true })
  })
})
