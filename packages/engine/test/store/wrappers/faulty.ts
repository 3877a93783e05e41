/** A store that fails commits now and then: as conflicts that are none, and as errors of the storage. */
import type { Commit, CommitOutcome, Store } from '../../../src/store/store.ts'
import { seededRandom } from './seeded-random.ts'

export interface Faults {
  readonly seed: number
  /**
   * The share of commits (0 to 1) that answer with one of their preconditions as failed although nothing was tried;
   * 'alternate': each second one, so that operations one after another each fail once and then succeed.
   * A commit without preconditions cannot conflict and passes.
   */
  readonly conflicts?: number | 'alternate'
  /** The share of commits (0 to 1) that reject with an `InjectedFault`; nothing was tried. */
  readonly errors?: number
  /** The share of commits (0 to 1) that reject with an `InjectedFault` although they are committed. */
  readonly lostAnswers?: number
}

export class InjectedFault extends Error {}

export interface FaultyStore extends Store {
  /** How many faults of each kind were injected so far. */
  readonly injected: { conflicts: number; errors: number; lostAnswers: number }
}

export function faulty(store: Store, faults: Faults): FaultyStore {
  const random = seededRandom(faults.seed)
  const injected = { conflicts: 0, errors: 0, lostAnswers: 0 }
  let isFailedLast = false

  function isConflictDue(): boolean {
    if (faults.conflicts !== 'alternate') return random() < (faults.conflicts ?? 0)
    isFailedLast = !isFailedLast
    return isFailedLast
  }

  function conflict(commit: Commit): CommitOutcome | undefined {
    if (commit.preconditions.length === 0 || !isConflictDue()) return undefined
    injected.conflicts += 1
    return {
      isCommitted: false,
      failed: [...commit.preconditions][Math.floor(random() * commit.preconditions.length)]!,
    }
  }

  return {
    ...store,
    injected,
    async commit(commit) {
      const spurious = conflict(commit)
      if (spurious !== undefined) return spurious
      if (random() < (faults.errors ?? 0)) {
        injected.errors += 1
        throw new InjectedFault('injected fault before the commit')
      }
      const outcome = await store.commit(commit)
      if (random() >= (faults.lostAnswers ?? 0)) return outcome
      injected.lostAnswers += 1
      throw new InjectedFault('injected fault after the commit')
    },
  }
}
