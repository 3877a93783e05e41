/** The main thread's view of one request that a thread executes. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import { AshlarError } from '../errors.ts'
import { RowsAtHand } from '../query/execute/row-chunk.ts'
import type { QueryProgress, QueryWatch, RowChunk } from '../query/query-request.ts'
import type { ThreadReply, ThreadWork } from '../query/query-resources.ts'
import { type FromThread, receivedError, type SentError } from './messages.ts'
import { cancelFlag, progressCells, type SharedCells } from './shared-cells.ts'
import { cancelledMessage } from './thread-slice.ts'

export class ThreadRun {
  readonly holder: MemoryHolder | undefined
  readonly work: ThreadWork
  private readonly cells: SharedCells
  private readonly cancelThread: () => void
  private readonly chunks: RowChunk[] = []
  private result: unknown
  private isDone = false
  private isRefused = false
  private failure: unknown
  private hasFailed = false
  private isCancelled = false
  /** Commits requested by the thread, without failed ones: their outcome counts, even if the client disconnects. */
  private commits = 0
  private wake: (() => void) | undefined
  private end!: () => void
  /** Resolves with the last message of the thread. */
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve
  })
  private readonly onAbort = (): void => {
    if (this.commits === 0) this.fail(this.work.signal?.reason)
    this.cancel()
  }

  constructor(work: ThreadWork, cells: SharedCells, cancelThread: () => void) {
    this.work = work
    this.holder = work.memoryHolder
    this.cells = cells
    this.cancelThread = cancelThread
    const { signal, watch } = work
    if (signal?.aborted === true) this.onAbort()
    else signal?.addEventListener('abort', this.onAbort)
    watch?.onStarted?.(new CellProgress(cells.progress))
  }

  /** `refusal`: the last one of memory or disk, which the thread may have failed with. True for the last message. */
  receive(message: FromThread, refusal: Error | undefined): boolean {
    if (message.kind === 'chunk') {
      const { bytes, starts } = message.chunk
      this.chunks.push({ bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), starts })
    } else if (message.kind === 'done') {
      this.isDone = true
      this.result = message.result
    } else if (message.kind === 'failed')
      this.fail(refusal?.message === message.error.message ? refusal : this.receivedFailure(message.error))
    else if (message.kind === 'changing') this.announceChange()
    else if (message.kind === 'ended') this.onEnded(receivedError(message.error))
    else if (message.kind === 'refused') this.isRefused = true
    this.wake?.()
    const isLast = message.kind === 'done' || message.kind === 'failed' || message.kind === 'refused'
    if (isLast) this.close()
    return isLast
  }

  /** Resolves with the first rows, or all of them; with undefined if only the main thread can do the work. */
  async started(onConsumed: (bytes: number) => void): Promise<ThreadReply | undefined> {
    await this.arrival()
    if (this.isRefused) return undefined
    if (this.hasFailed) throw this.failure
    if (this.isDone) return { chunks: new RowsAtHand(this.chunks), result: this.result }
    return { chunks: { [Symbol.asyncIterator]: () => this.rows(onConsumed) }, result: undefined }
  }

  /** Must be called before a commit of the thread. Throws the first failure. */
  willCommit(): void {
    if (this.hasFailed) throw this.failure
    this.commits++
  }

  /** Must be called if a precondition of the commit failed. */
  didNotCommit(): void {
    this.commits--
  }

  /** No further message arrives from the thread. */
  close(): void {
    this.work.signal?.removeEventListener('abort', this.onAbort)
    this.work.onEnded?.(this.cells.progress[progressCells.workedMs] as number)
    this.end()
  }

  /** The thread has ended. Without an error it had not opened the store, and the main thread does the work. */
  exited(error: Error | undefined): void {
    if (error === undefined) this.isRefused = true
    else this.fail(this.commits > 0 ? new AshlarError('OutcomeUnknown', `${error.message} ${mayBeCommitted}`) : error)
    this.close()
    this.wake?.()
  }

  /** Only the first failure counts. */
  fail(error: unknown): void {
    if (!this.hasFailed) this.failure = error
    this.hasFailed = true
    this.wake?.()
  }

  private async *rows(onConsumed: (bytes: number) => void): AsyncGenerator<RowChunk> {
    try {
      for (;;) {
        // Rows found before a failure are sent before it, unless the reader has left.
        if (this.hasFailed && this.isCancelled) throw this.failure
        const chunk = this.chunks.shift()
        if (chunk !== undefined) {
          yield chunk
          onConsumed(chunk.bytes.length)
        } else if (this.hasFailed) throw this.failure
        else if (this.isDone) return
        else await this.arrival()
      }
    } finally {
      if (!this.isDone) {
        this.cancel()
        // The statement's resources are released with its last message.
        await this.ended
      }
    }
  }

  private async arrival(): Promise<void> {
    while (this.chunks.length === 0 && !this.isDone && !this.hasFailed && !this.isRefused) {
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
      this.wake = undefined
    }
  }

  private cancel(): void {
    if (this.isCancelled) return
    this.isCancelled = true
    Atomics.store(this.cells.flags, cancelFlag, 1)
    this.cancelThread()
  }

  private onEnded(error: Error): void {
    this.work.watch?.onEnded?.(error as Parameters<NonNullable<QueryWatch['onEnded']>>[0])
  }

  private announceChange(): void {
    try {
      this.work.beforeChange?.()
    } catch (error) {
      this.fail(error)
      this.cancel()
    }
  }

  /** Adds the reason, known only to the main thread, to the error of a cancelled statement, which may contain the number of commits. */
  private receivedFailure(sent: SentError): unknown {
    if (!this.isCancelled || !sent.message.startsWith(cancelledMessage)) return receivedError(sent)
    const reason: unknown = this.work.signal?.reason
    if (!(reason instanceof AshlarError)) return reason
    const { type, message, errors, extensions } = reason
    const stays = sent.message.slice(cancelledMessage.length)
    return new AshlarError(type, `${message}${stays}`, errors, { ...extensions, ...sent.extensions })
  }
}

const mayBeCommitted = 'It had handed over a commit, which was made or may have been.'

class CellProgress implements QueryProgress {
  private readonly cells: SharedCells['progress']

  constructor(cells: SharedCells['progress']) {
    this.cells = cells
  }

  get rows(): number {
    return this.cells[progressCells.rows] as number
  }

  get touched(): number {
    return this.cells[progressCells.touched] as number
  }

  get workedMs(): number {
    return this.cells[progressCells.workedMs] as number
  }

  get bytesHeld(): number {
    return this.cells[progressCells.bytesHeld] as number
  }
}
