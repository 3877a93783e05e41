/** What a store counts of its commits since it was opened, in plain numbers. */

export interface CommitCounts {
  /** Those that were made. */
  commits: number
  /** Those that were refused, since what they had required was changed by others meanwhile; nearly all are tried again. */
  conflicts: number
  /** Attempts of transactions after the first one. */
  retries: number
  /** Transactions of the store, each of which carries out one commit or several. */
  groups: number
  /** Commits that these have carried out, those that were refused too. */
  grouped: number
  /** The groups by their size: of up to `groupSizes[i]` commits, and larger ones in the last place. */
  readonly groupsBySize: number[]
}

/** Bounds of the sizes of groups. */
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

/** A transaction of the store is over: what became of each commit of the group. */
export function countGroup(
  counts: CommitCounts,
  outcomes: readonly ({ readonly isCommitted: boolean } | Error)[],
): void {
  const size = outcomes.length
  counts.groups++
  counts.grouped += size
  let place = 0
  while (place < groupSizes.length && size > (groupSizes[place] as number)) place++
  counts.groupsBySize[place]!++
  for (const outcome of outcomes) {
    if (outcome instanceof Error) continue
    if (outcome.isCommitted) counts.commits++
    else counts.conflicts++
  }
}
