/** Backups: of each kind of store, full and incremental, restored and compared entry by entry with what the store held at that moment. */
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { listBackups } from '../../src/backup/backup-directory.ts'
import { checkBackups } from '../../src/backup/check-backups.ts'
import { manifestText } from '../../src/backup/manifest.ts'
import { planRestore, restoreBackup } from '../../src/backup/restore-backup.ts'
import { backUpIfDue, dueBackup } from '../../src/backup/scheduled-backup.ts'
import { backUpStore } from '../../src/backup/write-backup.ts'
import { catalogPart } from '../../src/bytes/key-layout.ts'
import { keySpace } from '../../src/bytes/key-space.ts'
import { CatalogCache } from '../../src/catalog/catalog-cache.ts'
import { LogRemoval } from '../../src/changes/log-removal.ts'
import type { ObjectCreation } from '../../src/database-operations.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { defaultEngineLimits } from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { checkFormat } from '../../src/verify/check-store.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { entriesIn } from '../store/bytes.ts'
import type { Driver } from '../store/conformance.ts'
import { temporaryPostgres } from '../store/postgres-stores.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory, temporaryLmdb } from '../store/temporary-stores.ts'

const classes = [
  classOf('Model', { name: 'string', vehicles: toMany('Vehicle', 'model') }),
  classOf('Vehicle', {
    license: 'string',
    mileage: 'integer',
    model: toOne('Model', 'vehicles'),
    drivers: toMany('Driver', 'drives'),
  }),
  classOf('Driver', { name: 'string', drives: toMany('Vehicle', 'drivers') }),
]

const opened = (store: Store): Promise<FederatedDatabase> =>
  FederatedDatabase.open({ alias: 'test', store, changeLog: 'on' })

async function begun(store: Store): Promise<FederatedDatabase> {
  const fd = await opened(store)
  await fd.defineClasses(classes, 'create')
  await fd.createIndex(index('byLicense', 'Vehicle', true, 'license'))
  return fd
}

function vehicles(count: number, model: string): ObjectCreation[] {
  return Array.from({ length: count }, (_, i) => ({
    class: 'Vehicle',
    attributes: { license: `L ${i}`, mileage: i, model },
  }))
}

async function problemsIn(directory: string): Promise<readonly string[]> {
  return (await checkBackups(directory)).problems
}

/** Objects, links and index entries, and the parts of the catalog, as they are stored. */
async function contentOf(store: Store): Promise<string[]> {
  const spaces: readonly (number | undefined)[] = [keySpace.object, keySpace.link, keySpace.index]
  const isOfCatalog = (entry: string): boolean => {
    const [space = 0, part = 0] = Buffer.from(entry.slice(0, 2), 'latin1')
    return space === keySpace.catalog && part >= catalogPart.class && part <= catalogPart.index
  }
  return (await entriesIn(store)).filter((entry) => spaces.includes(entry.charCodeAt(0)) || isOfCatalog(entry))
}

async function expectWhole(store: Store): Promise<FederatedDatabase> {
  const fd = await opened(store)
  expect((await fd.verify()).problems).toEqual([])
  return fd
}

const stores: readonly [string, Pick<Driver, 'open'>][] = [
  ['memory', { open: openMemoryStore }],
  ['lmdb', temporaryLmdb],
  ['postgres', temporaryPostgres],
]

/** From each kind of store to each that outlives its process. */
const pairs = stores.flatMap(([name, driver]) =>
  stores.slice(1).map(([target, to]) => [name, target, driver, to] as const),
)

