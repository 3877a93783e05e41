/** Puts commits that wait into calls of the function that commits, and answers each for itself. */
import type { Commit, CommitOutcome } from '../store.ts'
import { type CommitStrategy, commitTogether, LockTimeout } from './commit.ts'
import { CommitGroup } from './commit-group.ts'
import { type CommitLocks, commitLocks } from './commit-locks.ts'
import type { Connections } from './connections.ts'

/** While one call is made, the next is on its way; what comes meanwhile is the one after. */
const callsAtOnce = 2
/** Calls that wait for locks of others do not hold everybody up: after so long another is sent beside them. */
const stalledMs = 5

interface Waiting {
  readonly locks: CommitLocks
  /** Together with others it took too long. */
  readonly isAlone: boolean
  resolve(outcome: CommitOutcome): void
  reject(error: unknown): void
}

export class GroupCommits {
  private readonly connections: Connections
  private readonly strategy: CommitStrategy
  private waiting: Waiting[] = []
  private underWay = 0
  private gathering: NodeJS.Immediate | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(connections: Connections, strategy: CommitStrategy) {
    this.connections = connections
    this.strategy = strategy
  }

  /** Throws StoreUnavailable, OutcomeUnknown. */
  commit(commit: Commit): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ locks: commitLocks(commit, this.strategy.tables.keys), isAlone: false, resolve, reject })
      // Those that are ready in the same turn go together.
      this.gathering ??= setImmediate(() => {
        this.gathering = undefined
        this.sendSome(callsAtOnce)
      })
    })
  }

  private sendSome(callsMax: number): void {
    while (this.waiting.length > 0 && this.underWay < callsMax) void this.sendOne()
    if (this.waiting.length === 0 || this.timer !== undefined) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      this.sendSome(Math.min(this.underWay + 1, this.connections.writersMax))
    }, stalledMs)
  }

  private async sendOne(): Promise<void> {
    const group = new CommitGroup(this.strategy.tables.keys)
    const members: Waiting[] = []
    const left: Waiting[] = []
    for (const waiting of this.waiting) {
      const goesAlong = members.length === 0 || (!waiting.isAlone && members[0]?.isAlone === false)
      if (goesAlong && group.add(waiting.locks)) members.push(waiting)
      else left.push(waiting)
    }
    this.waiting = left
    this.underWay++
    try {
      const outcomes = await commitTogether(this.connections, group, this.strategy)
      for (const [i, member] of members.entries()) member.resolve(outcomes[i] as CommitOutcome)
    } catch (error) {
      if (error instanceof LockTimeout) this.waiting.unshift(...members.map((member) => ({ ...member, isAlone: true })))
      else for (const member of members) member.reject(error)
    } finally {
      this.underWay--
      this.sendSome(callsAtOnce)
    }
  }
}
