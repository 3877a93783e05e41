/** A store for one of several who use it: whoever opened it closes it. */
import type { Store } from '../../src/store/store.ts'

export function leftOpen(store: Store): Store {
  return {
    capabilities: store.capabilities,
    snapshot: (options) => store.snapshot(options),
    commit: (commit) => store.commit(commit),
    stats: () => store.stats(),
    close: async () => undefined,
  }
}