describe('a backup', () => {
  it.each(pairs)('of %s and one that goes on from it are restored to %s, entry by entry', async (_n, _t, from, to) => {
    const [store, directory] = [await from.open(), await temporaryDirectory()]
    const fd = await begun(store)
    const model = await fd.createObject('Model', { name: 'Tipo' })
    await fd.createObjects(vehicles(300, model))
    await fd.backUp(directory)
    const full = await contentOf(store)
    const driver = await fd.createObject('Driver', { name: 'Ada' })
    await rowValues(
      await fd.query({
        text: 'UPDATE Vehicle WHERE mileage < 20 SET mileage TO mileage + 1000; DELETE Vehicle WHERE mileage > 280 AND mileage < 300',
      }),
    )
    await fd.updateObject(driver, { name: 'Ada L.' })
    await fd.backUp(directory, { isIncremental: true })
    const [first] = (await listBackups(directory)).all
    for (const [path, held] of [
      [join(directory, `${first?.name}.json`), full],
      [directory, await contentOf(store)],
    ] as const) {
      const target = await to.open()
      await restoreBackup(path, target)
      expect(await contentOf(target)).toEqual(held)
      await (await expectWhole(target)).close()
    }
    await fd.close()
  })

  it.each(stores)('of %s is restored with all that it held', async (_name, driver) => {
    const [store, directory] = [await driver.open(), await temporaryDirectory()]
    const fd = await begun(store)
    const model = await fd.createObject('Model', { name: 'Tipo' })
    await fd.createObjects(vehicles(2_500, model))
    const { backup } = await fd.backUp(directory)
    const held = await contentOf(store)
    expect(backup.counts).toEqual({ objects: 2_501, links: 2_500, indexEntries: 2_500 })
    await fd.createObject('Model', { name: 'later' })
    const target = await temporaryLmdb.open()
    const report = await restoreBackup(directory, target)
    expect(report).toMatchObject({ commits: 0, isResumed: false })
    expect(await contentOf(target)).toEqual(held)
    const restored = await expectWhole(target)
    await restored.createObject('Vehicle', { license: 'new', model })
    expect((await restored.verify()).problems).toEqual([])
    await restored.close()
    await fd.close()
  })

  it.each(stores)('of %s is of one moment, whatever is written meanwhile', async (_name, driver) => {
    const [store, directory] = [await driver.open(), await temporaryDirectory()]
    const fd = await opened(store)
    await fd.defineClasses([classOf('Account', { balance: 'integer' })], 'create')
    const accounts = await Promise.all(Array.from({ length: 200 }, () => fd.createObject('Account', { balance: 100 })))
    let isStopped = false
    const text =
      'UPDATE Account WHERE $$ID = $from SET balance TO balance - 1; UPDATE Account WHERE $$ID = $to SET balance TO balance + 1'
    const transfer = async (seed: number): Promise<void> => {
      for (let nth = seed; !isStopped; nth += 7) {
        const [from, to] = [accounts[nth % 200], accounts[(nth * 31 + 1) % 200]]
        if (from !== to) await rowValues(await fd.query({ text, parameters: { from, to } }))
        await new Promise(setImmediate)
      }
    }
    const writers = [1, 2, 3].map(transfer)
    for (let nth = 0; nth < 5; nth++) await fd.backUp(directory, { isIncremental: nth > 0 })
    isStopped = true
    await Promise.all(writers)
    for (const { name } of (await listBackups(directory)).all) {
      const target = await openMemoryStore()
      await restoreBackup(join(directory, `${name}.json`), target)
      const restored = await expectWhole(target)
      expect(await sumOf(restored)).toEqual([{ total: 20_000 }])
      await restored.close()
    }
    await fd.close()
  })
})

async function sumOf(fd: FederatedDatabase): Promise<unknown> {
  return rowValues(await fd.query({ text: 'FROM Account RETURN SUM(balance) AS total' }))
}

