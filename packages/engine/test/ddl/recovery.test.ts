/** What one process has begun and another finds: left alone while the first lives, taken over when it is gone. */
import { expect, it } from 'vitest'
import { catalogVersionKey, keySpace } from '../../src/bytes/key-space.ts'
import { heartbeatKey } from '../../src/ddl/heartbeat.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Commit, SnapshotOptions, Store } from '../../src/store/store.ts'
import { classOf, index, outcome } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

/** A sign is shown far more often than it is looked for: also on a machine with much else to do. */
const limits = { indexBuildBatchObjects: 20, heartbeatIntervalMs: 10 }
const limitsOfOther = { ...limits, heartbeatIntervalMs: 100 }
/** So many signs that the other has looked several times. */
const manySigns = 60
const objects = 100
const narrower = {
  attributesToChange: [{ attributeName: 'year', logicalType: 'integer', storage: 'b16', encoding: 'signed' }],
}
/** Until the next look: what is waited for happens by timers, which need the core. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2))

/** A process's view of the store: its commits of index entries, or all of them, can be held up. */
class HeldUp implements Store {
  readonly capabilities: Store['capabilities']
  held: 'nothing' | 'entries' | 'everything' = 'entries'
  /** Since this was last set to false: by then, what the entries are for has been announced. */
  isHoldingEntries = false
  private readonly store: Store

  constructor(store: Store) {
    this.store = store
    this.capabilities = store.capabilities
  }

  commit = async (commit: Commit) => {
    while (this.held === 'everything' || (this.held === 'entries' && hasEntries(commit))) {
      this.isHoldingEntries ||= hasEntries(commit)
      await pause()
    }
    return this.store.commit(commit)
  }

  snapshot = (options?: SnapshotOptions) => this.store.snapshot(options)
  stats = () => this.store.stats()
  close = async () => {}
}

function hasEntries({ changes }: Commit): boolean {
  return [...changes].some(({ key }) => key[0] === keySpace.index)
}

interface Begun {
  readonly store: Store
  readonly first: HeldUp
  readonly firstFd: FederatedDatabase
  readonly second: FederatedDatabase
  /** How the first fares with what it has begun. */
  readonly work: Promise<string>
}

/** The first begins to build an index, which takes it some time; then the second comes, and at the end all is well. */
async function withTwo(
  begin: (fd: FederatedDatabase, first: HeldUp) => Promise<string>,
  use: (begun: Begun) => Promise<void>,
): Promise<void> {
  const store = await openStoreOfRun()
  const first = new HeldUp(store)
  const firstFd = await FederatedDatabase.open({ alias: 'first', store: first, limits })
  await firstFd.defineClasses([classOf('Car', { license: 'string', year: 'integer' })], 'create')
  const requests = Array.from({ length: objects }, (_, i) => {
    return { class: 'Car', attributes: { license: `L${i}`, year: i } }
  })
  await firstFd.createObjects(requests)
  const work = begin(firstFd, first)
  const second = await FederatedDatabase.open({ alias: 'second', store, limits: limitsOfOther })
  await until(async () => first.isHoldingEntries)
  await use({ store, first, firstFd, second, work })
  expect((await second.verify()).problems).toEqual([])
  first.held = 'nothing'
  await work
  await firstFd.close()
  await second.close()
}

