/**
 * Worker threads for work that takes longer than a slice of the event loop. A thread opens the same store, computes, and sends rows as encoded
 * chunks, or a result; its commits are data, which the main thread passes to the store. Threads share nothing but the store.
 */
import { Worker } from 'node:worker_threads'
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import { AshlarError, assert } from '../errors.ts'
import {
  statementThreadCancelMs,
  statementThreadHeapMb,
  statementThreadIdleMs,
  statementThreadYoungMb,
} from '../limits.ts'
import type { QueryCounts } from '../query/query-counts.ts'
import type { StatementRunner, ThreadReply, ThreadWork } from '../query/query-resources.ts'
import type { CommitLock } from '../store/store.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { LongTexts } from './long-texts.ts'
import { MainBudgets } from './main-budgets.ts'
import {
  type FromThread,
  type PolicyData,
  type SentError,
  sentError,
  type ThreadStart,
  type ToThread,
} from './messages.ts'
import { positionOf, receivedCommit } from './sent-commit.ts'
import { cancelFlag, newSharedCells, type SharedCells } from './shared-cells.ts'
import { ThreadRun } from './thread-run.ts'

export interface ThreadOptions extends Omit<ThreadStart, 'address' | 'cells' | 'limits' | 'temporaryDirectory'> {
  /** See `thread-program.ts`. */
  readonly program: URL
}

type ThreadDatabase = Pick<
  OpenDatabase,
  'store' | 'limits' | 'memory' | 'temporary' | 'receipts' | 'sequences' | 'onCommitted' | 'onFault'
> & {
  readonly counts: QueryCounts
  readonly writer: Pick<CatalogWriter, 'purgeInBackground'>
}

export class StatementThreads implements StatementRunner {
  readonly longTexts = new LongTexts()
  private readonly options: ThreadOptions
  private readonly database: ThreadDatabase
  private readonly idle: StatementThread[] = []
  private readonly all = new Set<StatementThread>()
  private isClosed = false
  /** After a failed start, statements run on the event loop for a while. */
  private startsAgainAtMs = 0

  constructor(options: ThreadOptions, database: ThreadDatabase) {
    this.options = options
    this.database = database
  }

  /** Threads that run or wait for the next statement. */
  get size(): number {
    return this.all.size
  }

  /** A runner for one caller, with the caller's access policy. */
  as(policy: PolicyData): StatementRunner {
    const { longTexts } = this
    return { longTexts, run: (work) => this.run(work, policy) }
  }

  async run(work: ThreadWork, policy?: PolicyData): Promise<ThreadReply | undefined> {
    await work.watch?.mayContinue?.()
    if (performance.now() < this.startsAgainAtMs) return undefined
    const thread = this.free()
    if (thread === undefined) return undefined
    const { operation, data, onChanges } = work
    thread.reset()
    const run = new ThreadRun(work, thread.cells, () => thread.cancel())
    thread.begin(run)
    try {
      thread.send({ kind: 'run', operation, data, policy, isObserved: onChanges !== undefined })
    } catch {
      // A value cannot be copied, such as a number with a hidden fraction.
      run.close()
      thread.release()
      return undefined
    }
    return run.started((bytes) => thread.send({ kind: 'consumed', bytes }))
  }

  /** Ends the threads; running statements fail. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all([...this.all].map((thread) => thread.end()))
  }

  private get address(): string {
    return this.database.store.threadAddress?.() ?? ''
  }

  /** Undefined while all threads are busy, for example with clients that do not read their replies: the statement then runs on the event loop. */
  private free(): StatementThread | undefined {
    if (this.isClosed) throw new AshlarError('StoreUnavailable', 'The database is being closed.')
    for (let thread = this.idle.pop(); thread !== undefined; thread = this.idle.pop()) {
      thread.wake()
      if (thread.address === this.address) return thread
      // The store has moved to another file.
      thread.send({ kind: 'close' })
    }
    return this.all.size < this.database.limits.statementThreadsMax ? this.start() : undefined
  }