describe('incremental backups', () => {
  it.each([
    ['of the run', { open: openStoreOfRun }],
    ['of LMDB, whose log has several commits in an entry,', temporaryLmdb],
  ] as const)('%s are restored to each of them, and to each position in between', async (_name, kind) => {
    const [directory, moments] = [await temporaryDirectory(), new Map<string, string[]>()]
    const store = await kind.open()
    const fd = await begun(store)
    const positionNow = async (): Promise<string> =>
      (await fd.changes.page({ since: 'now', include: 'keys', limit: 1 })).position
    const remember = async (): Promise<void> => {
      await fd.verify()
      moments.set(await positionNow(), await contentOf(store))
    }
    const model = await fd.createObject('Model', { name: 'Tipo' })
    const vehicles: string[] = []
    const create = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++)
        vehicles.push(await fd.createObject('Vehicle', { license: `L ${vehicles.length}`, mileage: i, model }))
    }
    await create(20)
    await fd.backUp(directory)
    await create(400)
    const driver = await fd.createObject('Driver', { name: 'Ada', drives: vehicles.slice(0, 5) })
    await remember()
    await fd.updateObject(vehicles[3]!, { license: 'changed', mileage: 7 })
    await fd.deleteObject(vehicles[4]!)
    await fd.deleteObject(vehicles[0]!)
    await remember()
    await fd.backUp(directory, { isIncremental: true })
    await fd.alterClass('Vehicle', {
      attributesToChange: [{ attributeName: 'mileage', logicalType: 'string' }],
    } as never)
    await fd.createIndex(index('byMileage', 'Vehicle', false, 'mileage', 'license'))
    await remember()
    await fd.defineClasses([classOf('Truck', { axles: 'integer' }, { superClass: 'Vehicle' })], 'create')
    await fd.createObject('Truck', { license: 'T', axles: 3, model })
    await fd
      .alterClass('Driver', { attributesToDelete: ['drives'], attributesToRename: [] } as never)
      .catch(() => undefined)
    await fd.deleteIndex('byLicense')
    await remember()
    await fd.backUp(directory, { isIncremental: true })
    await fd.deleteObject(driver)
    await fd.updateObject(vehicles[9]!, { model: null })
    await remember()
    await fd.backUp(directory, { isIncremental: true })
    expect((await listBackups(directory)).all.map(({ kind }) => kind)).toEqual([
      'full',
      'incremental',
      'incremental',
      'incremental',
    ])
    for (const [until, held] of moments) {
      const target = await openMemoryStore()
      const report = await restoreBackup(directory, target, { until })
      expect(report.position).toBe(until)
      expect(await contentOf(target)).toEqual(held)
      const restored = await expectWhole(target)
      const added = await restored.createObject('Vehicle', { license: `new ${until}`, model })
      expect(held.join()).not.toContain(added)
      expect((await restored.verify()).problems).toEqual([])
      await restored.close()
    }
    const target = await openMemoryStore()
    await restoreBackup(directory, target)
    expect(await contentOf(target)).toEqual([...moments.values()].at(-1))
    await fd.close()
  })

  it('go on from one of an earlier storage format, and are restored with it', async () => {
    const [store, directory] = [await openStoreOfRun(), await temporaryDirectory()]
    const fd = await begun(store)
    const { backup } = await fd.backUp(directory)
    await writeFile(join(directory, `${backup.name}.json`), manifestText({ ...backup, storageFormat: 3 }))
    await fd.createObject('Model', { name: 'later' })
    await fd.backUp(directory, { isIncremental: true })
    const target = await temporaryLmdb.open()
    expect(await restoreBackup(directory, target)).toMatchObject({ commits: 1 })
    expect(await contentOf(target)).toEqual(await contentOf(store))
    await (await expectWhole(target)).close()
    await fd.close()
  })

  it('end before the first commit that was made later than a time', async () => {
    const [store, directory] = [await openStoreOfRun(), await temporaryDirectory()]
    const fd = await begun(store)
    await fd.backUp(directory)
    await fd.createObject('Model', { name: 'before' })
    const held = await contentOf(store)
    await new Promise((resolve) => setTimeout(resolve, 20))
    const until = new Date().toISOString()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await fd.createObject('Model', { name: 'after' })
    await fd.backUp(directory, { isIncremental: true })
    const target = await openMemoryStore()
    expect(await restoreBackup(directory, target, { until })).toMatchObject({ commits: 1 })
    expect(await contentOf(target)).toEqual(held)
    const refused = restoreBackup(directory, await openMemoryStore(), { until: '2999-01-01T00:00:00Z' })
    await expect(refused).rejects.toThrow('The backups reach to ')
    const early = restoreBackup(directory, await openMemoryStore(), { until: '1999-01-01T00:00:00Z' })
    await expect(early).rejects.toThrow('after --until')
    await expect(planRestore(directory, 'yesterday')).rejects.toThrow('--until is a time with its time zone')
    await fd.close()
  })

  it('need a full backup and a log that reaches back to it', async () => {
    const [store, directory] = [await openStoreOfRun(), await temporaryDirectory()]
    const fd = await begun(store)
    const incremental = () => fd.backUp(directory, { isIncremental: true })
    await expect(incremental()).rejects.toThrow('holds no full backup to go on from; make one first')
    await fd.backUp(directory)
    for (let i = 0; i < 3; i++) await fd.createObject('Model', { name: `${i}` })
    const limits = { ...defaultEngineLimits, changeLogMs: -60_000 }
    await new LogRemoval(fd.store, new CatalogCache(checkFormat), limits).runRound(Date.now())
    await expect(incremental()).rejects.toThrow('the change log no longer reaches back to the latest backup')
    await fd.backUp(directory)
    await incremental()
    await fd.close()
    const off = await FederatedDatabase.open({ alias: 'test', store: await openMemoryStore(), changeLog: 'off' })
    const other = await temporaryDirectory()
    await off.backUp(other)
    await expect(off.backUp(other, { isIncremental: true })).rejects.toThrow('had no change log')
    await expect(off.backUp(directory, { isIncremental: true })).rejects.toThrow('keeps no change log; turn it on')
    await off.close()
  })
})

