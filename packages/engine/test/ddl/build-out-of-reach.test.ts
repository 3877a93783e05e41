/** A background build during which the store is out of reach for a moment: it goes on afterwards, and its index never shows a failure. */
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf, index, outcome } from '../engine/open-fd.ts'

const limits = { indexBuildBatchObjects: 20, heartbeatIntervalMs: 5 }
const objects = 60

/** `nth` counts the commits from `begin` on. */
function losing(store: Store, nth: number, isCommitted: boolean): Store & { begin(): void; readonly isLost: boolean } {
  let left = Number.POSITIVE_INFINITY
  return {
    ...store,
    begin() {
      left = nth
    },
    get isLost() {
      return left <= 0
    },
    async commit(commit) {
      if (--left !== 0) return store.commit(commit)
      if (!isCommitted) throw new AshlarError('StoreUnavailable', 'injected: not reached')
      await store.commit(commit)
      throw new AshlarError('OutcomeUnknown', 'injected: the answer was lost')
    },
  }
}

it.each([
  ['is refused', false],
  ['gets no answer', true],
])('a build in the background becomes ready, whichever of its commits %s', async (_name, isCommitted) => {
  let isOver = false
  for (let nth = 1; !isOver; nth++) {
    const store = losing(await openStore('memory:'), nth, isCommitted)
    const fd = await FederatedDatabase.open({ alias: 'test', store, limits })
    await fd.defineClasses([classOf('Car', { year: 'integer' })], 'create')
    await fd.createObjects(Array.from({ length: objects }, (_, i) => ({ class: 'Car', attributes: { year: i } })))
    store.begin()
    const asked = await outcome(fd.createIndex(index('byYear', 'Car', true, 'year'), { isBackground: true }))
    const states = new Set<string>()
    if ((await fd.listIndexes()).length > 0) {
      const state = async (): Promise<string> => {
        const found = (await fd.readIndex('byYear')).state
        states.add(found)
        return found
      }
      await expect.poll(state, { interval: 1 }).not.toBe('building')
    } else expect(asked).not.toBe('ok')
    states.delete('building')
    expect([nth, ...states]).toEqual([nth, ...(asked === 'ok' || states.size > 0 ? ['ready'] : [])])
    expect((await fd.verify()).problems).toEqual([])
    isOver = !store.isLost
    await fd.close()
  }
})
