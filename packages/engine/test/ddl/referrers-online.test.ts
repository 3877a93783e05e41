/** Attributes that have objects are given rules for deletions online: the entries that tell who refers are built while others write. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { catalogVersionKey, keySpace } from '../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { purgeDroppedIndexes } from '../../src/indexes/purge-entries.ts'
import type { Commit, Store } from '../../src/store/store.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, index, outcome, withFd } from '../engine/open-fd.ts'
import { expected, type Kind, kinds, leftIn, nodeClass, type Rules } from '../objects/deletion-model.ts'
import { rowTexts } from '../row-texts.ts'
import { entriesIn } from '../store/bytes.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

/** Too few for what is done within a transaction. */
const limits = { transactionIndexObjectsMax: 3, indexBuildBatchObjects: 2, heartbeatIntervalMs: 20 }
const kept: Rules = { onTargetDelete: 'keep', onSourceDelete: 'keep' }
const restricted: Rules = { ...kept, onTargetDelete: 'restrict' }
const none = '0-0-0-0'
const unpaired = ['single', 'array', 'tree', 'set', 'map'] as const

function ruleFor(kind: Kind, rules: Rules): object {
  const given = kind === 'single' || kind === 'paired' ? rules : { elementSpecification: rules }
  return { attributesToConstrain: [{ attributeName: 'next', ...given }] }
}

async function indexEntries(store: Store): Promise<number> {
  await purgeDroppedIndexes(store)
  return (await entriesIn(store)).filter((entry) => entry.charCodeAt(0) === keySpace.index).length
}

/** Each refers to the one after it, or the two. */
async function filled(fd: FederatedDatabase, kind: Kind, count = 8): Promise<string[]> {
  const oids = await fd.createObjects(Array.from({ length: count }, (_, n) => ({ class: 'Node', attributes: { n } })))
  for (const [i, oid] of oids.entries()) {
    const targets = [oids[(i + 1) % count], oids[(i + 2) % count]].slice(
      0,
      kind === 'single' || kind === 'paired' ? 1 : 2,
    )
    await fd.updateObject(oid, { next: kinds[kind].value(targets as string[]) })
  }
  return oids
}

/** `before` is done before each commit of those who use the view. */
function watched(store: Store, before: (commit: Commit) => Promise<void>): Store {
  return {
    ...leftOpen(store),
    async commit(commit) {
      await before(commit)
      return store.commit(commit)
    },
  }
}

const isOfCatalog = ({ changes }: Commit): boolean => {
  return [...changes].some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0)
}

const hasEntries = ({ changes }: Commit): boolean => [...changes].some(({ key }) => key[0] === keySpace.index)

async function edgesOf(fd: FederatedDatabase, oids: readonly string[]): Promise<number[][]> {
  const left = await leftIn(fd, oids)
  return oids.map((_, i) => [...(left[i] ?? [])].filter((target) => target >= 0))
}

describe.each(unpaired)('references kept as %s', (kind) => {
  it.each([
    ['restrict', 'keep'],
    ['clear', 'keep'],
    ['delete', 'keep'],
    ['keep', 'deleteUnreferenced'],
  ])('follow onTargetDelete %s and onSourceDelete %s', (onTargetDelete, onSourceDelete) =>
    withFd(
      [nodeClass(kind, kept), classOf('Special', {}, { superClass: 'Node' })],
      async (fd, store) => {
        const oids = await filled(fd, kind)
        oids.push(await fd.createObject('Special', { next: kinds[kind].value([oids[2] as string]) }))
        const rules = { onTargetDelete, onSourceDelete }
        expect(await indexEntries(store)).toBe(0)
        await fd.alterClass('Node', ruleFor(kind, rules))
        expect((await fd.verify()).problems).toEqual([])
        const edges = await edgesOf(fd, oids)
        expect(await indexEntries(store)).toBe(edges.flat().length)
        const wanted = expected(edges, [2], kind, rules)
        expect(await outcome(fd.deleteObject(oids[2] as string))).toBe(wanted.type)
        const left = Object.values(await leftIn(fd, oids)).flat()
        expect(left.sort()).toEqual(Object.values(wanted.left).flat().sort())
      },
      limits,
    ),
  )

  it('are not, within a text, if they are too many', () =>
    withFd(
      [nodeClass(kind, kept)],
      async (fd, store) => {
        const [one = ''] = await filled(fd, kind)
        const rule = kind === 'single' ? 'OnTargetDelete: restrict' : 'Element: {OnTargetDelete: restrict}'
        const text = `UPDATE SCHEMA {ALTER CLASS Node {ALTER next {${rule}}}}`
        expect(await outcome((async () => rowTexts(await fd.query({ text })))())).toBe('LimitExceeded')
        expect(await indexEntries(store)).toBe(0)
        expect(await outcome(fd.deleteObject(one))).toBe('ok')
      },
      limits,
    ))
})

