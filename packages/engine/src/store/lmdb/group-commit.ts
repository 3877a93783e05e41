/** Combines waiting commits into one durable transaction, each with a separate result. */
import { AshlarError, assert } from '../../errors.ts'
import { commitGateMsMax, storeClosingMsMax } from '../../limits.ts'
import { checkedCommitBytes } from '../check-commit.ts'
import { type CommitCounts, countGroup, newCommitCounts } from '../commit-counts.ts'
import { DamagedEntry } from '../damaged-entry.ts'
import { readAnew } from '../reads-of-turn.ts'
import type { Awaitable, Commit, CommitLock, CommitOutcome } from '../store.ts'
import { applyCommit, applyInSlices, isLarge, syncBytesMax, tooLarge, WriteTransactionState } from './apply-commit.ts'
import { DeadReaders } from './dead-readers.ts'
import type { EntryChecks } from './entry-checks.ts'
import { lmdbKeyBytesMax, lmdbValueBytesMax } from './environment.ts'
import type { Gate } from './gate.ts'
import { GrantedLock } from './granted-lock.ts'
import { TailCache } from './kept-tail.ts'
import { lastTransaction } from './last-transaction.ts'
import { pauseWriting } from './lmdb-internals.ts'
import type { Environment } from './lmdb-js.ts'
import { type OpenedFiles, ReplacementInProgress } from './opened-files.ts'
import { type StorageFailure, StoreRewound, storageFailure } from './storage-failure.ts'
import { StuckWrites } from './stuck-writes.ts'
import { writeTransaction } from './write-under-way.ts'
import type { WriterNote } from './writer-note.ts'

// Applying a group blocks this process and other writers, so groups are bounded. A larger commit forms a group of its own, applied in slices.
const groupCommitsMax = 1_000
const groupMs = 10
/** Changes, preconditions and units of `bytesOfWork` processed between clock checks: a tenth of a millisecond. */
const workPerClockCheck = 64
const bytesOfWork = 4_096

const limits = { keyBytesMax: lmdbKeyBytesMax, valueBytesMax: lmdbValueBytesMax }

interface Waiting {
  readonly commit: Commit
  readonly bytes: number
  isLarge: boolean
  /** A lock, whose holder provides the commit. */
  readonly lock?: GrantedLock
  resolve(outcome: CommitOutcome): void
  reject(error: Error): void
}

export interface GroupCommit {
  commit(commit: Commit): Promise<CommitOutcome>
  /** See `CommitLocking`. */
  lockCommits(): Promise<CommitLock>
  readonly counts: CommitCounts
  /** Resolves when the commit being applied in slices is finished. */
  sliced(): Promise<void> | undefined
  /** The error that currently refuses every commit, if any. */
  problem(): Error | undefined
  /**
   * Refuses further commits and resolves when those in progress are answered. Throws StoreUnavailable if LMDB's write
   * lock was awaited for `closeMsMax`: all commits are answered then, but the environment must not be closed before
   * `idle` resolves.
   */
  close(): Promise<void>
  /** Resolves when no write is in progress. */
  idle(): Promise<void>
}

/** The environment of the groups, and the components involved in writing. */
export interface GroupTarget {
  readonly environment: Environment
  /** Entered before a write transaction begins, left after its end. */
  readonly gate: Gate
  /** Receives the process id of the writer, for readers. */
  readonly note?: Pick<WriterNote, 'notePid'> | undefined
  /** Checked before and after each write transaction. */
  readonly files: Pick<OpenedFiles, 'check' | 'checkWritten'>
  /**
   * After ReplacementInProgress, outside the gate: makes this process follow, so that commits can proceed. Throws an
   * `Error` for the operator.
   */
  readonly followReplacement?: () => Promise<void>
  /** Called once if the environment is unusable until it is reopened. */
  readonly onUnusable?: ((error: Error) => void) | undefined
  readonly location: string
  readonly checks: EntryChecks
  /** For tests: how long a commit waits for one of another process. */
  readonly commitMsMax?: number
  /** For tests: how long closing waits for a commit of another process. */
  readonly closeMsMax?: number
}

interface Queue {
  waiting: Waiting[]
  readonly deadReaders: DeadReaders
  readonly stuck: StuckWrites
  readonly counts: CommitCounts
  readonly tailCache: TailCache
  fatalFailure: Error | undefined
  sliced: Promise<void> | undefined
  /** After a failed group: the number of waiting commits to apply again, at most `groupMax` per group. */
  again: { commits: number; groupMax: number }
}

