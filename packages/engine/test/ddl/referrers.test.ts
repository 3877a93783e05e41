/** The entries that tell who refers by an attribute come, and go, with what asks for them: its rule, and the inverse that it lacks. */
import { describe, expect, it } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { purgeDroppedIndexes } from '../../src/indexes/purge-entries.ts'
import type { Store } from '../../src/store/store.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'
import { classOf, outcome, read, withFd } from '../engine/open-fd.ts'

const restricted = { onTargetDelete: 'restrict' }
const toTarget = (more: object): object => ({ logicalType: 'reference', referencedClass: 'Target', ...more })
const many = (element: object): object => ({ logicalType: 'list', elementSpecification: element })
const inverse = { inverseAttribute: 'sources' }
const sources = many({ logicalType: 'reference', referencedClass: 'Source', inverseAttribute: 'targets' })

async function indexEntries(store: Store): Promise<number> {
  return withSnapshot(store, async (snapshot) => {
    let count = 0
    const range = { from: Buffer.of(keySpace.index), to: Buffer.of(keySpace.index + 1) }
    for await (const batch of snapshot.scan(range, () => 1, { keysOnly: true })) count += batch.length
    return count
  })
}

async function refused(fd: FederatedDatabase, target: string): Promise<void> {
  expect(await outcome(fd.deleteObject(target))).toBe('DeleteRestricted')
  expect((await fd.verify()).problems).toEqual([])
}

describe.each([
  ['a single reference', (more: object): object => toTarget(more), (target: string): unknown => target],
  ['a list', (more: object): object => many(toTarget(more)), (target: string): unknown => [target]],
])('%s', (_name, typeOf, valueFor) => {
  it('has them in place of an inverse that is removed', () =>
    withFd(
      [
        classOf('Target', { sources }),
        classOf('Source', { targets: typeOf({ ...inverse, ...restricted }) }),
        classOf('Special', {}, { superClass: 'Source' }),
      ],
      async (fd, store) => {
        const [one, other] = [await fd.createObject('Target', {}), await fd.createObject('Target', {})]
        await fd.createObject('Source', { targets: valueFor(one) })
        const special = await fd.createObject('Special', { targets: valueFor(other) })
        expect(await indexEntries(store)).toBe(0)
        await refused(fd, one)
        const attributesToChange = [{ attributeName: 'targets', ...typeOf({}) }]
        await fd.alterClass('Source', { attributesToChange }, { isCascading: true })
        expect(await indexEntries(store)).toBe(2)
        for (const target of [one, other]) await refused(fd, target)
        await fd.deleteObject(special)
        await fd.deleteObject(other)
        expect(await indexEntries(store)).toBe(1)
      },
    ))

  it('has none once it is given an inverse, which then tells', () =>
    withFd([classOf('Target', {}), classOf('Source', { targets: typeOf(restricted) })], async (fd, store) => {
      const target = await fd.createObject('Target', {})
      const source = await fd.createObject('Source', { targets: valueFor(target) })
      expect(await indexEntries(store)).toBe(1)
      await fd.defineClasses(
        [classOf('Target', { sources }), classOf('Source', { targets: typeOf(inverse) })],
        'createOrExtend',
      )
      await purgeDroppedIndexes(store)
      expect(await read(fd, target)).toMatchObject({ sources: [source] })
      expect(await indexEntries(store)).toBe(0)
      await refused(fd, target)
      await fd.deleteObject(source)
      await fd.deleteObject(target)
    }))

  it('has none once it is deleted', () =>
    withFd([classOf('Target', {}), classOf('Source', { targets: typeOf(restricted) })], async (fd, store) => {
      const target = await fd.createObject('Target', {})
      await fd.createObject('Source', { targets: valueFor(target) })
      await fd.alterClass('Source', { attributesToDelete: ['targets'] })
      await purgeDroppedIndexes(store)
      expect(await indexEntries(store)).toBe(0)
      await fd.deleteObject(target)
    }))
})
