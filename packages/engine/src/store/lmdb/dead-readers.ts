/** Clears the reader slots of killed processes, since LMDB retains every page that such a slot might still read. */
import { deadReadersMs } from '../../limits.ts'
import type { Environment } from './lmdb-js.ts'

export class DeadReaders {
  /** Opening an environment has just cleared them. */
  private lastMs = performance.now()

  /**
   * Must be called before commits, since only they make the file grow; does nothing until `deadReadersMs` have passed. LMDB detects live processes by
   * their locks on `lock.mdb`, so it may run concurrently with readers, openers and commits.
   */
  clearNowAndThen(environment: Pick<Environment, 'readerCheck'>): void {
    const now = performance.now()
    if (now - this.lastMs < deadReadersMs) return
    this.lastMs = now
    environment.readerCheck()
  }
}
