/** Combines waiting commits into calls of the commit function, each with a separate result. */
import { countGroup, newCommitCounts } from '../commit-counts.ts'
import type { Commit, CommitOutcome } from '../store.ts'
import { runYieldingIfLong } from '../time-slice.ts'
import { type CommitStrategy, commitTogether, commitUnderLock, FailedTogether } from './commit.ts'
import { CommitCall } from './commit-call.ts'
import { PostgresLock } from './commit-lock.ts'
import { type CommitLocks, commitLocks } from './commit-locks.ts'
import type { Connections } from './connections.ts'
import { allInUse } from './failures.ts'

/** While one call runs, the next is in transit; later commits form the one after. */
const concurrentCalls = 2
/** A call that waits for locks must not delay all later ones: after this time another is sent concurrently. */
const stalledMs = 5
/** A commit of more keys, or of packed rows, uses a separate call. */
const groupedKeysMax = 1_024

interface Waiting {
  readonly commit: CommitLocks
  /** The commit is large, or took too long together with other commits. */
  readonly isAlone: boolean
  /** Time limit for waiting, by `performance.now()`. */
  readonly end: number
  resolve(outcome: CommitOutcome): void
  reject(error: unknown): void
}

interface Gathered {
  readonly call: CommitCall
  readonly members: readonly Waiting[]
}

export class GroupCommits {
  readonly counts = newCommitCounts()
  private readonly connections: Connections
  private readonly strategy: CommitStrategy
  /** The last lock acquired. */
  private lock: PostgresLock | undefined
  private waiting: Waiting[] = []
  private inFlight = 0
  private gathering: NodeJS.Immediate | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(connections: Connections, strategy: CommitStrategy) {
    this.connections = connections
    this.strategy = strategy
  }

  /** Throws StoreUnavailable, OutcomeUnknown. */
  async commit(commit: Commit): Promise<CommitOutcome> {
    // The lock's holder waits for this commit.
    if (commit.isReservation === true) this.lock?.release()
    const { layout, tables } = this.strategy
    const preparing = runYieldingIfLong(commitLocks(commit, tables.keys, layout.takesPacked))
    const prepared = preparing instanceof Promise ? await preparing : preparing
    const made = commit.lock instanceof PostgresLock ? await this.underLock(commit.lock, prepared) : undefined
    return made ?? this.send(prepared)
  }

  /** See `CommitLocking`. */
  async lockCommits(): Promise<PostgresLock> {
    const lock = await PostgresLock.acquire(this.connections)
    this.lock = lock
    return lock
  }

  /** Undefined if the commit must be made without the lock. */
  private async underLock(lock: PostgresLock, commit: CommitLocks): Promise<CommitOutcome | undefined> {
    const { connections, strategy } = this
    // A change of the schema excludes readers of the lock's table as well.
    if (commit.isExclusive) lock.release()
    const connection = lock.take()
    if (connection === undefined) return undefined
    const call = new CommitCall(strategy.tables.keys)
    await runYieldingIfLong(call.adding(commit))
    const outcomes = await commitUnderLock(connections, connection, call, strategy)
    if (outcomes !== undefined) countGroup(this.counts, outcomes)
    return outcomes?.[0]
  }

  private send(commit: CommitLocks): Promise<CommitOutcome> {
    const isAlone = commit.packed !== undefined || commit.locks.size > groupedKeysMax
    const end = performance.now() + this.connections.address.patienceMs
    return new Promise((resolve, reject) => {
      this.waiting.push({ commit, isAlone, end, resolve, reject })
      // Commits that are ready in the same iteration of the event loop share a call.
      this.gathering ??= setImmediate(() => {
        this.gathering = undefined
        this.sendSome(concurrentCalls)
      })
    })
  }

  private sendSome(callsMax: number): void {
    while (this.waiting.length > 0 && this.inFlight < callsMax) void this.sendOne()
    if (this.waiting.length === 0 || this.timer !== undefined) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      this.expire()
      this.sendSome(Math.min(this.inFlight + 1, this.connections.writersMax))
    }, stalledMs)
  }

  /** The first commits have waited longest. */
  private expire(): void {
    if (this.inFlight < this.connections.writersMax) return
    const now = performance.now()
    while (this.waiting[0] !== undefined && this.waiting[0].end <= now) {
      this.waiting.shift()?.reject(allInUse(this.connections.address))
    }
  }

  private async sendOne(): Promise<void> {
    const { call, members } = this.gather()
    if (members.length === 0) return
    this.inFlight++
    try {
      if (call.size === 0) await runYieldingIfLong(call.adding((members[0] as Waiting).commit))
      const outcomes = await commitTogether(this.connections, call, this.strategy)
      countGroup(this.counts, outcomes)
      for (const [i, member] of members.entries()) member.resolve(outcomes[i] as CommitOutcome)
    } catch (error) {
      if (error instanceof FailedTogether) {
        this.waiting.unshift(...members.map((member) => ({ ...member, isAlone: true })))
      } else for (const member of members) member.reject(error)
    } finally {
      this.inFlight--
      this.sendSome(concurrentCalls)
    }
  }

  /** Removes the first waiting commit and those compatible with it from the queue; one that has the call to itself is not added to it yet. */
  private gather(): Gathered {
    for (;;) {
      const gathered = this.gatherUntilOneThrows()
      if (gathered !== undefined) return gathered
    }
  }

  /** A commit that throws is rejected and leaves the queue. The group, which may contain part of it, is discarded then: undefined. */
  private gatherUntilOneThrows(): Gathered | undefined {
    const call = new CommitCall(this.strategy.tables.keys)
    const [first] = this.waiting
    if (first?.isAlone === true) {
      this.waiting = this.waiting.slice(1)
      return { call, members: [first] }
    }
    const members: Waiting[] = []
    const left: Waiting[] = []
    for (const waiting of this.waiting) {
      try {
        if (!waiting.isAlone && call.add(waiting.commit)) members.push(waiting)
        else left.push(waiting)
      } catch (error) {
        this.waiting = this.waiting.filter((one) => one !== waiting)
        waiting.reject(error)
        return undefined
      }
    }
    this.waiting = left
    return { call, members }
  }
}
