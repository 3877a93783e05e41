/** A store on which every commit fails once although its preconditions hold, so that each operation is run again. */
import type { Commit, CommitOutcome, Store } from '../../src/store/store.ts'

export function eachCommitFailsOnce(store: Store): Store {
  let hasFailed = false
  return {
    capabilities: store.capabilities,
    snapshot: () => store.snapshot(),
    commit(commit: Commit): Promise<CommitOutcome> {
      const [failed] = commit.preconditions
      hasFailed = !hasFailed
      if (failed !== undefined && hasFailed) return Promise.resolve({ isCommitted: false, failed })
      return store.commit(commit)
    },
    stats: () => store.stats(),
    close: () => store.close(),
  }
}
