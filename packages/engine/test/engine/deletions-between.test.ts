/** Somebody begins, or ceases, to refer to an object between the reads of its deletion and the commit. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Store } from '../../src/store/store.ts'
import { leftOpen } from '../store/left-open.ts'
import { interrupted } from '../store/wrappers/interrupted.ts'
import { classOf, outcome, read, withFd } from './open-fd.ts'

const toTarget = (more: object): object => ({ logicalType: 'reference', referencedClass: 'Target', ...more })
const list = { logicalType: 'list' }
const tree = { logicalType: 'list', collectionTypeName: 'TreeListOfReferences' }

/** How an attribute refers to one target. */
const kinds = {
  single: [(more: object) => toTarget(more), (target: string): unknown => target],
  array: [(more: object) => ({ ...list, elementSpecification: toTarget(more) }), (target: string): unknown => [target]],
  tree: [(more: object) => ({ ...tree, elementSpecification: toTarget(more) }), (target: string): unknown => [target]],
  paired: [(more: object) => toTarget({ ...more, inverseAttribute: 'sources' }), (target: string): unknown => target],
} as const

const cases = (Object.keys(kinds) as (keyof typeof kinds)[]).flatMap((kind) =>
  (['restrict', 'clear', 'delete'] as const).map((rule) => [kind, rule] as const),
)

function classesOf(kind: keyof typeof kinds, more: object): object[] {
  const sources = {
    ...list,
    elementSpecification: { logicalType: 'reference', referencedClass: 'Source', inverseAttribute: 'target' },
  }
  return [
    classOf('Target', { n: 'integer', ...(kind === 'paired' ? { sources } : {}) }),
    classOf('Source', { target: kinds[kind][0](more) }),
  ]
}

/** `act` is done before the first commit of what is done with the other view of the store. */
async function interruptedBy(
  store: Store,
  act: () => Promise<unknown>,
  use: (late: FederatedDatabase) => Promise<void>,
): Promise<void> {
  const beside = interrupted(leftOpen(store), {
    async beforeCommit(nth) {
      if (nth === 1) await act()
    },
  })
  const late = await FederatedDatabase.open({ alias: 'interrupted', store: beside })
  await use(late)
  await late.close()
}

it.each(cases)('10.4.11 %s with %s: whoever begins to refer is found', (kind, onTargetDelete) =>
  withFd(classesOf(kind, { onTargetDelete }), async (fd, store) => {
    const target = await fd.createObject('Target', {})
    const source = await fd.createObject('Source', {})
    const value = kinds[kind][1](target)
    const begin = (): Promise<void> => fd.updateObject(source, { target: value })
    await interruptedBy(store, begin, async (late) => {
      const type = await outcome(late.deleteObject(target))
      expect(type).toBe(onTargetDelete === 'restrict' ? 'DeleteRestricted' : 'ok')
    })
    const left = await outcome(Promise.resolve().then(() => fd.readObject(source)))
    expect(left).toBe(onTargetDelete === 'delete' ? 'ObjectNotFound' : 'ok')
    if (onTargetDelete === 'clear') expect(['0-0-0-0', []]).toContainEqual((await read(fd, source)).target)
  }),
)

it.each(cases)(
  '10.4.11 %s with %s: the target is gone before whoever would refer to it commits',
  (kind, onTargetDelete) =>
    withFd(classesOf(kind, { onTargetDelete }), async (fd, store) => {
      const target = await fd.createObject('Target', {})
      const source = await fd.createObject('Source', {})
      await interruptedBy(
        store,
        () => fd.deleteObject(target),
        async (late) => {
          const refused = await outcome(late.updateObject(source, { target: kinds[kind][1](target) }))
          expect(refused).toBe('InvalidReference')
        },
      )
    }),
)

it.each(Object.keys(kinds) as (keyof typeof kinds)[])(
  '10.4.11 %s: of two that go at once, the last takes what both referred to with it',
  (kind) =>
    withFd(
      [
        classOf('Target', { n: 'integer' }),
        classOf('Source', {
          target: kinds[kind === 'paired' ? 'single' : kind][0]({ onSourceDelete: 'deleteUnreferenced' }),
        }),
      ],
      async (fd, store) => {
        const target = await fd.createObject('Target', {})
        const value = kinds[kind][1](target)
        const [one, other] = [
          await fd.createObject('Source', { target: value }),
          await fd.createObject('Source', { target: value }),
        ]
        await interruptedBy(
          store,
          () => fd.deleteObject(one),
          (late) => late.deleteObject(other),
        )
        expect(await outcome(Promise.resolve().then(() => fd.readObject(target)))).toBe('ObjectNotFound')
      },
    ),
)
