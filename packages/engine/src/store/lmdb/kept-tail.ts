/** Caches the block appended last, so that it need not be read and verified for each commit unless other processes commit. */
import type { AppendBlock } from '../append-blocks.ts'
import type { Environment } from './lmdb-js.ts'

export class TailCache {
  private environment: Environment | undefined
  private transaction = 0
  private block: AppendBlock | undefined

  /**
   * The stored block for the write transaction of that number; undefined if it must be read. Removes it from the cache, since the transaction may
   * fail.
   */
  take(environment: Environment, transaction: number): AppendBlock | undefined {
    const { block } = this
    const isCurrent = this.environment === environment && this.transaction + 1 === transaction
    this.forget()
    return isCurrent ? block : undefined
  }

  /** Caches the block that the write transaction of that number stores. */
  keep(environment: Environment, transaction: number, block: AppendBlock): void {
    this.environment = environment
    this.transaction = transaction
    this.block = block
  }

  /** Must be called after a failed transaction, whose number is reused, also by other processes. */
  forget(): void {
    this.environment = undefined
    this.block = undefined
  }
}