describe('a directory of backups', () => {
  it('keeps the latest, and what kept ones need', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    await fd.backUp(directory)
    await fd.backUp(directory, { isIncremental: true })
    expect((await fd.backUp(directory, { isIncremental: true, keepMs: 0 })).removed).toEqual([])
    const { removed } = await fd.backUp(directory, { keepMs: 0 })
    expect(removed.length).toBe(3)
    expect((await listBackups(directory)).all.map(({ kind }) => kind)).toEqual(['full'])
    expect(readdirSync(directory).length).toBe(3)
    await fd.close()
  })

  it('takes one backup at a time, and one that fails leaves nothing', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    const both = await Promise.allSettled([fd.backUp(directory), fd.backUp(directory)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const failed = both.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(String(failed.reason)).toContain('another backup into')
    const before = readdirSync(directory)
    const stopping = new AbortController()
    const stopped = fd.backUp(directory, {
      signal: stopping.signal,
      onProgress: () => stopping.abort(new Error('stop')),
    })
    await expect(stopped).rejects.toThrow('stop')
    expect(readdirSync(directory)).toEqual(before)
    await fd.close()
  })

  it('of damaged files tells which, and where', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    for (let i = 0; i < 50; i++) await fd.createObject('Model', { name: `${i}` })
    const { backup } = await fd.backUp(directory)
    const path = join(directory, `${backup.name}.entries`)
    const whole = readFileSync(path)
    for (let nth = 0; nth < 40; nth++) {
      const damaged = Buffer.from(whole)
      const at = Math.floor((nth * whole.length) / 40)
      damaged[at] = (damaged[at] as number) ^ (1 << (nth % 8))
      writeFileSync(path, damaged)
      expect(await problemsIn(directory)).toEqual([expect.stringContaining(`${path} is damaged: `)])
      const target = await openMemoryStore()
      await expect(restoreBackup(directory, target)).rejects.toThrow(`${path} is damaged: `)
      await expect(opened(target)).rejects.toThrow(
        /A restore of the backup .* is not finished; start that restore again/,
      )
    }
    writeFileSync(path, whole)
    expect(await problemsIn(directory)).toEqual([])
    truncateSync(path, whole.length - 1)
    expect(await problemsIn(directory)).toEqual([expect.stringContaining('and its manifest says')])
    writeFileSync(path, whole)
    const manifest = join(directory, `${backup.name}.json`)
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"objects": 50', '"objects": 51'))
    await expect(planRestore(directory)).rejects.toThrow('is damaged, or was renamed')
    await fd.close()
  })
})

it('with one bit that is another is found, in each of its files', async () => {
  const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
  const oid = await fd.createObject('Model', { name: 'a' })
  await fd.backUp(directory)
  for (const name of ['b', 'c']) await fd.updateObject(oid, { name })
  await fd.backUp(directory, { isIncremental: true })
  const files = readdirSync(directory).filter((name) => name !== 'backup.lock')
  expect(files.map((name) => name.replace(/^.*-/, '')).sort()).toEqual([
    'full.entries',
    'full.json',
    'incremental.entries',
    'incremental.json',
  ])
  const outcome = async (): Promise<string> => (await problemsIn(directory)).join(' ') || 'whole'
  for (const file of files) {
    const path = join(directory, file)
    const whole = readFileSync(path)
    // Of manifests every third bit, or seventh: they are read as text, of which much means nothing. Odd steps reach all bits of a byte.
    const [ofManifest, flips] = Number(process.env.ASHLAR_RUNS ?? 1) < 1 ? [7, 200] : [3, 400]
    const step = file.endsWith('.json') ? ofManifest : Math.ceil((8 * whole.length) / flips)
    for (let bit = 0; bit < 8 * whole.length; bit += step) {
      const damaged = Buffer.from(whole)
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7))
      writeFileSync(path, damaged)
      expect([bit, await outcome()]).toEqual([bit, expect.stringContaining(`${path} is damaged`)])
    }
    writeFileSync(path, whole)
    expect(await outcome()).toBe('whole')
  }
  await fd.close()
})

