/**
 * Ensures that reads show all that the data file contains. The last step of a commit raises the number in LMDB's lock table at which reads begin. A
 * process killed just before that step leaves a commit that its client may learn about, but that reads do not show until a process writes or opens
 * the store.
 */
import { AshlarError, fatalFailure } from '../../errors.ts'
import { raiseMsMax, raiseRefusalMs } from '../../limits.ts'
import { type Gate, pollBlocking } from './gate.ts'
import { lastTransaction } from './last-transaction.ts'
import type { Environment } from './lmdb-js.ts'
import type { LockTable } from './lock-table.ts'
import type { OpenedFiles } from './opened-files.ts'
import { isProcessRunning, type WriterNote } from './writer-note.ts'

export interface VisibleCommitParts {
  readonly environment: Environment
  readonly lockTable: LockTable
  readonly note: WriterNote
  readonly files: Pick<OpenedFiles, 'problem'>
  /** The gate of the store's handle, which may be held. */
  readonly gate: Pick<Gate, 'isAlone'>
  /** Opens a separate gate, to be closed by the caller. */
  readonly openGate: () => Gate
}

export class VisibleCommit {
  private readonly parts: VisibleCommitParts
  /** The number on which file and lock table agreed when last compared. */
  private lastVisible = -1
  private refusedUntilMs = Number.NEGATIVE_INFINITY

  constructor(parts: VisibleCommitParts) {
    this.parts = parts
  }

  /**
   * Must be called before a read transaction begins, which then shows every commit that a process has completed, or left behind when it ended. Throws
   * StoreUnavailable if that is impossible at present. Costs one read of the file unless there are new commits. Returns the number of a commit that
   * the transaction shows: usually the last one, unless that is being completed.
   */
  ensure(): number {
    const written = lastTransaction(this.parts.environment)
    if (written !== this.lastVisible) this.compare(written)
    return this.lastVisible
  }

  private compare(written: number): void {
    const { note } = this.parts
    if (this.isVisible(written)) return
    const pid = note.pid
    // A process that has written meanwhile has raised the number first; otherwise `pid` wrote the last commit.
    if (this.isVisible(written)) return
    const problem = this.parts.files.problem()
    if (problem !== undefined) throw fatalFailure(problem)
    // It is still committing, and has acknowledged nothing.
    if (isProcessRunning(pid)) return
    this.raise(written)
  }

  private isVisible(written: number): boolean {
    if (this.parts.lockTable.lastTransaction() < written) return false
    this.lastVisible = written
    return true
  }

  /** Other processes may be doing the same: when the holder of LMDB's write lock ends, a waiting process gets the lock and raises the number. */
  private raise(written: number): void {
    const isRefused = performance.now() < this.refusedUntilMs
    const raisingGate = this.parts.openGate()
    const isDone = (): boolean => {
      this.tryToRaise(raisingGate)
      return this.isVisible(written)
    }
    try {
      if (pollBlocking(isDone, isRefused ? 0 : raiseMsMax)) return
    } finally {
      raisingGate.close()
    }
    if (!isRefused) this.refusedUntilMs = performance.now() + raiseRefusalMs
    throw new AshlarError(
      'StoreUnavailable',
      'The storage of the database cannot be read at present: a process was killed while it committed, and another one that commits to it or ' +
        'opens it does not go on. Where that one is suspended (SIGSTOP, a debugger), resume it, or kill it (kill -9).',
    )
  }

  /** Beginning a write corrects the number. With the gate held exclusively, no other process holds the lock for that purpose. */
  private tryToRaise(other: Gate): void {
    const { gate, environment } = this.parts
    if (!gate.isAlone && !other.tryEnterAlone()) return
    environment.list.transactionSync(() => undefined)
    other.leave()
  }
}
