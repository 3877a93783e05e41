/** Turns that others get while an object with very many links is made, changed and deleted. */
import { expect, it, vi } from 'vitest'
import { OverlaySnapshot } from '../../src/transaction/overlay-snapshot.ts'
import { Transaction } from '../../src/transaction/transaction.ts'
import { classOf, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

const links = 2_500
const steps = [
  'put',
  'delete',
  'requireRevision',
  'requirePresent',
  'requireAbsent',
  'read',
  'scanAndRequireRange',
] as const

/** What a transaction is asked for, at most, between two turns of others; each look at the clock is a millisecond after the one before. */
async function longestPieceOf(act: () => Promise<unknown>): Promise<number> {
  let [longest, piece] = [0, 0]
  let isOver = false
  const begin = (): void => {
    piece = 0
    if (!isOver) setImmediate(begin)
  }
  begin()
  for (const name of steps) {
    const original = Transaction.prototype[name] as (...given: unknown[]) => unknown
    vi.spyOn(Transaction.prototype, name).mockImplementation(function (this: Transaction, ...given: unknown[]) {
      longest = Math.max(longest, ++piece)
      return original.apply(this, given) as never
    })
  }
  try {
    await turnsDuring(act)
  } finally {
    isOver = true
    vi.restoreAllMocks()
  }
  return longest
}

const shapes = {
  'not paired': { classes: [classOf('Part', {}), classOf('Hub', { parts: toMany('Part') })], bound: 1_000 },
  'to-one': {
    classes: [classOf('Part', { hub: toOne('Hub', 'parts') }), classOf('Hub', { parts: toMany('Part', 'hub') })],
    bound: 1_000,
  },
  // The keys of pairs are read by the thousand between two looks at the clock, five of which are a slice.
  'to-many': {
    classes: [classOf('Part', { hubs: toMany('Hub', 'parts') }), classOf('Hub', { parts: toMany('Part', 'hubs') })],
    bound: 4_000,
  },
}

for (const [partner, { classes, bound }] of Object.entries(shapes)) {
  it(`others have their turn while a list of links, whose partners are ${partner}, is set, overridden and deleted`, () =>
    withFd(classes, async (fd) => {
      const parts = await fd.createObjects(Array.from({ length: links }, () => ({ class: 'Part', attributes: {} })))
      let hub = ''
      const some = { action: 'remove', elements: parts.slice(0, links / 2) }
      const changes: Record<string, () => Promise<unknown>> = {
        async set() {
          hub = (await fd.createObjects([{ class: 'Hub', attributes: { parts } }]))[0] ?? ''
        },
        override: () => fd.updateObject(hub, { parts: parts.toReversed() }),
        remove: () => fd.updateObject(hub, { parts: some }),
        delete: () => fd.deleteObject(hub),
      }
      for (const [name, change] of Object.entries(changes)) {
        expect(await longestPieceOf(change), name).toBeLessThan(bound)
      }
    }))
}

const toPart = (rule: object) => ({
  logicalType: 'list',
  elementSpecification: { ...(toOne('Part') as object), ...rule },
})
const followings = {
  'by onTargetDelete': [
    classOf('Part', { hub: { ...(toOne('Hub') as object), onTargetDelete: 'delete' } }),
    classOf('Hub', {}),
    classOf('Note', { part: { ...(toOne('Part') as object), onTargetDelete: 'clear' } }),
  ],
  'by onSourceDelete': [classOf('Part', {}), classOf('Hub', { parts: toPart({ onSourceDelete: 'delete' }) })],
  'by onSourceDelete, unless referred to': [
    classOf('Part', {}),
    classOf('Hub', { parts: toPart({ onSourceDelete: 'deleteUnreferenced' }) }),
  ],
}

for (const [which, classes] of Object.entries(followings)) {
  it(`others have their turn while very many objects are deleted with another one, ${which}`, () =>
    withFd(classes, async (fd) => {
      const refersToParts = which !== 'by onTargetDelete'
      const first = refersToParts ? undefined : await fd.createObject('Hub', {})
      const attributes = refersToParts ? {} : { hub: first }
      const parts = await fd.createObjects(Array.from({ length: links }, () => ({ class: 'Part', attributes })))
      const hub = first ?? (await fd.createObject('Hub', { parts }))
      const preview = async () => {
        const { deleted } = await fd.previewObjectDeletion(hub)
        expect(deleted.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(links + 1)
      }
      expect(await longestPieceOf(preview), 'dryRun').toBeLessThan(1_000)
      expect(await longestPieceOf(() => fd.deleteObject(hub))).toBeLessThan(1_000)
      await expect((async () => fd.readObject(parts[0] as string))()).rejects.toMatchObject({ type: 'ObjectNotFound' })
    }))
}

it('others have their turn while entries are made for the elements of a long list of an object', () =>
  withFd([classOf('Part', {}), classOf('Hub', { parts: toPart({ onTargetDelete: 'clear' }) })], async (fd) => {
    const parts = await fd.createObjects(Array.from({ length: links }, () => ({ class: 'Part', attributes: {} })))
    let hub = ''
    const create = async (): Promise<void> => {
      hub = await fd.createObject('Hub', { parts })
    }
    expect(await longestPieceOf(create)).toBeLessThan(1_000)
    expect(await longestPieceOf(() => fd.updateObject(hub, { parts: [] }))).toBeLessThan(1_000)
    expect(await longestPieceOf(() => fd.updateObject(hub, { parts }))).toBeLessThan(1_000)
    expect((await fd.verify()).problems).toEqual([])
  }))

it('others have their turn while very many links are read, which are shown in order', () => {
  const treeSet = {
    logicalType: 'set',
    collectionTypeName: 'TreeSetOfReferences',
    elementSpecification: toOne('Part'),
  }
  const names = {
    logicalType: 'map',
    collectionTypeName: 'NameToReferenceMap',
    elementSpecification: toOne('Part'),
    keySpecification: { logicalType: 'string' },
  }
  const hub = classOf('Hub', { parts: toMany('Part', 'hub'), treeSet, names })
  return withFd([classOf('Part', { hub: toOne('Hub', 'parts') }), hub], async (fd) => {
    const parts = await fd.createObjects(Array.from({ length: links }, () => ({ class: 'Part', attributes: {} })))
    const named = Object.fromEntries(parts.map((part, i) => [`part ${String(i).padStart(5, '0')}`, part]))
    const attributes = { parts: parts.toReversed(), treeSet: parts, names: named }
    const [oid = ''] = await fd.createObjects([{ class: 'Hub', attributes }])
    let shown = ''
    const turns = await turnsDuring(async () => {
      shown = (await fd.readObject(oid)).toString()
    })
    expect(turns).toBeGreaterThan(links / 32 / 6)
    const expected = { __class__: 'Hub', __identifier__: oid, ...attributes }
    expect(JSON.parse(shown)).toEqual(expected)
    expect(shown).toBe(JSON.stringify(expected))
  })
})

it('the end of a list is not looked for behind what is taken out of it', () => {
  const elementSpecification = { logicalType: 'reference', referencedClass: 'Part' }
  const list = { logicalType: 'list', collectionTypeName: 'TreeListOfReferences', elementSpecification }
  return withFd([classOf('Part', {}), classOf('Hub', { parts: list })], async (fd) => {
    const parts = await fd.createObjects(Array.from({ length: 500 }, () => ({ class: 'Part', attributes: {} })))
    const [hub = ''] = await fd.createObjects([{ class: 'Hub', attributes: { parts } }])
    const merging = vi.spyOn(OverlaySnapshot.prototype, 'mergeRange')
    await fd.updateObject(hub, { parts: parts.toReversed() })
    const longest = Math.max(0, ...merging.mock.calls.map(([stored]) => stored.length))
    merging.mockRestore()
    expect(longest).toBeLessThanOrEqual(1)
    expect(JSON.parse(`${await fd.readObject(hub)}`).parts).toEqual(parts.toReversed())
  })
})