it('an inverse is removed from under a rule that it served', () =>
  withFd(
    [nodeClass('paired', restricted)],
    async (fd, store) => {
      const oids = await filled(fd, 'paired')
      const next = { attributeName: 'next', logicalType: 'reference', referencedClass: 'Node' }
      await fd.alterClass('Node', { attributesToChange: [next] }, { isCascading: true })
      expect((await fd.readClass('Node')).attributes).toHaveLength(2)
      expect(await indexEntries(store)).toBe(oids.length)
      for (const oid of oids) expect(await outcome(fd.deleteObject(oid))).toBe('DeleteRestricted')
      await fd.updateObject(oids[0] as string, { next: none })
      await fd.deleteObject(oids[1] as string)
    },
    limits,
  ))

describe('until the rule is in force', () => {
  /** `use` is called when all is built, before the commit that ends the change; returns how the change ends. */
  async function beforeTheEnd(
    kind: Kind,
    change: object,
    use: (fd: FederatedDatabase, oids: readonly string[]) => Promise<void>,
    then: (fd: FederatedDatabase, oids: readonly string[], store: Store) => Promise<void>,
  ): Promise<string> {
    const store = await openStoreOfRun()
    const fd = await FederatedDatabase.open({ alias: 'writer', store })
    await fd.defineClasses([nodeClass(kind, kept), classOf('Other', { n: 'integer' })], 'create')
    const oids = await filled(fd, kind)
    let catalogs = 0
    const beside = watched(store, async (commit) => {
      if (isOfCatalog(commit) && ++catalogs === 2) await use(fd, oids)
    })
    const changer = await FederatedDatabase.open({ alias: 'changer', store: beside, limits })
    const ended = await outcome(changer.alterClass('Node', change))
    expect((await fd.verify()).problems).toEqual([])
    await then(fd, oids, store)
    await changer.close()
    await fd.close()
    return ended
  }

  it.each(unpaired)('deletions follow the present one: %s', async (kind) => {
    const ended = await beforeTheEnd(
      kind,
      ruleFor(kind, restricted),
      async (fd, oids) => {
        const { attributes } = await fd.readClass('Node')
        expect(JSON.stringify(attributes)).not.toContain('onTargetDelete')
        expect(await outcome(fd.deleteObject(oids[3] as string))).toBe('ok')
        expect(await outcome(fd.alterClass('Node', ruleFor(kind, restricted)))).toBe('AttributeInUse')
        expect((await fd.verify()).problems).toEqual([])
      },
      async (fd, oids) => {
        expect(await outcome(fd.deleteObject(oids[1] as string))).toBe('DeleteRestricted')
      },
    )
    expect(ended).toBe('ok')
  })

  it.each(unpaired)(
    'other changes of the schema may come, and one that the rule does not fit ends it: %s',
    async (kind) => {
      const ended = await beforeTheEnd(
        kind,
        ruleFor(kind, restricted),
        async (fd) => {
          await fd.alterClass('Other', { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] })
          await fd.alterClass('Node', { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] })
          await fd.createObject('Node', { more: 'x' })
          expect((await fd.verify()).problems).toEqual([])
          await fd.alterClass('Node', { attributesToRename: [{ originalName: 'next', newName: 'after' }] })
        },
        async (fd, oids, store) => {
          expect(await indexEntries(store)).toBe(0)
          expect(await outcome(fd.deleteObject(oids[1] as string))).toBe('ok')
        },
      )
      expect(ended).toBe('UnknownAttribute')
    },
  )
})

it('together with other attributes and indexes, each index has a number of its own', () =>
  withFd(
    [classOf('Node', { n: 'string', next: kinds.single.of({ logicalType: 'reference', referencedClass: 'Node' }) })],
    async (fd) => {
      await fd.createIndex(index('byN', 'Node', true, 'n'))
      const targets = await fd.createObjects(
        ['1', '2', '3', '4', '5'].map((n) => ({ class: 'Node', attributes: { n } })),
      )
      const [one = '', two = ''] = targets
      await fd.updateObject(one, { next: two })
      const other = { attributeName: 'other', logicalType: 'reference', referencedClass: 'Node', ...restricted }
      await fd.alterClass('Node', {
        ...ruleFor('single', restricted),
        attributesToChange: [{ attributeName: 'n', logicalType: 'integer' }],
        attributesToAdd: [other],
      })
      expect((await fd.verify()).problems).toEqual([])
      await fd.createObject('Node', { n: 6, other: one })
      for (const target of [one, two]) expect(await outcome(fd.deleteObject(target))).toBe('DeleteRestricted')
      expect(await outcome(fd.createObject('Node', { n: 5 }))).toBe('UniqueViolation')
      expect(await fd.readIndex('byN')).toMatchObject({ state: 'ready', entryCount: 6 })
    },
    limits,
  ))

/** What others do between the reads of the change and its next commit. */
type Step = readonly [kind: 'create' | 'set' | 'add' | 'remove' | 'touch' | 'delete', at: number, to: number]

const steps = fc.array(
  fc.tuple(
    fc.constantFrom(
      'create' as const,
      'set' as const,
      'add' as const,
      'remove' as const,
      'touch' as const,
      'delete' as const,
    ),
    fc.nat(30),
    fc.nat(30),
  ),
  { maxLength: 4 },
)

