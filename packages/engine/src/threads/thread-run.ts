/** One statement that runs in a thread, as the main thread sees it. */
import type { MemoryHolder } from '../budget/memory-pool.ts'
import { RowsAtHand } from '../query/execute/row-chunk.ts'
import type { QueryProgress, QueryRequest, RowChunk, RowChunks } from '../query/query-request.ts'
import { type FromThread, receivedError } from './messages.ts'
import { cancelFlag, progressCells, type SharedCells } from './shared-cells.ts'

export class ThreadRun {
  readonly holder: MemoryHolder | undefined
  private readonly request: QueryRequest
  private readonly cells: SharedCells
  private readonly cancelThread: () => void
  private readonly chunks: RowChunk[] = []
  private isDone = false
  private isRefused = false
  private failure: unknown
  private hasFailed = false
  private isCancelled = false
  private wake: (() => void) | undefined
  private end!: () => void
  /** Resolves with the last message of the thread. */
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve
  })
  private readonly onAbort = (): void => {
    this.fail(this.request.signal?.reason)
    this.cancel()
  }

  constructor(request: QueryRequest, cells: SharedCells, cancelThread: () => void) {
    this.request = request
    this.holder = request.memoryHolder
    this.cells = cells
    this.cancelThread = cancelThread
    const { signal, watch } = request
    if (signal?.aborted === true) this.onAbort()
    else signal?.addEventListener('abort', this.onAbort)
    watch?.onBegun?.(new CellProgress(cells.progress))
  }

  /** How long the thread has worked for it, in milliseconds. */
  get workedMs(): number {
    return this.cells.progress[progressCells.workedMs] as number
  }

  /** `refusal`: of memory or disk, which the thread may have failed with. True for the last message. */
  receive(message: Exclude<FromThread, { kind: 'commit' }>, refusal: Error | undefined): boolean {
    if (message.kind === 'chunk') {
      const { bytes, starts } = message.chunk
      this.chunks.push({ bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), starts })
    } else if (message.kind === 'done') this.isDone = true
    else if (message.kind === 'failed')
      this.fail(refusal?.message === message.error.message ? refusal : receivedError(message.error))
    else if (message.kind === 'ended') this.onEnded(receivedError(message.error))
    else if (message.kind === 'refused') this.isRefused = true
    this.wake?.()
    const isLast = message.kind === 'done' || message.kind === 'failed' || message.kind === 'refused'
    if (!isLast) return false
    this.request.signal?.removeEventListener('abort', this.onAbort)
    this.end()
    return true
  }

  /** Resolves with the first rows, or with all of them; with undefined if only the main thread runs such statements. */
  async begun(onConsumed: (bytes: number) => void): Promise<RowChunks | undefined> {
    await this.arrival()
    if (this.isRefused) return undefined
    if (this.hasFailed) throw this.failure
    if (this.isDone) return new RowsAtHand(this.chunks)
    return { [Symbol.asyncIterator]: () => this.rows(onConsumed) }
  }

  /** The thread has ended. Without an error it had not opened the store: the main thread runs the statement. */
  exited(error: Error | undefined): void {
    if (error === undefined) this.isRefused = true
    else this.fail(error)
    this.end()
    this.wake?.()
  }

  /** The first failure counts. */
  fail(error: unknown): void {
    if (!this.hasFailed) this.failure = error
    this.hasFailed = true
    this.wake?.()
  }

  private async *rows(onConsumed: (bytes: number) => void): AsyncGenerator<RowChunk> {
    try {
      for (;;) {
        if (this.hasFailed) throw this.failure
        const chunk = this.chunks.shift()
        if (chunk !== undefined) {
          yield chunk
          onConsumed(chunk.bytes.length)
        } else if (this.isDone) return
        else await this.arrival()
      }
    } finally {
      if (!this.isDone) {
        this.cancel()
        // What the statement holds is given back with its last message.
        await this.ended
      }
    }
  }

  private async arrival(): Promise<void> {
    if (this.chunks.length > 0 || this.isDone || this.hasFailed || this.isRefused) return
    await new Promise<void>((resolve) => {
      this.wake = resolve
    })
    this.wake = undefined
  }

  private cancel(): void {
    if (this.isCancelled) return
    this.isCancelled = true
    Atomics.store(this.cells.flags, cancelFlag, 1)
    this.cancelThread()
  }

  private onEnded(error: Error): void {
    this.request.watch?.onEnded?.(error as Parameters<NonNullable<NonNullable<QueryRequest['watch']>['onEnded']>>[0])
  }
}

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
