/** What others do while a reference is given an inverse, and what is left where the process that does it is gone. */
import { describe, expect, it } from 'vitest'
import { catalogVersionKey, keySpace } from '../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Commit, SnapshotOptions, Store } from '../../src/store/store.ts'
import { classOf, outcome, read, toMany, toOne } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const setOf = (referencedClass: string, inverseAttribute: string): object => ({
  logicalType: 'set',
  elementSpecification: toOne(referencedClass, inverseAttribute),
})
const plain = [classOf('V.A', { n: 'integer' }), classOf('V.B', { a: toOne('V.A'), n: 'integer' })]
const inverses = { list: toMany('V.B', 'a'), set: setOf('V.B', 'a'), single: toOne('V.B', 'a') }
const addition = (inverse: object): object[] => [
  classOf('V.A', { bs: inverse }),
  classOf('V.B', { a: toOne('V.A', 'bs') }),
]
const none = '0-0-0-0'
/** The store in memory waits for nothing, and so would keep all others from their turns. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

type Hold = (commit: Commit) => boolean
const isOfLinks: Hold = ({ changes }) => [...changes].some(({ key }) => key[0] === keySpace.link)
const isOfCatalog: Hold = ({ changes }) => [...changes].some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0)

const never = new Promise<never>(() => {})

/** A process's view of the store. */
class Watched implements Store {
  readonly capabilities: Store['capabilities']
  /** Its process does nothing any more. */
  isGone = false
  private readonly store: Store
  private readonly around: (commit: Commit, carryOut: () => ReturnType<Store['commit']>) => ReturnType<Store['commit']>

  constructor(store: Store, around: Watched['around']) {
    this.store = store
    this.capabilities = store.capabilities
    this.around = around
  }

  commit = (commit: Commit) => this.around(commit, () => this.store.commit(commit))
  snapshot = (options?: SnapshotOptions) => (this.isGone ? never : this.store.snapshot(options))
  stats = () => this.store.stats()
  close = async () => {}
}

function wait(): { promise: Promise<void>; end: () => void } {
  let end = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    end = resolve
  })
  return { promise, end }
}

/** Holds up the `nth` commit of a kind. */
function held(store: Store, isHeld: Hold, nth = 1): { store: Store; reached: Promise<void>; release: () => void } {
  const { promise: open, end: release } = wait()
  const { promise: reached, end: tellReached } = wait()
  let seen = 0
  const watched = new Watched(store, async (commit, carryOut) => {
    if (isHeld(commit) && ++seen === nth) {
      tellReached()
      await open
    }
    return carryOut()
  })
  return { store: watched, reached, release }
}

async function isThere(fd: FederatedDatabase, oid: string): Promise<boolean> {
  return (await outcome((async () => fd.readObject(oid))())) === 'ok'
}

/** Both sides of all links agree, for whoever reads them. */
async function expectPaired(
  fd: FederatedDatabase,
  targets: readonly string[],
  sources: readonly string[],
): Promise<void> {
  const found = new Map<string, string[]>()
  for (const oid of sources) {
    if (!(await isThere(fd, oid))) continue
    const { a } = await read(fd, oid)
    if (a !== none) found.set(a as string, [...(found.get(a as string) ?? []), oid])
  }
  const there = new Set<string>()
  for (const oid of targets) {
    if (!(await isThere(fd, oid))) continue
    there.add(oid)
    const { bs } = await read(fd, oid)
    const held = Array.isArray(bs) ? bs : bs === none ? [] : [bs]
    expect([...held].sort()).toEqual((found.get(oid) ?? []).sort())
  }
  for (const oid of found.keys()) expect(there).toContain(oid)
  expect((await fd.verify()).problems).toEqual([])
}

async function isPaired(fd: FederatedDatabase): Promise<boolean> {
  const [a, b] = [await fd.readClass('V.A'), await fd.readClass('V.B')]
  const hasInverse = a.attributes.some(({ attributeName }) => attributeName === 'bs')
  expect(b.attributes.some(({ inverseAttribute }) => inverseAttribute === 'bs')).toBe(hasInverse)
  return hasInverse
}

