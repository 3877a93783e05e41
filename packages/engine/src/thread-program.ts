/** The program of a statement thread: processes one piece of work at a time with a separate store handle. See `threads/statement-threads.ts`. */
import { setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { AccessPolicy } from './access/access-policy.ts'
import type { CallerDatabase } from './caller-operations.ts'
import type { CancelSignal } from './cancel-signal.ts'
import { assert } from './errors.ts'
import { FederatedDatabase } from './federated-database.ts'
import { statementThreadPriority } from './limits.ts'
import type { QueryProgress, QueryWatch, RowChunk, RowChunks, StatementSlice } from './query/query-request.ts'
import { openStoreInThread } from './storage/open-store.ts'
import { onlyInMainThread } from './store/only-in-main-thread.ts'
import type { Commit, CommitLock, CommitOutcome, Precondition } from './store/store.ts'
import { type FromThread, receivedError, sentError, type ThreadStart, type ToThread } from './threads/messages.ts'
import { type QueryData, queryOf, type ReplyOfForm } from './threads/query-in-thread.ts'
import { sentCommit } from './threads/sent-commit.ts'
import { Budgets, ThreadMemory, ThreadReplies, ThreadSpace } from './threads/thread-budgets.ts'
import { ThreadSignal, ThreadSlice } from './threads/thread-slice.ts'
import type { ChangeSet } from './write/change-set.ts'

/** Bytes of rows sent ahead of the reader; the main thread charges them to the statement until they are consumed. */
const bytesAheadMax = 2 ** 18

export interface ThreadContext {
  readonly fd: FederatedDatabase
  readonly database: CallerDatabase
  readonly slice: StatementSlice
  readonly signal: CancelSignal
  readonly watch: QueryWatch
  /** See `ThreadWork.beforeChange`. */
  beforeChange(): void
  /** See `ThreadWork.admitValues`. */
  admitValues(values: number): Promise<void>
}

/** `data`: of `ThreadWork`. Returns plain data. Throws `onlyInMainThread` for work that a thread cannot do. */
export type ThreadOperation = (data: never, context: ThreadContext) => Promise<unknown>

interface PendingCommit {
  readonly preconditions: readonly Precondition[]
  readonly hasChanges: boolean
  resolve(outcome: CommitOutcome): void
  reject(error: unknown): void
}

/** Must be called once by the program of a thread. `operations`: additional operations by name. */
export function serveStatementThread(
  operations: Readonly<Record<string, ThreadOperation>> = {},
  replyOf?: ReplyOfForm,
): void {
  const port = parentPort as MessagePort
  assert(port !== null, 'this program runs in a worker thread')
  const start = workerData as ThreadStart & { readonly budgetPort: MessagePort }
  new StatementThread(port, start, operations, replyOf).serve()
}

interface Answer {
  resolve(): void
  reject(error: unknown): void
}

interface PendingDraw {
  resolve(numbers: readonly bigint[]): void
  reject(error: unknown): void
}

class StatementThread {
  private readonly port: MessagePort
  private readonly start: ThreadStart & { readonly budgetPort: MessagePort }
  private readonly operations: Readonly<Record<string, ThreadOperation>>
  private readonly replyOf: ReplyOfForm | undefined
  private readonly signal: ThreadSignal
  private readonly opening: Promise<FederatedDatabase>
  private readonly commits = new Map<number, PendingCommit>()
  private commitsSent = 0
  private readonly draws = new Map<number, PendingDraw>()
  private drawsSent = 0
  /** The current work has committed: its reply is sent even if it is cancelled now. */
  private hasCommitted = false
  private bytesAhead = 0
  private onConsumed: (() => void) | undefined
  private admission: Answer | undefined
  private locking: Answer | undefined

  constructor(
    port: MessagePort,
    start: StatementThread['start'],
    operations: StatementThread['operations'],
    replyOf: ReplyOfForm | undefined,
  ) {
    this.port = port
    this.start = start
    this.operations = operations
    this.replyOf = replyOf
    this.signal = new ThreadSignal(start.cells)
    this.opening = this.open()
  }

  serve(): void {
    this.opening.then(() => this.send({ kind: 'opened' }))
    this.port.on('message', (message: ToThread) => {
      switch (message.kind) {
        case 'run':
          this.bytesAhead = 0
          this.hasCommitted = false
          void this.run(message)
          break
        case 'consumed':
          this.bytesAhead -= message.bytes
          this.onConsumed?.()
          break
        case 'cancel':
          this.onConsumed?.()
          this.admission?.reject(this.signal.reason)
          this.signal.notify()
          break
        case 'locked':
          if (message.error === undefined) this.locking?.resolve()
          else this.locking?.reject(receivedError(message.error))
          break
        case 'admitted':
          if (message.error === undefined) this.admission?.resolve()
          else this.admission?.reject(receivedError(message.error))
          break
        case 'committed':
          this.committed(message)
          break
        case 'drawn':
          this.drawn(message)
          break
        case 'close':
          this.opening.then((database) => database.store.close()).finally(() => process.exit())
          break
        default:
          assert(message satisfies never, 'no other message is sent')
      }
    })
  }

  private async open(): Promise<FederatedDatabase> {
    // The event loop of the main thread has priority. On other platforms, priorities apply to the whole process.
    if (process.platform === 'linux') setPriority(statementThreadPriority)
    const {
      address,
      alias,
      budgetPort,
      cells,
      dialect,
      isolation,
      importDirectory: importDir,
      limits,
      temporaryDirectory,
    } = this.start
    const reading = await openStoreInThread(address, (made) => this.commit(made))
    const store = { ...reading, lockCommits: () => this.lockCommits() }
    const budgets = new Budgets(budgetPort, cells)
    const temporary = new ThreadSpace(temporaryDirectory, budgets)
    const options = { alias, store, limits, dialect, isolation, memory: new ThreadMemory(budgets), temporary }
    const mainThread = {
      purge: (): void => this.send({ kind: 'purge' }),
      next: (sequence: string, count: number) => this.draw(sequence, count),
    }
    return FederatedDatabase.openInThread(
      { ...options, ...(importDir === undefined ? {} : { importDir }) },
      { mainThread, replies: new ThreadReplies(budgets) },
    )
  }

  private async run({ operation, data, policy, isObserved }: ToThread & { readonly kind: 'run' }): Promise<void> {
    const { signal, start } = this
    const opened = await this.opening
    const slice = new ThreadSlice(start.cells, opened.store, start.limits)
    let progress: QueryProgress | undefined
    const watch = {
      onStarted(queryProgress: QueryProgress) {
        progress = queryProgress
        slice.progress = queryProgress
      },
      onEnded: (error: unknown) => this.send({ kind: 'ended', error: sentError(error) }),
    }
    try {
      const fd = isObserved ? opened.observedBy(() => undefined) : opened
      let database: CallerDatabase = fd
      if (policy !== undefined) {
        database = opened.as(policy as AccessPolicy)
        if (isObserved) database = database.observedBy(() => undefined)
      }
      let isAnnounced = false
      const beforeChange = (): void => {
        if (!isAnnounced) this.send({ kind: 'changing' })
        isAnnounced = true
      }
      const admitValues = (values: number): Promise<void> => this.admit(values)
      const context = { fd, database, slice, signal, watch, beforeChange, admitValues }
      const result = await this.resultOf(operation, data, context)
      slice.report()
      this.send({ kind: 'done', rows: progress?.rows ?? 0, touched: progress?.touched ?? 0, result })
    } catch (error) {
      this.send(error === onlyInMainThread ? { kind: 'refused' } : { kind: 'failed', error: sentError(error) })
    }
  }

  private draw(sequence: string, count: number): Promise<readonly bigint[]> {
    return new Promise((resolve, reject) => {
      const id = ++this.drawsSent
      this.draws.set(id, { resolve, reject })
      this.send({ kind: 'draw', id, sequence, count })
    })
  }

  private drawn({ id, numbers }: ToThread & { readonly kind: 'drawn' }): void {
    const pending = this.draws.get(id)
    assert(pending !== undefined, 'a draw is answered once')
    this.draws.delete(id)
    if ('message' in numbers) pending.reject(receivedError(numbers))
    else pending.resolve(numbers)
  }

  private admit(values: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.admission = { resolve, reject }
      this.send({ kind: 'admit', values })
    })
  }

  private async resultOf(operation: string, data: object, context: ThreadContext): Promise<unknown> {
    if (operation !== 'query') {
      const run = this.operations[operation]
      assert(run !== undefined, 'the program of the thread has the operation')
      return run(data as never, context)
    }
    const { database, slice, signal, watch } = context
    const { chunks } = await database.query({ ...queryOf(data as QueryData, this.replyOf), slice, signal, watch })
    return this.sendAll(chunks)
  }

  private async sendAll(chunks: RowChunks): Promise<void> {
    for (const chunk of chunks.atHand ?? []) await this.sendChunk(chunk)
    if (chunks.atHand !== undefined) return
    for await (const chunk of chunks) {
      await this.sendChunk(chunk)
      if (!this.hasCommitted) this.signal.throwIfAborted()
    }
  }

  /** Waits for the reader, which bounds the number of chunks sent ahead. */
  private async sendChunk(chunk: RowChunk): Promise<void> {
    this.send({ kind: 'chunk', chunk })
    this.bytesAhead += chunk.bytes.length
    while (this.bytesAhead > bytesAheadMax && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.onConsumed = resolve
      })
    }
  }

  private lockCommits(): Promise<CommitLock> {
    return new Promise((resolve, reject) => {
      this.locking = { resolve: () => resolve({ release: () => this.send({ kind: 'unlock' }) }), reject }
      this.send({ kind: 'lock' })
    })
  }

  private commit(made: Commit): Promise<CommitOutcome> {
    const changes = made.summary as ChangeSet | undefined
    return new Promise((resolve, reject) => {
      const id = ++this.commitsSent
      this.commits.set(id, {
        preconditions: [...made.preconditions],
        hasChanges: made.changes.length > 0 && made.isReservation !== true,
        resolve,
        reject,
      })
      const commit = sentCommit(made)
      const isReservation = made.isReservation === true
      const isLocked = made.lock !== undefined
      this.send({ kind: 'commit', id, commit, changes, isReservation, isLocked }, [commit.items.buffer as ArrayBuffer])
    })
  }

  private committed({ id, failed, error }: ToThread & { readonly kind: 'committed' }): void {
    const pending = this.commits.get(id)
    assert(pending !== undefined, 'a commit is answered once')
    this.commits.delete(id)
    this.hasCommitted ||= pending.hasChanges && error === undefined && failed === undefined
    if (error !== undefined) pending.reject(receivedError(error))
    else if (failed === undefined) pending.resolve({ isCommitted: true })
    else pending.resolve({ isCommitted: false, failed: pending.preconditions[failed] as Precondition })
  }

  private send(message: FromThread, transferred: readonly ArrayBuffer[] = []): void {
    this.port.postMessage(message, transferred)
  }
}
