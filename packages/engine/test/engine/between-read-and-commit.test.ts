/** What one change has read is changed by another before it commits: it notices, whatever it concluded. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { entityTagOf } from '../../src/objects/condition.ts'
import type { Store } from '../../src/store/store.ts'
import { leftOpen } from '../store/left-open.ts'
import { type Interruptions, interrupted } from '../store/wrappers/interrupted.ts'
import { classOf, index, outcome, read, toMany, toOne, withFd } from './open-fd.ts'

const besides: FederatedDatabase[] = []

/** Within `withBesides`, which closes it. */
async function openInterrupted(store: Store, interruptions: Interruptions): Promise<FederatedDatabase> {
  const beside = interrupted(leftOpen(store), interruptions)
  const fd = await FederatedDatabase.open({ alias: 'interrupted', store: beside })
  besides.push(fd)
  return fd
}

function withBesides(...[classes, use]: Parameters<typeof withFd>): Promise<void> {
  return withFd(classes, async (fd, store) => {
    await use(fd, store)
    for (const beside of besides.splice(0)) await beside.close()
  })
}

/** Does it before the first commit only. */
function onceBeforeCommit(act: () => Promise<unknown>): Interruptions {
  return {
    async beforeCommit(nth) {
      if (nth === 1) await act()
    },
  }
}

interface Gate {
  readonly passed: Promise<void>
  open(): void
}

