/** Counters of the commits of a store since it was opened. */

export interface CommitCounts {
  commits: number
  /** Commits whose preconditions failed because of concurrent commits; nearly all are retried. */
  conflicts: number
  /** Transaction attempts after the first. */
  retries: number
  /** Write transactions of the store, each of which executes one or more commits. */
  groups: number
  /** Commits in these groups, including failed ones. */
  grouped: number
  /** Histogram of group sizes: `groupSizes[i]` is the upper bound of bucket i; the last bucket has no bound. */
  readonly groupsBySize: number[]
}

export const groupSizes: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export function newCommitCounts(): CommitCounts {
  return {
    commits: 0,
    conflicts: 0,
    retries: 0,
    groups: 0,
    grouped: 0,
    groupsBySize: new Array(groupSizes.length + 1).fill(0),
  }
}

/** Counts a finished group by the outcome of each of its commits. */
export function countGroup(
  counts: CommitCounts,
  outcomes: readonly ({ readonly isCommitted: boolean } | Error)[],
): void {
  const size = outcomes.length
  counts.groups++
  counts.grouped += size
  let bucket = 0
  while (bucket < groupSizes.length && size > (groupSizes[bucket] as number)) bucket++
  counts.groupsBySize[bucket]!++
  for (const outcome of outcomes) {
    if (outcome instanceof Error) continue
    if (outcome.isCommitted) counts.commits++
    else counts.conflicts++
  }
}
