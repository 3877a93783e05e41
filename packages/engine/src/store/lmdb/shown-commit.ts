/**
 * Keeps reads from showing less than the data file holds. The last step of a commit raises the number in LMDB's lock table from which reads begin. A process
 * that is killed just before that step leaves a commit that its client may find out about, and that reads do not show until somebody writes or opens the store.
 */
import { AshlarError, fatalFailure } from '../../errors.ts'
import { raiseMsMax, raiseRefusalMs } from '../../limits.ts'
import { type Gate, pollBlocking } from './gate.ts'
import { lastTransaction } from './last-transaction.ts'
import type { Environment } from './lmdb-js.ts'
import type { LockTable } from './lock-table.ts'
import type { OpenedFiles } from './opened-files.ts'
import { isRunning, type WriterNote } from './writer-note.ts'

export interface ShownCommitParts {
  readonly environment: Environment
  readonly lockTable: LockTable
  readonly note: WriterNote
  readonly files: Pick<OpenedFiles, 'problem'>
  /** Of the handle of the store, which may be in it. */
  readonly gate: Pick<Gate, 'isAlone'>
  /** One of its own, to be closed. */
  readonly openGate: () => Gate
}

export class ShownCommit {
  private readonly parts: ShownCommitParts
  /** The number that the file and the lock table had in common when they were last compared. */
  private shown = -1
  private refusedUntilMs = Number.NEGATIVE_INFINITY

  constructor(parts: ShownCommitParts) {
    this.parts = parts
  }

  /**
   * To be called before a read transaction begins, which then shows every commit that a process has completed, or left behind when it ended. Throws StoreUnavailable
   * where that is not possible at present. Costs one read of the file while nobody commits. Returns the number of a commit that the
   * transaction shows: mostly of the last one, but not while that is being completed.
   */
  ensure(): number {
    const written = lastTransaction(this.parts.environment)
    if (written !== this.shown) this.compare(written)
    return this.shown
  }

  private compare(written: number): void {
    const { note } = this.parts
    if (this.isShown(written)) return
    const pid = note.pid
    // Whoever has written meanwhile has raised the number first: so it is the process that wrote the last commit.
    if (this.isShown(written)) return
    const problem = this.parts.files.problem()
    if (problem !== undefined) throw fatalFailure(problem)
    // It is still committing, and has acknowledged nothing.
    if (isRunning(pid)) return
    this.raise(written)
  }

  private isShown(written: number): boolean {
    if (this.parts.lockTable.lastTransaction() < written) return false
    this.shown = written
    return true
  }

  /** Others may be about to do the same: whoever waits for LMDB's write lock gets it, and raises the number, when its holder ends. */
  private raise(written: number): void {
    const isRefused = performance.now() < this.refusedUntilMs
    const alone = this.parts.openGate()
    const isDone = (): boolean => {
      this.tryToRaise(alone)
      return this.isShown(written)
    }
    try {
      if (pollBlocking(isDone, isRefused ? 0 : raiseMsMax)) return
    } finally {
      alone.close()
    }
    if (!isRefused) this.refusedUntilMs = performance.now() + raiseRefusalMs
    throw new AshlarError(
      'StoreUnavailable',
      'The storage of the database cannot be read at present: a process was killed while it committed, and another one that commits to it or ' +
        'opens it does not go on. Where that one is suspended (SIGSTOP, a debugger), resume it, or kill it (kill -9).',
    )
  }

  /** Whoever begins to write sets the number right. Alone in the gate, nobody else holds the lock for that. */
  private tryToRaise(other: Gate): void {
    const { gate, environment } = this.parts
    if (!gate.isAlone && !other.tryEnterAlone()) return
    environment.list.transactionSync(() => undefined)
    other.leave()
  }
}