async function filled(fd: FederatedDatabase, perTarget = 4): Promise<{ targets: string[]; sources: string[] }> {
  await fd.defineClasses(plain, 'create')
  const targets = await fd.createObjects([0, 1, 2].map((n) => ({ class: 'V.A', attributes: { n } })))
  const sources = await fd.createObjects(
    targets.flatMap((a, i) =>
      Array.from({ length: perTarget }, (_, n) => ({ class: 'V.B', attributes: { a, n: i * 10 + n } })),
    ),
  )
  return { targets, sources }
}

describe('while the links are built', () => {
  it.each(['published', 'half', 'built'] as const)(
    'readers know nothing of it, and writers keep both sides: %s',
    async (at) => {
      const store = await openStoreOfRun()
      const fd = await FederatedDatabase.open({ alias: 'writer', store })
      const { targets, sources } = await filled(fd)
      const [x, y, z] = targets as [string, string, string]
      const gate = at === 'built' ? held(store, isOfCatalog, 2) : held(store, isOfLinks, at === 'half' ? 3 : 1)
      const changer = await FederatedDatabase.open({
        alias: 'changer',
        store: gate.store,
        limits: { indexBuildBatchObjects: 2 },
      })
      const work = outcome(changer.defineClasses(addition(inverses.list), 'createOrExtend'))
      await gate.reached
      expect(await isPaired(fd)).toBe(false)
      expect(Object.keys(await read(fd, x))).not.toContain('bs')
      expect(Object.keys(await read(changer, x))).not.toContain('bs')
      expect(await outcome(fd.createObject('V.A', { bs: [] }))).toBe('UnknownAttribute')
      const created = await fd.createObject('V.B', { a: x })
      await fd.updateObject(sources[0] as string, { a: y })
      await fd.updateObject(sources[1] as string, { a: none })
      await fd.updateObject(sources[2] as string, { n: 99 })
      await fd.deleteObject(sources[3] as string)
      await fd.deleteObject(z)
      await fd.updateObject(sources[10] as string, { a: y })
      const { chunks } = await fd.query({ text: `UPDATE V.B WHERE n = 10 SET a TO ${x}; CREATE V.A {n: 5}` })
      for await (const _ of chunks) {
        // Only what it changes is of interest.
      }
      expect((await fd.verify()).problems).toEqual([])
      // Others change the schema meanwhile, but for what is being built.
      await fd.defineClasses(
        [classOf('V.A', { more: 'string' }), classOf('V.C', {}, { superClass: 'V.B' })],
        'createOrExtend',
      )
      const late = await fd.createObject('V.C', { a: y })
      expect(await outcome(fd.defineClasses([classOf('V.A', { bs: 'string' })], 'createOrExtend'))).toBe(
        'AttributeInUse',
      )
      expect(await outcome(fd.defineClasses(addition(inverses.list), 'createOrExtend'))).toBe('AttributeInUse')
      expect(await outcome(fd.alterClass('V.B', { attributesToDelete: ['a'] }))).toBe('AttributeInUse')
      expect(await outcome(fd.deleteClass('V.B'))).toMatch(/InUse$/)
      gate.release()
      expect(await work).toBe('ok')
      expect(await isPaired(fd)).toBe(true)
      await expectPaired(fd, targets, [...sources, created, late])
      expect((await read(fd, sources[9] as string)).a).toBe(none)
      await changer.close()
      await fd.close()
    },
  )

  it.each(Object.entries(inverses))(
    'writers in any order leave a %s that agrees with the references',
    async (kind, inverse) => {
      const rounds = Math.max(2, Math.round(8 * Number(process.env.ASHLAR_RUNS ?? 1)))
      for (let round = 0; round < rounds; round++) {
        const store = await openStoreOfRun()
        const limits = { indexBuildBatchObjects: 1 + (round % 4) }
        const fd = await FederatedDatabase.open({ alias: 'writer', store, limits })
        const other = await FederatedDatabase.open({ alias: 'changer', store, limits })
        const { targets, sources } = await filled(fd, kind === 'single' ? 1 : 6)
        let seed = 7919 * (round + 1)
        const random = (below: number): number => {
          seed = (seed * 48271) % 2147483647
          return seed % below
        }
        const anyOf = (oids: readonly string[]): string => oids[random(oids.length)] as string
        const steps: (() => Promise<unknown>)[] = [
          async () => sources.push(await fd.createObject('V.B', { a: anyOf(targets) })),
          () => fd.updateObject(anyOf(sources), { a: anyOf(targets) }),
          () => fd.updateObject(anyOf(sources), { a: none }),
          () => fd.updateObject(anyOf(sources), { n: random(9) }),
          () => fd.deleteObject(anyOf(sources)),
          async () => targets.push(await fd.createObject('V.A', { n: random(9) })),
        ]
        // Writers that may have left references to nothing, or several to one object, by the time that the change begins.
        const isLossAllowed = kind === 'single' || round % 2 === 0
        if (isLossAllowed) steps.push(() => fd.deleteObject(anyOf(targets)))
        let isOver = false
        const writer = async (): Promise<void> => {
          while (!isOver) {
            const done = await outcome((steps[random(steps.length)] as () => Promise<unknown>)())
            expect(['ok', 'ObjectNotFound', 'InvalidReference']).toContain(done)
            await turn()
          }
        }
        const writers = [writer(), writer(), writer()]
        expect(await outcome(other.defineClasses(addition(inverse), 'createOrExtend', { isLossAllowed }))).toBe('ok')
        isOver = true
        await Promise.all(writers)
        await expectPaired(fd, targets, sources)
        await other.close()
        await fd.close()
      }
    },
  )
})