const nothing: Commit = { changes: [], preconditions: [] }
const nothingAgain = { commits: 0, groupMax: 0 }

export function openGroupCommit(target: GroupTarget): GroupCommit {
  const { location, closeMsMax = storeClosingMsMax } = target
  // Waiting commits join a group only once the lock is held, so none of their work was done.
  const stuck = new StuckWrites(target.commitMsMax ?? commitGateMsMax, () => {
    const refusal = stuckRefusal()
    if (refusal !== undefined) refuseWaiting(queue, refusal)
  })
  const queue = newQueue(stuck)
  let flushing: Promise<void> | undefined
  let isClosed = false
  let grantedLock: GrantedLock | undefined
  const follow = followingReplacements(target)

  function stuckRefusal(): Error | undefined {
    const problem = stuck.problem()
    return problem === undefined ? undefined : notEntered(location, problem)
  }

  const refusal = (): Error | undefined => queue.fatalFailure ?? stuckRefusal()

  function enqueue(waiting: Waiting): void {
    assert(!isClosed, 'a commit reaches the store before it is closed')
    const refused = refusal()
    if (refused !== undefined) throw refused
    queue.waiting.push(waiting)
    flushing ??= flushAll(target, queue, follow, () => {
      flushing = undefined
    })
  }

  return {
    commit(commit) {
      const { lock } = commit
      if (lock instanceof GrantedLock && lock.isActive) return lock.commit(commit)
      // The lock's holder waits for this commit.
      if (commit.isReservation === true) grantedLock?.release()
      // An exception rejects the promise.
      return new Promise((resolve, reject) => enqueue(waitingCommit(commit, resolve, reject)))
    },
    lockCommits: () =>
      new Promise((resolve, refuse) => {
        const grant = (lock: GrantedLock): void => {
          grantedLock = lock
          resolve(lock)
        }
        enqueue(waitingLock(grant, refuse))
      }),
    counts: queue.counts,
    sliced: () => queue.sliced,
    problem: refusal,
    async close() {
      isClosed = true
      if (await stuck.isOverInTime(flushing ?? Promise.resolve(), closeMsMax)) return stuck.close()
      const error = notClosed(location, closeMsMax)
      refuseWaiting(queue, error)
      throw error
    },
    async idle() {
      await flushing
      stuck.close()
    },
  }
}

function newQueue(stuck: StuckWrites): Queue {
  return {
    waiting: [],
    fatalFailure: undefined,
    sliced: undefined,
    again: nothingAgain,
    deadReaders: new DeadReaders(),
    stuck,
    counts: newCommitCounts(),
    tailCache: new TailCache(),
  }
}

function waitingCommit(commit: Commit, resolve: Waiting['resolve'], reject: Waiting['reject']): Waiting {
  const large = isLarge(commit)
  // Its checks run in slices too, when it is applied.
  return { commit, bytes: large ? 0 : checkedCommitBytes(commit, limits), isLarge: large, resolve, reject }
}

async function flushAll(
  target: GroupTarget,
  queue: Queue,
  follow: ReturnType<typeof followingReplacements>,
  onDone: () => void,
): Promise<void> {
  while (queue.waiting.length > 0) {
    try {
      const refusal = (await enter(target)) ?? (await follow(await flushInGate(target, queue)))
      if (refusal !== undefined) refuseWaiting(queue, refusal)
    } catch (cause) {
      // For example, leaving the gate failed. Waiting and later commits are answered rather than left waiting.
      refuseWaiting(queue, new Error(`The storage of ${target.location} failed: ${String(cause)}`, { cause }))
    }
  }
  // Synchronously: the next commit starts a new flush.
  onDone()
}

/** A lock waits like a commit, which its holder provides later. */
function waitingLock(grant: (lock: GrantedLock) => void, refuse: (error: Error) => void): Waiting {
  const lock = new GrantedLock(grant)
  const reject = (error: Error): void => {
    refuse(error)
    lock.reject(error)
  }
  return { commit: nothing, bytes: 0, isLarge: false, lock, resolve: (outcome) => lock.resolve(outcome), reject }
}

