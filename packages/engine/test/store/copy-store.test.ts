/** A store is copied into one of another kind: whole, resumed where it was stopped, and never used before it is done. */
import { describe, expect, it } from 'vitest'
import { soleKey, type storePart } from '../../src/bytes/key-layout.ts'
import { signKey } from '../../src/evolution/sign-of-life.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { copyStore } from '../../src/store/copy-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change, Store } from '../../src/store/store.ts'
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
    await expect(copyStore(full, full)).rejects.toThrow('holds something')
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
    const heartbeat: Change = { kind: 'put', key: signKey(7), value: Buffer.from('{"beat":1,"pid":1}') }
    await source.commit({ changes: [entry('upgradePosition'), heartbeat], expectations: [] })
    const { entries: copied } = await copyStore(source, target)
    expect(copied).toBe((await source.stats()).entries - 2)
    const found = await target.snapshot()
    const { values } = await found.read([soleKey('upgradePosition'), signKey(7), soleKey('unfinishedCopy')])
    expect(values).toEqual([undefined, undefined, undefined])
    expect((await found.read([soleKey('session')])).values[0]).toBeDefined()
    found.release()
    await Promise.all([fd.close(), target.close()])
  })

  it('of a copy that is not finished is refused', async () => {
    const [half, target] = [await openMemoryStore(), await openMemoryStore()]
    const unfinished: Change = { kind: 'put', key: soleKey('unfinishedCopy'), value: Buffer.from('a') }
    await half.commit({ changes: [unfinished], expectations: [] })
    await expect(copyStore(half, target)).rejects.toThrow('is not finished')
    expect(await entriesIn(target)).toEqual([])
    await Promise.all([half.close(), target.close()])
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
