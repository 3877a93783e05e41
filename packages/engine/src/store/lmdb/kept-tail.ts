/** What this process has appended last: while no other commits, it need not be read and checked again for each commit. */
import type { AppendBlock } from '../append-blocks.ts'
import type { Environment } from './lmdb-js.ts'

export class KeptTail {
  private environment: Environment | undefined
  private transaction = 0
  private block: AppendBlock | undefined

  /** For the write transaction of that number: the block as it is stored; undefined where it is to be read. It is no longer kept: the transaction may fail. */
  take(environment: Environment, transaction: number): AppendBlock | undefined {
    const { block } = this
    const isCurrent = this.environment === environment && this.transaction + 1 === transaction
    this.forget()
    return isCurrent ? block : undefined
  }

  /** As the write transaction of that number stores it. */
  keep(environment: Environment, transaction: number, block: AppendBlock): void {
    this.environment = environment
    this.transaction = transaction
    this.block = block
  }

  /** Where a transaction has failed: its number is given again, also to other processes. */
  forget(): void {
    this.environment = undefined
    this.block = undefined
  }
}