describe('where the process is gone', () => {
  const limits = { indexBuildBatchObjects: 3, heartbeatIntervalMs: 20 }

  /** The process is gone at its `last` commit, which is made or not; true if it had come to its end before. */
  async function goneAt(last: number, isMade: boolean, inverse: object): Promise<boolean> {
    const store = await openStoreOfRun()
    const writer = await FederatedDatabase.open({ alias: 'writer', store })
    const { targets, sources } = await filled(writer, inverse === inverses.single ? 1 : 2)
    let commits = 0
    let isBegun = false
    const gone: Watched = new Watched(store, async (_commit, carryOut) => {
      if (!isBegun || ++commits < last) return carryOut()
      gone.isGone = true
      if (commits === last && isMade) await carryOut()
      return never
    })
    const first = await FederatedDatabase.open({ alias: 'gone', store: gone, limits })
    isBegun = true
    const done = first.defineClasses(addition(inverse), 'createOrExtend').then(() => true)
    while (
      commits < last &&
      (await Promise.race([done, new Promise<false>((go) => setTimeout(() => go(false), 1))])) === false
    ) {
      // Until the one or the other.
    }
    const isDone = commits < last
    gone.isGone = true
    const second = await FederatedDatabase.open({ alias: 'second', store, limits })
    // Until it has been taken for dead, and what it has begun is undone.
    for (let polls = 0; polls < 400 && !(await isSettled(store)); polls++) await new Promise((go) => setTimeout(go, 5))
    expect(await isSettled(store)).toBe(true)
    if (await isPaired(second)) await expectPaired(second, targets, sources)
    else {
      for (const [i, oid] of sources.entries()) {
        expect((await read(second, oid)).a).toBe(targets[Math.floor((i * targets.length) / sources.length)])
      }
      expect((await second.verify()).problems).toEqual([])
    }
    // It can be done, or undone, from there.
    if (!(await isPaired(second))) await second.defineClasses(addition(inverse), 'createOrExtend')
    await expectPaired(second, targets, sources)
    await second.close()
    await writer.close()
    return isDone
  }

  async function isSettled(store: Store): Promise<boolean> {
    const snapshot = await store.snapshot()
    try {
      const from = Buffer.from([keySpace.catalog])
      const marks: boolean[] = []
      const look = (_key: Uint8Array, value: Uint8Array): boolean =>
        /"becoming"|"arriving"/.test(Buffer.from(value).toString())
      for await (const batch of snapshot.scan({ from, to: Buffer.from([keySpace.catalog + 1]) }, look))
        marks.push(...batch)
      return !marks.includes(true)
    } finally {
      snapshot.release()
    }
  }

  it.each(Object.entries(inverses))(
    'at any of its commits, there is no %s or a complete one',
    async (_kind, inverse) => {
      let isDone = false
      for (let last = 1; !isDone; last++) {
        isDone = await goneAt(last, true, inverse)
        if (!isDone) await goneAt(last, false, inverse)
        expect(last).toBeLessThan(60)
      }
    },
  )
})