it('is not restored in place of one whose manifest is damaged, but where it is named', async () => {
  const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
  const { backup: first } = await fd.backUp(directory)
  const { backup: second } = await fd.backUp(directory)
  writeFileSync(join(directory, `${second.name}.json`), '{}')
  const named = join(directory, `${first.name}.json`)
  await expect(planRestore(directory)).rejects.toThrow(`To restore the latest of the others: ${named}`)
  expect((await planRestore(named)).chain).toEqual([first])
  await fd.close()
})

async function lastRevision(store: Store): Promise<Buffer> {
  const snapshot = await store.snapshot()
  try {
    const objects = { from: Buffer.of(keySpace.object), to: Buffer.of(keySpace.object + 1) }
    const { ranges } = await snapshot.read([], [{ ...objects, reverse: true, limit: 1 }])
    return Buffer.from(ranges[0]![0]!.value).subarray(4, 12)
  } finally {
    snapshot.release()
  }
}

describe('backups at intervals', () => {
  it('are made where they are due, by one of those who look', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    const look = (everyMs: number, incrementalEveryMs?: number) =>
      backUpIfDue(fd.store, directory, { everyMs, incrementalEveryMs }, {})
    const kinds = async (): Promise<string[]> => (await listBackups(directory)).all.map(({ kind }) => kind)
    await Promise.all([look(3_600_000, 3_600_000), look(3_600_000, 3_600_000), look(3_600_000, 3_600_000)])
    expect(await kinds()).toEqual(['full'])
    expect(await look(3_600_000, 3_600_000)).toBeUndefined()
    expect((await look(3_600_000, 0))?.backup.kind).toBe('incremental')
    expect((await look(0, 3_600_000))?.backup.kind).toBe('full')
    expect(await kinds()).toEqual(['full', 'incremental', 'incremental', 'full'])
    expect(dueBackup([], { everyMs: 1 }, Date.now())).toBe('full')
    await fd.close()
  })

  it('are removed once they are old, but for those that kept ones go on from, and the last good one', async () => {
    const dayMs = 86_400_000
    const intervals = { everyMs: 3 * dayMs, incrementalEveryMs: dayMs }
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    const look = (store: Store) => backUpIfDue(store, directory, intervals, { keepMs: 7 * dayMs })
    const first = Date.now()
    const days = 24
    const removed: string[] = []
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      for (let day = 0; day < days; day++) {
        vi.setSystemTime(first + day * dayMs)
        await fd.createObject('Model', { name: `${day}` })
        const before = (await listBackups(directory)).all
        const report = await look(fd.store)
        removed.push(...(report?.removed ?? []))
        const { all, damaged } = await listBackups(directory)
        expect(damaged).toEqual([])
        const gone = before.filter(({ id }) => all.every((one) => one.id !== id))
        expect([...(report?.removed ?? [])].sort()).toEqual(gone.map(({ name }) => name).sort())
        const oldest = new Date(Date.now() - 7 * dayMs).toISOString()
        expect(all).toEqual(expect.arrayContaining(before.filter(({ at }) => at >= oldest)))
        // Whole, and no older than what is kept for its age needs.
        const needed = new Set<string>()
        for (const { name, at } of all) {
          const { chain } = await planRestore(join(directory, `${name}.json`))
          if (at >= oldest) for (const { id } of chain) needed.add(id)
        }
        expect(all.filter(({ id }) => !needed.has(id))).toEqual([])
      }
      expect(removed.length).toBeGreaterThan(days / 2)
      expect(new Set(removed).size).toBe(removed.length)
      // All are old by now, and none is removed for one that is not made.
      vi.setSystemTime(first + 100 * dayMs)
      const kept = (await listBackups(directory)).all
      const unreadable = { ...fd.store, snapshot: () => Promise.reject(new Error('cannot be read')) }
      await expect(look(unreadable)).rejects.toThrow('cannot be read')
      expect((await listBackups(directory)).all).toEqual(kept)
      await look(fd.store)
      expect(await problemsIn(directory)).toEqual([])
      const target = await openMemoryStore()
      await restoreBackup(directory, target)
      expect((await contentOf(target)).join()).toBe((await contentOf(fd.store)).join())
    } finally {
      vi.useRealTimers()
    }
    await fd.close()
  })

  it('are full where the change log does not reach back', async () => {
    const directory = await temporaryDirectory()
    const earlier = await opened(await openMemoryStore())
    await earlier.backUp(directory)
    await earlier.close()
    // Logs that begin in another second have another epoch.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const fd = await opened(await openMemoryStore())
    const intervals = { everyMs: 3_600_000, incrementalEveryMs: 0 }
    expect((await backUpIfDue(fd.store, directory, intervals, {}))?.backup.kind).toBe('full')
    await fd.close()
  })
})

