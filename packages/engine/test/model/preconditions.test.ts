/** Whatever a change concludes from what it reads is a precondition of its commit. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { keySpace } from '../../src/bytes/key-space.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { runs } from '../bytes/property-runs.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { audited } from '../store/wrappers/audited.ts'
import { inSequence, openFd, sequences } from './model-run.ts'
import type { Operation } from './operations.ts'
import { eachCommitFailsOnce } from './spurious-conflicts.ts'

it.skipIf(isOnPostgres)('at the first attempt', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    const store = audited(await openMemoryStore())
    const fd = await openFd(store)
    await inSequence(fd, operations, {
      after: async (given) => {
        // Its entries are purged in the background; what that reads would be taken for reads of the next change.
        if (given.kind === 'deleteIndex') await fd.verify()
        expect([...store.uncovered], JSON.stringify(given)).toEqual([])
      },
    })
    await fd.close()
  })
  await fc.assert(property, { ...runs(15), endOnFailure: true })
})

it.skipIf(isOnPostgres)('at a retry', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    const store = audited(eachCommitFailsOnce(await openMemoryStore()))
    const fd = await openFd(store)
    await inSequence(fd, operations, {
      after: async (given) => {
        // Its entries are purged in the background; what that reads would be taken for reads of the next change.
        if (given.kind === 'deleteIndex') await fd.verify()
        expect([...store.uncovered], JSON.stringify(given)).toEqual([])
      },
    })
    await fd.close()
  })
  await fc.assert(property, { ...runs(8), endOnFailure: true })
})

/** What is in a collection already is added once more, by an update that also changes a record and so is committed. */
const addedAgain: readonly Operation[] = [
  { kind: 'create', cls: 'Item', attributes: {} },
  { kind: 'create', cls: 'Hub', attributes: { likers: { action: 'add', elements: [{ nth: 0 }] } } },
  { kind: 'update', target: { nth: 0 }, attributes: { n: 1, liked: { action: 'add', elements: [{ nth: 1 }] } } },
  { kind: 'update', target: { nth: 1 }, attributes: { title: 'a', likers: { action: 'add', elements: [{ nth: 0 }] } } },
  { kind: 'update', target: { nth: 0 }, attributes: { bag: { action: 'add', elements: [{ nth: 0 }] } } },
  { kind: 'update', target: { nth: 0 }, attributes: { n: 2, bag: { action: 'add', elements: [{ nth: 0 }] } } },
]

it.skipIf(isOnPostgres)('where an element is added that is in the collection already', async () => {
  const store = audited(await openMemoryStore())
  const fd = await openFd(store)
  await inSequence(fd, addedAgain, {
    after: (given) => expect([...store.uncovered], JSON.stringify(given)).toEqual([]),
  })
  await fd.close()
})

it.skipIf(isOnPostgres)('a commit without the precondition that an entry is present is reported', async () => {
  const store = audited(await openMemoryStore())
  const fd = await openFd(withoutPresentLinks(store))
  await inSequence(fd, addedAgain)
  expect([...store.uncovered]).toEqual(['the value of a link entry by target'])
  await fd.close()
})

function withoutPresentLinks(store: Store): Store {
  return {
    ...store,
    commit: ({ changes, preconditions }) => {
      const others = [...preconditions].filter((precondition) => {
        return precondition.kind !== 'present' || precondition.key[0] !== keySpace.link
      })
      return store.commit({ changes, preconditions: others })
    },
  }
}