async function signsShown(store: Store, count: number): Promise<void> {
  let last = ''
  for (let seen = 0; seen < count; ) {
    const snapshot = await store.snapshot()
    const [sign] = (await snapshot.read([heartbeatKey(1)])).values
    snapshot.release()
    const now = Buffer.from(sign ?? []).toString()
    if (now !== last) seen++
    last = now
    await pause()
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause()
}

const stateOf = async (fd: FederatedDatabase, name: string): Promise<string | undefined> => {
  return (await fd.listIndexes()).find((one) => one.name === name)?.state
}

it('a living process keeps the index that it builds for a client, however long it takes', async () => {
  await withTwo(
    (fd) => outcome(fd.createIndex(index('byYear', 'Car', false, 'year'))),
    async ({ store, first, second, work }) => {
      await signsShown(store, manySigns)
      expect(await stateOf(second, 'byYear')).toBe('building')
      first.held = 'nothing'
      expect(await work).toBe('ok')
      expect(await second.readIndex('byYear')).toMatchObject({ state: 'ready', entryCount: objects })
    },
  )
})

it('a living process keeps the change of a type that it prepares', async () => {
  await withTwo(
    async (fd, first) => {
      first.held = 'nothing'
      await fd.createIndex(index('byYear', 'Car', false, 'year'))
      first.held = 'entries'
      return outcome(fd.alterClass('Car', narrower))
    },
    async ({ store, first, second, work }) => {
      await signsShown(store, manySigns)
      first.held = 'nothing'
      expect(await work).toBe('ok')
      expect(await outcome(second.createObject('Car', { year: 40_000 }))).toBe('ValueNotAllowed')
    },
  )
})

it('constraints that a process which is gone was about to add are dropped, by whoever is there', async () => {
  await withTwo(
    async (fd, first) => {
      first.held = 'nothing'
      await fd.createIndex(index('byYear', 'Car', false, 'year'))
      first.held = 'entries'
      const shorter = { attributesToConstrain: [{ attributeName: 'license', maxLength: 9 }] }
      return outcome(fd.alterClass('Car', { ...narrower, ...shorter }))
    },
    async ({ first, second }) => {
      expect(await outcome(second.createObject('Car', { license: '0123456789' }))).toBe('ConstraintViolation')
      first.held = 'everything'
      await until(async () => (await outcome(second.createObject('Car', { license: '0123456789' }))) === 'ok')
    },
  )
})

it('a check that a process which is gone was about to add is dropped, by whoever is there', async () => {
  await withTwo(
    async (fd, first) => {
      first.held = 'nothing'
      await fd.createIndex(index('byYear', 'Car', false, 'year'))
      first.held = 'entries'
      const limit = { attributesToConstrain: [{ attributeName: 'year', isUnique: true }] }
      const checks = [{ name: 'short', expression: 'LENGTH(license) < 9' }]
      return outcome(fd.alterClass('Car', { ...limit, classFields: { checks } }))
    },
    async ({ first, second }) => {
      const long = { license: '0123456789', year: objects }
      expect(await outcome(second.createObject('Car', long))).toBe('ConstraintViolation')
      first.held = 'everything'
      await until(async () => (await outcome(second.createObject('Car', long))) === 'ok')
    },
  )
})

it('what a process that is gone was building for a client is dropped, by whoever is there', async () => {
  await withTwo(
    (fd) => outcome(fd.createIndex(index('byYear', 'Car', true, 'year'))),
    async ({ first, second }) => {
      first.held = 'everything'
      await until(async () => (await stateOf(second, 'byYear')) === undefined)
      expect(await outcome(second.createIndex(index('byYear', 'Car', true, 'year')))).toBe('ok')
    },
  )
})

it('a process starts also while it cannot take over what another has left, and does so later', async () => {
  const store = await openStoreOfRun()
  const first = new HeldUp(store)
  const firstFd = await FederatedDatabase.open({ alias: 'first', store: first, limits })
  await firstFd.defineClasses([classOf('Car', { license: 'string', year: 'integer' })], 'create')
  await firstFd.createObject('Car', { license: 'L', year: 1 })
  const work = outcome(firstFd.createIndex(index('byYear', 'Car', true, 'year')))
  await until(async () => first.isHoldingEntries)
  first.held = 'everything'
  await store.commit({ changes: [{ kind: 'delete', key: heartbeatKey(1) }], preconditions: [] })
  let refused = 0
  let isAway = true
  const other = new HeldUp(store)
  const commit = other.commit.bind(other)
  other.held = 'nothing'
  other.commit = async (one) => {
    if (!isAway || ![...one.changes].some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0)) return commit(one)
    refused++
    throw new AshlarError('StoreUnavailable', 'A node is away.')
  }
  const second = await FederatedDatabase.open({ alias: 'second', store: other, limits: limitsOfOther })
  // On a busy machine it may not have tried yet.
  await until(async () => refused > 0)
  isAway = false
  await until(async () => (await stateOf(second, 'byYear')) === undefined)
  first.held = 'nothing'
  await work
  expect((await second.verify()).problems).toEqual([])
  await firstFd.close()
  await second.close()
  await store.close()
})

it('a build in the background goes on elsewhere when its process is gone', async () => {
  await withTwo(
    (fd) => outcome(fd.createIndex(index('byYear', 'Car', true, 'year'), { isBackground: true })),
    async ({ first, second }) => {
      first.held = 'everything'
      await until(async () => (await stateOf(second, 'byYear')) === 'ready')
      expect(await second.readIndex('byYear')).toMatchObject({ state: 'ready', entryCount: objects })
    },
  )
})