describe('a restore', () => {
  it('refuses a store that is not empty, and goes on where it was stopped', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    const model = await fd.createObject('Model', { name: 'Tipo' })
    await fd.createObjects(vehicles(6_000, model))
    await fd.backUp(directory)
    for (let i = 0; i < 10; i++) await fd.createObject('Vehicle', { license: `M ${i}`, model })
    await fd.backUp(directory, { isIncremental: true })
    const held = await contentOf(fd.store)
    await expect(restoreBackup(directory, fd.store)).rejects.toThrow('is not empty')
    const steps = ['restoring', 'replaying', 'indexing'] as const
    const target = await openMemoryStore()
    for (const step of steps) {
      const stopping = new AbortController()
      const { signal } = stopping
      const onProgress = (reached: string): void => {
        if (reached === step) stopping.abort(new Error('stopped'))
      }
      await expect(restoreBackup(directory, target, { signal, onProgress })).rejects.toThrow('stopped')
      await expect(opened(target)).rejects.toThrow('is not finished; start that restore again')
      await expect(backUpStore(target, await temporaryDirectory())).rejects.toThrow('is not finished')
    }
    expect(await restoreBackup(directory, target)).toMatchObject({ isResumed: true, commits: 10 })
    expect(await contentOf(target)).toEqual(held)
    await (await expectWhole(target)).close()
    await fd.close()
  })

  it('goes on after any of its commits, whose reply was lost', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    await fd.createObjects(vehicles(100, await fd.createObject('Model', { name: 'Tipo' })))
    await fd.backUp(directory)
    const held = await contentOf(fd.store)
    let isWhole = false
    for (let lost = 1; !isWhole; lost++) {
      const target = await openMemoryStore()
      const commit = target.commit.bind(target)
      let commits = 0
      target.commit = async (batch) => {
        const done = await commit(batch)
        if (++commits === lost) throw new Error('the connection was lost')
        return done
      }
      isWhole = await restoreBackup(directory, target).then(
        () => true,
        () => false,
      )
      target.commit = commit
      if (!isWhole) await restoreBackup(directory, target).catch(({ message }) => expect(message).toMatch('not empty'))
      expect(await contentOf(target)).toEqual(held)
      await (await expectWhole(target)).close()
    }
    await fd.close()
  })

  it('has followers begin anew, and gives no commit ID again', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    await fd.backUp(directory)
    await fd.createObject('Model', { name: 'later' })
    const { position } = await fd.changes.page({ since: 'now', include: 'keys', limit: 1 })
    const target = await openMemoryStore()
    await restoreBackup(directory, target)
    const restored = await expectWhole(target)
    const since = { since: position, include: 'keys', limit: 1 } as const
    await expect(restored.changes.page(since)).rejects.toMatchObject({ type: 'ChangesGone' })
    await restored.createObject('Model', { name: 'other' })
    const [first, other] = [await lastRevision(fd.store), await lastRevision(target)]
    expect(Buffer.from(other).readUIntBE(0, 3) - Buffer.from(first).readUIntBE(0, 3)).toBeGreaterThan(900)
    await restored.close()
    await fd.close()
  })
})