  private start(): StatementThread {
    const thread: StatementThread = new StatementThread(this.address, this.options, this.database, {
      onFree: () => {
        this.idle.push(thread)
        thread.rest(() => this.idle.splice(this.idle.indexOf(thread), 1))
      },
      onFailedStart: () => {
        this.startsAgainAtMs = performance.now() + statementThreadIdleMs
      },
      onExit: () => {
        this.all.delete(thread)
        const at = this.idle.indexOf(thread)
        if (at >= 0) this.idle.splice(at, 1)
      },
    })
    this.all.add(thread)
    return thread
  }
}

interface ThreadEvents {
  /** The thread could not open the store, or its program could not run. */
  onFailedStart(): void
  onFree(): void
  onExit(): void
}

class StatementThread {
  readonly address: string
  readonly cells: SharedCells = newSharedCells()
  private readonly database: ThreadDatabase
  private readonly events: ThreadEvents
  private readonly worker: Worker
  private readonly budgets: MainBudgets
  private readonly exited: Promise<void>
  private run: ThreadRun | undefined
  /** Whether it runs statements. A thread that ends before could not open the store, unlike the main thread. */
  private isOpen = false
  private idleTimer: NodeJS.Timeout | undefined
  private cancelTimer: NodeJS.Timeout | undefined
  /** The lock held by the run. */
  private lock: CommitLock | undefined

  constructor(address: string, options: ThreadOptions, database: ThreadDatabase, events: ThreadEvents) {
    this.address = address
    this.database = database
    this.events = events
    this.budgets = new MainBudgets(this.cells, database)
    const { limits, temporary } = database
    const { program, ...databaseOptions } = options
    const start: ThreadStart = {
      ...databaseOptions,
      address,
      limits,
      temporaryDirectory: temporary.directory,
      cells: this.cells,
    }
    this.worker = new Worker(program, {
      workerData: { ...start, budgetPort: this.budgets.port },
      transferList: [this.budgets.port],
      // Modules that the process preloads, such as a tracing SDK, are useless in a thread.
      env: { ...process.env, NODE_OPTIONS: '' },
      resourceLimits: {
        maxOldGenerationSizeMb: statementThreadHeapMb,
        maxYoungGenerationSizeMb: statementThreadYoungMb,
      },
      stdout: false,
      stderr: false,
    })
    this.worker.unref()
    this.worker.on('message', (message: FromThread) => this.receive(message))
    let failure: Error | undefined
    this.worker.on('error', (error) => {
      failure = error
    })
    this.exited = new Promise((resolve) => {
      this.worker.once('exit', () => {
        clearTimeout(this.idleTimer)
        clearTimeout(this.cancelTimer)
        this.unlock()
        if (this.run !== undefined) this.run.exited(this.isOpen ? exitError(failure) : undefined)
        else if (this.isOpen && failure !== undefined) this.database.onFault(failure)
        if (!this.isOpen) this.events.onFailedStart()
        this.run = undefined
        this.budgets.close()
        this.events.onExit()
        resolve()
      })
    })
  }

  send(message: ToThread): void {
    this.worker.postMessage(message)
  }

  /** Clears shared memory of the previous statement before the next one. */
  reset(): void {
    Atomics.store(this.cells.flags, cancelFlag, 0)
    this.cells.progress.fill(0)
  }

  begin(run: ThreadRun): void {
    this.run = run
    this.budgets.holder = run.holder
  }

  /** A statement that does not notice the cancellation, as within a regular expression, is ended with its thread. */
  cancel(): void {
    this.send({ kind: 'cancel' })
    this.cancelTimer = setTimeout(() => void this.worker.terminate(), statementThreadCancelMs).unref()
  }

  /** Ends the thread after a period without work. */
  rest(onEnd: () => void): void {
    this.idleTimer = setTimeout(() => {
      onEnd()
      this.send({ kind: 'close' })
    }, statementThreadIdleMs).unref()
  }