it('the index of a new unique attribute is built elsewhere when its process is gone, and unique all the while', async () => {
  const nr = { attributeName: 'nr', logicalType: 'integer', isUnique: true }
  await withTwo(
    (fd) => outcome(fd.alterClass('Car', { attributesToAdd: [nr] })),
    async ({ first, second }) => {
      expect(await stateOf(second, 'Car.nr')).toBe('building')
      const oid = await second.createObject('Car', { nr: 1 })
      expect(await outcome(second.createObject('Car', { nr: 1 }))).toBe('UniqueViolation')
      expect(
        await outcome(second.alterClass('Car', { attributesToRename: [{ originalName: 'nr', newName: 'no' }] })),
      ).toBe('ok')
      first.held = 'everything'
      await until(async () => (await stateOf(second, 'Car.no')) === 'ready')
      expect(await second.readIndex('Car.no')).toMatchObject({ entryCount: objects + 1 })
      await second.deleteObject(oid)
      expect(await outcome(second.createObject('Car', { no: 1 }))).toBe('ok')
    },
  )
})

it('what a process that is gone was about to make unique is not, and has no index', async () => {
  await withTwo(
    (fd) => outcome(fd.alterClass('Car', { attributesToConstrain: [{ attributeName: 'year', isUnique: true }] })),
    async ({ first, second }) => {
      expect(await outcome(second.createObject('Car', { year: objects }))).toBe('ok')
      expect(await outcome(second.createObject('Car', { year: objects }))).toBe('UniqueViolation')
      expect((await second.readClass('Car')).attributes[1]).not.toHaveProperty('isUnique')
      first.held = 'everything'
      await until(async () => (await stateOf(second, 'Car.year')) === undefined)
      expect(await outcome(second.createObject('Car', { year: objects }))).toBe('ok')
    },
  )
})

it('a process that was taken for gone, and comes back, is told so, and leaves nothing behind', async () => {
  await withTwo(
    (fd) => outcome(fd.createIndex(index('byYear', 'Car', true, 'year'))),
    async ({ first, firstFd, second, work }) => {
      first.held = 'everything'
      await until(async () => (await stateOf(second, 'byYear')) === undefined)
      first.held = 'nothing'
      expect(await work).toBe('IndexNotFound')
      await firstFd.createIndex(index('byYear', 'Car', false, 'year'))

      first.held = 'entries'
      first.isHoldingEntries = false
      const change = outcome(firstFd.alterClass('Car', narrower))
      await until(async () => first.isHoldingEntries)
      expect(await outcome(second.createObject('Car', { year: 40_000 }))).toBe('ValueNotAllowed')
      first.held = 'everything'
      await until(async () => (await outcome(second.createObject('Car', { year: 40_000 }))) === 'ok')
      first.held = 'nothing'
      expect(await change).toBe('AttributeInUse')
      expect(await outcome(firstFd.createObject('Car', { year: 40_000 }))).toBe('ok')
    },
  )
})

it('a process that comes back neither undoes nor completes the change that another has begun since', async () => {
  const limit = { attributesToConstrain: [{ attributeName: 'license', maxLength: 9 }] }
  const checks = [{ name: 'short', expression: 'LENGTH(license) < 9' }]
  const change = { ...narrower, ...limit, classFields: { checks } }
  await withTwo(
    async (fd, first) => {
      first.held = 'nothing'
      await fd.createIndex(index('byYear', 'Car', false, 'year'))
      first.held = 'entries'
      return outcome(fd.alterClass('Car', { ...narrower, ...limit }))
    },
    async ({ store, first, second, work }) => {
      first.held = 'everything'
      await until(async () => (await outcome(second.previewAlteration('Car', narrower))) === 'ok')
      const view = new HeldUp(store)
      const third = await FederatedDatabase.open({ alias: 'third', store: view, limits })
      const again = outcome(third.alterClass('Car', { ...narrower, ...limit }))
      await until(async () => view.isHoldingEntries)
      first.held = 'nothing'
      expect(await work).toBe('AttributeInUse')
      expect(await outcome(second.createObject('Car', { year: 40_000 }))).toBe('ValueNotAllowed')
      expect(await outcome(second.createObject('Car', { license: '0123456789' }))).toBe('ConstraintViolation')
      view.held = 'nothing'
      expect(await again).toBe('ok')
      expect(await second.readIndex('byYear')).toMatchObject({ state: 'ready', entryCount: objects })
      expect(await outcome(second.alterClass('Car', change))).toBe('ok')
      await third.close()
    },
  )
})
