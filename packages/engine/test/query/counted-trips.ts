/** A store each read of which is answered later, and counted. */
import type { Snapshot, Store } from '../../src/store/store.ts'

export interface Counted {
  readonly store: Store
  trips: number
}

/** Each read is answered later, and counted. */
export function counting(store: Store): Counted {
  const counted: Counted = { trips: 0, store: { ...store } }
  const later = (snapshot: Snapshot): Snapshot => ({
    view: (key, use) => snapshot.view(key, use),
    async read(keys, ranges) {
      counted.trips++
      return snapshot.read(keys, ranges)
    },
    scan(range, use, options) {
      counted.trips++
      return snapshot.scan(range, use, options)
    },
    release: () => snapshot.release(),
  })
  Object.assign(counted.store, {
    capabilities: { ...store.capabilities, hasSynchronousReads: false },
    snapshot: async (options: Parameters<Store['snapshot']>[0]) => later(await store.snapshot(options)),
  })
  return counted
}