function gate(): Gate {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

const fleet = [
  classOf('Hub', { tags: toMany('Tag', 'hubs'), cars: toMany('Car', 'hub') }),
  classOf('Tag', { hubs: toMany('Hub', 'tags') }),
  classOf('Car', { license: 'string', hub: toOne('Hub', 'cars') }),
]

it('an object is deleted while a partner puts its list in another order: no place of it is left there', () =>
  withBesides(fleet, async (fd, store) => {
    const [one, other] = [await fd.createObject('Tag', {}), await fd.createObject('Tag', {})]
    const hub = await fd.createObject('Hub', { tags: [one, other] })
    const late = await openInterrupted(
      store,
      onceBeforeCommit(() => fd.updateObject(hub, { tags: [other, one] })),
    )
    await late.deleteObject(one)
    expect(await read(fd, hub)).toMatchObject({ tags: [other] })
    expect((await fd.verify()).problems).toEqual([])
  }))

it('an object that a batch has read on a condition, and does not change, changes before its commit: nothing is done', () =>
  withBesides(fleet, async (fd, store) => {
    const rangeLockKey = await fd.createObject('Car', { license: 'a' })
    const seen = await entityTagOf(await fd.readObject(rangeLockKey))
    const late = await openInterrupted(
      store,
      onceBeforeCommit(() => fd.updateObject(rangeLockKey, { license: 'b' })),
    )
    const create = (): Promise<unknown> =>
      late.transaction(async (step) => {
        await step(1).readObject(rangeLockKey, (tag) => tag === seen)
        return step(2).createObject('Tag', {})
      }, false)
    expect(await outcome(create())).toBe('PreconditionFailed')
    expect((await fd.detailedStatistics()).classes.find(({ className }) => className === 'Tag')?.objects ?? 0).toBe(0)
  }))

it('a list is put in another order while an element leaves it: it does not stay in its old place', () =>
  withBesides(fleet, async (fd, store) => {
    const [one, other] = [await fd.createObject('Car', {}), await fd.createObject('Car', {})]
    const hub = await fd.createObject('Hub', { cars: [one, other] })
    const late = await openInterrupted(
      store,
      onceBeforeCommit(() => fd.updateObject(one, { hub: '0-0-0-0' })),
    )
    await late.updateObject(hub, { cars: [other, one] })
    expect(await read(fd, hub)).toMatchObject({ cars: [other, one] })
    expect(await read(fd, one)).toMatchObject({ hub })
  }))

const people = [
  classOf('Person', {
    n: 'integer',
    liked: { logicalType: 'set', elementSpecification: toOne('Song', 'likers') },
    known: { logicalType: 'set', elementSpecification: toOne('Song') },
  }),
  classOf('Song', { n: 'integer', likers: toMany('Person', 'liked') }),
]

it('a song is removed from the sets of a person while it is added to them again: it is in them afterwards', () =>
  withBesides(people, async (fd, store) => {
    const song = await fd.createObject('Song', {})
    const person = await fd.createObject('Person', { liked: [song], known: [song] })
    const again = { action: 'add', elements: [song] }
    // Neither removal writes the record of the person: the link entries alone tell of it.
    const leaveLiked = () => fd.updateObject(song, { likers: { action: 'remove', elements: [person] } })
    const leaveKnown = () => fd.updateObject(person, { known: { action: 'remove', elements: [song] } })
    const likes = await openInterrupted(store, onceBeforeCommit(leaveLiked))
    await likes.updateObject(person, { n: 1, liked: again })
    const knows = await openInterrupted(store, onceBeforeCommit(leaveKnown))
    await knows.updateObject(person, { n: 2, known: again })
    expect(await read(fd, person)).toMatchObject({ n: 2, liked: [song], known: [song] })
    expect(await read(fd, song)).toMatchObject({ likers: [person] })
  }))

it('a person is removed from the list of a song while it is added to it again: it is in the list afterwards', () =>
  withBesides(people, async (fd, store) => {
    const person = await fd.createObject('Person', {})
    const song = await fd.createObject('Song', { likers: [person] })
    const late = await openInterrupted(
      store,
      onceBeforeCommit(() => fd.updateObject(person, { liked: { action: 'remove', elements: [song] } })),
    )
    await late.updateObject(song, { n: 1, likers: { action: 'add', elements: [person] } })
    expect(await read(fd, song)).toMatchObject({ n: 1, likers: [person] })
    expect(await read(fd, person)).toMatchObject({ liked: [song] })
  }))

it('a person and a song are linked from both sides at the same time: each has the other once', () =>
  withBesides(people, async (fd, store) => {
    const [person, song] = [await fd.createObject('Person', {}), await fd.createObject('Song', {})]
    const late = await openInterrupted(
      store,
      onceBeforeCommit(() => fd.updateObject(song, { likers: { action: 'add', elements: [person] } })),
    )
    await late.updateObject(person, { n: 1, liked: { action: 'add', elements: [song] } })
    expect(await read(fd, song)).toMatchObject({ likers: [person] })
    expect(await read(fd, person)).toMatchObject({ n: 1, liked: [song] })
  }))

it('elements are removed from a list while it is overwritten: the first that comes is not forgotten', () =>
  withBesides(
    [
      classOf('Shelf', {
        items: {
          logicalType: 'list',
          collectionTypeName: 'TreeListOfReferences',
          elementSpecification: toOne('Shelf'),
        },
      }),
    ],
    async (fd, store) => {
      const item = await fd.createObject('Shelf', {})
      const shelf = await fd.createObject('Shelf', { items: [item] })
      const late = await openInterrupted(
        store,
        onceBeforeCommit(() => fd.updateObject(shelf, { items: [item, item] })),
      )
      await late.updateObject(shelf, { items: { action: 'remove', elements: [item] } })
      expect(await read(fd, shelf)).toMatchObject({ items: [] })
    },
  ))

it('If-Match of an object whose map is changed in place: 412', () =>
  withBesides(
    [classOf('Box', { byName: { logicalType: 'map', elementSpecification: toOne('Box') }, n: 'integer' })],
    async (fd, store) => {
      const [one, other] = [await fd.createObject('Box', {}), await fd.createObject('Box', {})]
      const box = await fd.createObject('Box', { byName: { a: one } })
      const tags: string[] = []
      const late = await openInterrupted(
        store,
        onceBeforeCommit(() => fd.updateObject(box, { byName: { a: other } })),
      )
      const unchanged = (tag: string): boolean => {
        tags.push(tag)
        return tag === tags[0]
      }
      expect(await outcome(late.updateObject(box, { n: 1 }, undefined, unchanged))).toBe('PreconditionFailed')
      expect(await read(fd, box)).toMatchObject({ n: 0, byName: { a: other } })
    },
  ))

it('a key is left while a unique index is being built, and another held it: the build leaves no entry of it behind', () =>
  withBesides(fleet, async (fd, store) => {
    const one = await fd.createObject('Car', { license: 'K' })
    const other = await fd.createObject('Car', { license: 'M' })
    const [begun, goOn, put, ready] = [gate(), gate(), gate(), gate()]
    const building = await openInterrupted(store, {
      // The index is announced, the batch is tried, the first object is put by itself, the index is ready.
      async beforeCommit(nth) {
        if (nth === 2) {
          begun.open()
          await goOn.passed
        }
        if (nth === 4) {
          put.open()
          await ready.passed
        }
      },
    })
    const built = building.createIndex(index('byLicense', 'Car', true, 'license'))
    await begun.passed
    await fd.updateObject(other, { license: 'K' })
    const late = await openInterrupted(
      store,
      onceBeforeCommit(async () => {
        await fd.updateObject(other, { license: 'M' })
        goOn.open()
        await put.passed
      }),
    )
    await late.updateObject(one, { license: 'L' })
    ready.open()
    await built
    expect((await fd.verify()).problems).toEqual([])
    expect(await outcome(fd.createObject('Car', { license: 'K' }))).toBe('ok')
  }))

it('a key goes from one object to another while a unique index is being built: that is no duplicate', () =>
  withBesides(fleet, async (fd, store) => {
    const one = await fd.createObject('Car', { license: 'K' })
    const other = await fd.createObject('Car', { license: 'M' })
    const building = await openInterrupted(store, {
      // Once the index is announced: which objects there are, the records of a batch, the entries.
      async beforeSnapshot(commits, nth) {
        if (commits !== 1 || nth !== 3) return
        await fd.updateObject(one, { license: 'L' })
        await fd.updateObject(other, { license: 'K' })
      },
    })
    expect(await outcome(building.createIndex(index('byLicense', 'Car', true, 'license')))).toBe('ok')
    expect((await fd.readIndex('byLicense')).entryCount).toBe(2)
  }))