  wake(): void {
    clearTimeout(this.idleTimer)
  }

  async end(): Promise<void> {
    await this.worker.terminate()
    await this.exited
  }

  private receive(message: FromThread): void {
    if (message.kind === 'opened') this.isOpen = true
    else if (message.kind === 'commit') void this.commit(message)
    else if (message.kind === 'lock') void this.acquireLock()
    else if (message.kind === 'unlock') this.unlock()
    else if (message.kind === 'purge') this.database.writer.purgeInBackground()
    else if (message.kind === 'draw') void this.draw(message)
    else if (message.kind === 'admit') void this.admit(message.values)
    else if (this.run?.receive(message, this.budgets.refusal) === true) {
      this.count(message)
      this.release()
    }
  }

  /** Makes the thread available for the next statement. */
  release(): void {
    this.unlock()
    this.run = undefined
    clearTimeout(this.cancelTimer)
    this.budgets.giveBackAll()
    this.events.onFree()
  }

  private async admit(values: number): Promise<void> {
    const { run } = this
    let error: SentError | undefined
    try {
      await run?.work.admitValues?.(values)
    } catch (refusal) {
      error = sentError(refusal)
    }
    // The client may have disconnected meanwhile.
    if (this.run === run) this.send({ kind: 'admitted', ...(error && { error }) })
  }

  /** Also for work that was ended meanwhile: the numbers are lost then. */
  private async draw({ id, sequence, count }: FromThread & { kind: 'draw' }): Promise<void> {
    try {
      this.send({ kind: 'drawn', id, numbers: await this.database.sequences.next(sequence, count) })
    } catch (error) {
      this.send({ kind: 'drawn', id, numbers: sentError(error) })
    }
  }

  private count(message: FromThread): void {
    if (message.kind !== 'done') return
    this.database.counts.rows += message.rows
    this.database.counts.touched += message.touched
  }

  private async acquireLock(): Promise<void> {
    const { run } = this
    try {
      const lock = await this.database.store.lockCommits?.()
      if (this.run === run) this.lock = lock
      else lock?.release()
      this.send({ kind: 'locked' })
    } catch (error) {
      this.send({ kind: 'locked', error: sentError(error) })
    }
  }

  private unlock(): void {
    this.lock?.release()
    this.lock = undefined
  }

  private async commit({
    id,
    commit,
    changes,
    isReservation,
    isLocked,
  }: FromThread & { kind: 'commit' }): Promise<void> {
    // While the thread opens the store, commits are those of its session.
    const run = this.isOpen ? this.run : undefined
    try {
      assert(run !== undefined || !this.isOpen, 'a thread commits nothing but what its work has changed')
      const isChange = commit.changes > 0 && !isReservation
      if (isChange) run?.willCommit()
      const lock = isLocked ? this.lock : undefined
      const outcome = await this.database.store.commit({ ...receivedCommit(commit), isReservation, lock })
      if (outcome.isCommitted) {
        if (changes !== undefined) run?.work.onChanges?.(changes)
        this.database.onCommitted?.()
        this.send({ kind: 'committed', id })
      } else {
        if (isChange) {
          run?.didNotCommit()
          // The thread retries.
          if (this.database.store.counts !== undefined) this.database.store.counts.retries++
        }
        this.send({ kind: 'committed', id, failed: positionOf(outcome.failed) })
      }
    } catch (error) {
      this.send({ kind: 'committed', id, error: sentError(error) })
    }
  }
}

function exitError(failure: Error | undefined): Error {
  if (failure !== undefined && 'code' in failure && failure.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new AshlarError(
      'LimitExceeded',
      `The statement needs more than ${statementThreadHeapMb} MiB of memory for values that its limits do not count. TAKE, WHERE or several requests may help.`,
    )
  }
  return failure === undefined
    ? new AshlarError('StoreUnavailable', 'The database was closed while the statement ran.')
    : failure
}