async function take(fd: FederatedDatabase, kind: Kind, oids: string[], [what, at, to]: Step): Promise<void> {
  const [oid, target] = [oids[at % oids.length] as string, oids[to % oids.length] as string]
  const isMany = kind !== 'single' && kind !== 'map'
  const next = (action: string): unknown => {
    return isMany ? { action, elements: [target] } : kinds[kind].value(action === 'add' ? [target, oid] : [])
  }
  const acts: Record<Step[0], () => Promise<unknown>> = {
    create: async () => oids.push(await fd.createObject('Node', { next: kinds[kind].value([target]) })),
    set: () => fd.updateObject(oid, { next: kinds[kind].value([target, oids[at % 3] as string]) }),
    add: () => fd.updateObject(oid, { next: next('add') }),
    remove: () => fd.updateObject(oid, { next: next('remove') }),
    touch: () => fd.updateObject(oid, { n: to }),
    delete: () => fd.deleteObject(oid),
  }
  expect(['ok', 'ObjectNotFound', 'InvalidReference']).toContain(await outcome(acts[what]()))
}

it.each(unpaired)('whatever others write meanwhile, all who refer are known in the end: %s', async (kind) => {
  const rules = fc.constantFrom('restrict', 'clear', 'delete')
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 12 }), rules, async (all, onTargetDelete) => {
      const store = await openStoreOfRun()
      const fd = await FederatedDatabase.open({ alias: 'writer', store })
      await fd.defineClasses([nodeClass(kind, kept)], 'create')
      const oids = await filled(fd, kind, 6)
      let commits = 0
      const beside = watched(store, async (commit) => {
        if (!isOfCatalog(commit) && !hasEntries(commit)) return
        for (const step of all[commits++] ?? []) await take(fd, kind, oids, step)
      })
      const changer = await FederatedDatabase.open({ alias: 'changer', store: beside, limits })
      const rule = { ...kept, onTargetDelete }
      await changer.alterClass('Node', ruleFor(kind, rule))
      expect((await fd.verify()).problems).toEqual([])
      for (const step of all.flat()) if (step[0] !== 'delete') await take(fd, kind, oids, step)
      for (let chosen = 0; chosen < oids.length; chosen++) {
        const left = await leftIn(fd, oids)
        if (left[chosen] === undefined) continue
        const edges = await edgesOf(fd, oids)
        const wanted = expected(edges, [chosen], kind, rule)
        expect(await outcome(fd.deleteObject(oids[chosen] as string))).toBe(wanted.type)
        const isGone = (i: number): boolean => wanted.type === 'ok' && !(i in wanted.left)
        const now = await leftIn(fd, oids)
        for (const i of Object.keys(left).map(Number)) expect(now[i] === undefined).toBe(isGone(i))
      }
      expect((await fd.verify()).problems).toEqual([])
      await changer.close()
      await fd.close()
    }),
    runs(20),
  )
})

describe('where the process is gone', () => {
  const never = new Promise<never>(() => {})

  /** The process is gone at its `last` commit, which is made or not; true if it had come to its end before. */
  async function goneAt(kind: Kind, last: number, isMade: boolean): Promise<boolean> {
    const store = await openStoreOfRun()
    const writer = await FederatedDatabase.open({ alias: 'writer', store })
    await writer.defineClasses([nodeClass(kind, kept)], 'create')
    const oids = await filled(writer, kind, 5)
    let commits = -1
    let isGone = false
    let tellGone = (): void => undefined
    const gone = new Promise<false>((resolve) => {
      tellGone = () => resolve(false)
    })
    const beside: Store = {
      ...leftOpen(store),
      snapshot: (options) => (isGone ? never : store.snapshot(options)),
      async commit(commit) {
        if (!isGone && (commits < 0 || ++commits < last)) return store.commit(commit)
        if (!isGone && isMade) await store.commit(commit)
        isGone = true
        tellGone()
        return never
      },
    }
    const first = await FederatedDatabase.open({ alias: 'gone', store: beside, limits })
    commits = 0
    const isDone = await Promise.race([first.alterClass('Node', ruleFor(kind, restricted)).then(() => true), gone])
    isGone = true
    const second = await FederatedDatabase.open({ alias: 'second', store, limits })
    // Until it has been taken for dead, and what it has begun is undone.
    const again = (): Promise<string> => outcome(second.alterClass('Node', ruleFor(kind, restricted)))
    while ((await again()) === 'AttributeInUse') await new Promise((go) => setTimeout(go, 5))
    expect((await second.verify()).problems).toEqual([])
    const edges = await edgesOf(second, oids)
    expect(await indexEntries(store)).toBe(edges.flat().length)
    for (const oid of oids) expect(await outcome(second.deleteObject(oid))).toBe('DeleteRestricted')
    await second.close()
    await writer.close()
    return isDone
  }

  it.each(['single', 'array', 'tree'] as const)(
    'at any of its commits, there is no rule or a complete one: %s',
    async (kind) => {
      let isDone = false
      for (let last = 1; !isDone; last++) {
        isDone = await goneAt(kind, last, true)
        if (!isDone) await goneAt(kind, last, false)
        expect(last).toBeLessThan(60)
      }
    },
  )
})
