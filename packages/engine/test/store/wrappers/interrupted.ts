/** A store on which something happens at a given point: just before a commit, or before a snapshot is opened. */
import { catalogVersionKey } from '../../../src/bytes/key-space.ts'
import type { Commit, Store } from '../../../src/store/store.ts'

export interface Interruptions {
  /** Called before each commit that requires the version of the catalog, which those of objects and schema do; `nth` from 1. */
  beforeCommit?(nth: number): Promise<void>
  /** `commits`: how many such commits there have been. `nth` since the last of them, from 1. */
  beforeSnapshot?(commits: number, nth: number): Promise<void>
}

export function interrupted(store: Store, { beforeCommit, beforeSnapshot }: Interruptions): Store {
  let commits = 0
  let snapshots = 0
  return {
    ...store,
    capabilities: { ...store.capabilities, hasSynchronousReads: false },
    async snapshot(options) {
      await beforeSnapshot?.(commits, ++snapshots)
      return store.snapshot(options)
    },
    async commit(commit) {
      if (isOfCatalog(commit)) {
        snapshots = 0
        commits++
        await beforeCommit?.(commits)
      }
      return store.commit(commit)
    },
  }
}

function isOfCatalog({ preconditions }: Commit): boolean {
  return [...preconditions].some((precondition) => {
    return 'key' in precondition && Buffer.compare(precondition.key, catalogVersionKey) === 0
  })
}
