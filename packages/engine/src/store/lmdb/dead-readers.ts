/** Clears the reader slots of killed processes: LMDB keeps every page that such a slot might still read. */
import { deadReadersMs } from '../../limits.ts'
import type { Environment } from './lmdb-js.ts'

export class DeadReaders {
  /** Opening an environment has just cleared them. */
  private lastMs = performance.now()

  /**
   * Call it before a commit, since only commits let the file grow; does nothing until `deadReadersMs` have passed. LMDB tells live
   * processes by the locks that they hold on `lock.mdb`, so it may run beside readers, openers and commits.
   */
  clearNowAndThen(environment: Pick<Environment, 'readerCheck'>): void {
    const now = performance.now()
    if (now - this.lastMs < deadReadersMs) return
    this.lastMs = now
    environment.readerCheck()
  }
}