/** Returns a function to call after each group, with the error for waiting commits if a compaction has blocked the group and following it fails. */
function followingReplacements({
  location,
  followReplacement,
}: GroupTarget): (isBlocked: boolean) => Promise<Error | undefined> {
  let since: number | undefined
  return async (isBlocked) => {
    if (!isBlocked) {
      since = undefined
      return undefined
    }
    since ??= performance.now()
    try {
      await followReplacement?.()
    } catch (cause) {
      return notEntered(location, cause instanceof Error ? cause.message : String(cause))
    }
    // The time limit for other processes to open the store.
    if (performance.now() - since < commitGateMsMax) return undefined
    const seconds = commitGateMsMax / 1_000
    return notEntered(location, `another process has not opened the compacted file for ${seconds} seconds`)
  }
}

function settle(member: Waiting, outcome: CommitOutcome | DamagedEntry, checks: EntryChecks): void {
  if (!(outcome instanceof DamagedEntry)) {
    readAnew()
    member.resolve(outcome)
    return
  }
  try {
    // Naming the entry may take a read, which is impossible inside the transaction.
    member.reject(checks.damaged(outcome.key, outcome.why))
  } catch (error) {
    // The group is committed; the error concerns this member alone.
    member.reject(error as Error)
  }
}

/** The error for waiting commits if entering fails: nothing was written. */
async function enter({ gate, location }: GroupTarget): Promise<Error | undefined> {
  try {
    if (gate.tryEnter() || (await gate.enter(commitGateMsMax))) return undefined
    const seconds = commitGateMsMax / 1_000
    return notEntered(location, `another process has been opening the store for ${seconds} seconds`)
  } catch (cause) {
    return notEntered(location, cause instanceof Error ? cause.message : String(cause))
  }
}

function notEntered(location: string, reason: string): Error {
  return new AshlarError('StoreUnavailable', `The storage of ${location} cannot be written to at present: ${reason}.`)
}

function notClosed(location: string, closeMsMax: number): Error {
  return new AshlarError(
    'StoreUnavailable',
    `The storage of ${location} is still open: another process has been committing to it for ${closeMsMax / 1_000} seconds, and the wait for ` +
      'its lock cannot be cancelled. It will be closed as soon as that process continues or ends, or when this one exits.',
  )
}

function refuseWaiting(queue: Queue, error: Error): void {
  const refused = queue.waiting
  queue.waiting = []
  queue.again = nothingAgain
  for (const member of refused) member.reject(error)
}

/** The outcomes of a group's members; a member that threw has none and is the last. */
interface Attempt {
  readonly group: Waiting[]
  readonly outcomes: (CommitOutcome | DamagedEntry)[]
  /** Ends `Queue.sliced`. */
  slicesEnd?: () => void
}

async function flushInGate(target: GroupTarget, queue: Queue): Promise<boolean> {
  try {
    return await flushGroup(target, queue)
  } finally {
    target.gate.leave()
  }
}

/** True if the store was compacted, and nothing was done: see ReplacementInProgress. */
async function flushGroup(target: GroupTarget, queue: Queue): Promise<boolean> {
  const { environment, files, note, location, checks, onUnusable } = target
  const attempt: Attempt = { group: [], outcomes: [] }
  const { group, outcomes } = attempt
  try {
    queue.deadReaders.clearNowAndThen(environment)
    queue.stuck.begin()
    // The callback runs once the write lock is held: commits that arrived during the last flush form the group.
    await writeTransaction(environment, () => {
      queue.stuck.end()
      files.check()
      note?.notePid(process.pid)
      return applyGroup(environment, queue, attempt)
    })
    files.checkWritten()
    queue.waiting = queue.waiting.slice(group.length)
    takeAgain(queue, group.length)
    countGroup(queue.counts, outcomes)
    for (let position = 0; position < group.length; position++)
      settle(group[position] as Waiting, outcomes[position]!, checks)
  } catch (error) {
    queue.tailCache.forget()
    queue.stuck.end()
    if (error instanceof ReplacementInProgress) return true
    const failure = await storageFailure(error, environment, location)
    if (failure.isUnusable) {
      // The next process to open the store decides whether the last commit counts. A further write transaction would
      // never end.
      note?.notePid(0)
      environment.visibleCommit = undefined
      onUnusable?.(failure.undone)
    }
    if (!sparesInnocent(queue, attempt, failure)) failGroup(queue, group, failure)
  } finally {
    attempt.slicesEnd?.()
  }
  return false
}

/** Fills the group from the queue and applies the valid commits; runs inside a write transaction. */
function applyGroup(environment: Environment, queue: Queue, attempt: Attempt): Awaitable<void> {
  const state = new WriteTransactionState(environment, successorOf(environment), queue.tailCache)
  const alone = applySmall(environment, queue, attempt, state)
  return alone === undefined ? state.end() : applyAlone(environment, queue, alone, attempt, state)
}

/** Returns the first commit if it must be applied alone. */
function applySmall(
  environment: Environment,
  queue: Queue,
  attempt: Attempt,
  state: WriteTransactionState,
): Waiting | undefined {
  const { group, outcomes } = attempt
  const { waiting, again } = queue
  const commitsMax = again.commits === 0 ? groupCommitsMax : Math.min(again.commits, again.groupMax)
  const end = performance.now() + groupMs
  let bytes = 0
  let work = 0
  for (const next of waiting) {
    const isAlone = next.isLarge || next.lock !== undefined
    const isFull = isAlone || group.length >= commitsMax || bytes + next.bytes > syncBytesMax
    if (isFull && group.length > 0) break
    if (work >= workPerClockCheck) {
      if (performance.now() > end) break
      work = 0
    }
    group.push(next)
    if (isAlone) return next
    bytes += next.bytes
    const outcome = applyCommit(environment, next.commit, state)
    const { changes, preconditions } = next.commit
    work += changes.length + preconditions.length + (next.bytes + state.bytes) / bytesOfWork
    if (outcome !== tooLarge) {
      outcomes.push(outcome)
      continue
    }
    next.isLarge = true
    if (group.length === 1) return next
    // It will be the next group.
    group.pop()
    break
  }
  return undefined
}

async function applyAlone(
  environment: Environment,
  queue: Queue,
  { commit, lock }: Waiting,
  attempt: Attempt,
  state: WriteTransactionState,
): Promise<void> {
  // Until the transaction has ended; before that, a count of entries would include its changes.
  queue.sliced = new Promise((resolve) => {
    attempt.slicesEnd = () => {
      queue.sliced = undefined
      resolve()
    }
  })
  let actual: Commit | undefined = commit
  if (lock !== undefined) {
    const holding = lock.hold().then((made) => {
      actual = made
    })
    await pauseWriting(environment, holding)
  }
  attempt.outcomes.push(
    actual === undefined ? { isCommitted: true } : await applyInSlices(environment, actual, limits, state),
  )
  state.end()
}

/**
 * Handles a failed group so that only the cause is answered with the error. A commit that reads a damaged page fails the entire transaction, which
 * LMDB cannot continue: it gets the error, the commits before it form the next group, and those after it follow. If the commit of the transaction
 * failed because of damage in the list of free pages, the group is applied one by one. Unless other processes change the store, a commit is thus
 * applied at most twice, and each attempt answers at least one commit or is the last of its group. Returns false if all must fail.
 */
function sparesInnocent(queue: Queue, { group, outcomes }: Attempt, failure: StorageFailure): boolean {
  if (failure.isFatal || group.length === 0) return false
  if (outcomes.length < group.length) {
    const before = group.slice(0, -1)
    const { length } = before
    queue.waiting = [...before, ...queue.waiting.slice(group.length)]
    if (length > 0) queue.again = { commits: length, groupMax: length }
    else takeAgain(queue, 1)
    group.at(-1)?.reject(failure.failed)
    return true
  }
  if (!failure.isDamage || group.length === 1) return false
  queue.again = { commits: group.length, groupMax: 1 }
  return true
}

/** Counts answered commits among those to apply again. */
function takeAgain(queue: Queue, answered: number): void {
  const { commits, groupMax } = queue.again
  queue.again = commits > answered ? { commits: commits - answered, groupMax } : nothingAgain
}

/** A commit whose precondition failed gets the error too: it was checked against changes that were rolled back. */
function failGroup(queue: Queue, group: readonly Waiting[], failure: StorageFailure): void {
  const behind = queue.waiting.slice(group.length)
  const failsAll = failure.isFatal || group.length === 0
  if (failure.isFatal) queue.fatalFailure = failure.undone
  queue.waiting = failsAll ? [] : behind
  takeAgain(queue, group.length)
  for (const member of group) member.reject(failure.failed)
  if (failsAll) for (const member of behind) member.reject(failure.undone)
}

/**
 * A program that opens the store without the gate can set LMDB's transaction number back, and the next commit would overwrite the commits since; then
 * nothing more is written. Costs 1 µs per group. Returns the number of the write transaction.
 */
function successorOf(environment: Environment): number {
  const transaction = environment.getWriteTxnId()
  if (transaction !== lastTransaction(environment) + 1) throw new StoreRewound()
  return transaction
}
