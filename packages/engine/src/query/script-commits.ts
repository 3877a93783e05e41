/** The commits of one text of statements: what is told of them when a later one fails, and the receipt that goes with the last. */

import { AshlarError } from '../errors.ts'
import type { Receipt } from '../receipts/receipt.ts'
import type { Bytes } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { RowChunk } from './query-request.ts'

/** The reply that is kept: the rows as they are sent. */
export type RowsReceipt = Receipt<readonly RowChunk[]>

/** What a transaction does beside its statements. */
export interface CommitHooks {
  before?(transaction: Transaction): Promise<void>
  after?(transaction: Transaction, result: unknown): Promise<void>
}

/**
 * A text with COMMIT EVERY has several commits: each notes in the receipt how many there are, and a commit of its own ends
 * it. So the text is not carried out twice, though it may have been carried out in part.
 */
export class TextCommits {
  private commits = 0
  /** Of the file. */
  private rows = 0
  private readonly database: OpenDatabase
  private readonly receipt: RowsReceipt | undefined
  private readonly areSeveral: boolean
  private progress: Bytes | undefined

  constructor(database: OpenDatabase, receipt: RowsReceipt | undefined, areSeveral: boolean) {
    this.database = database
    this.receipt = receipt
    this.areSeveral = areSeveral
  }

  /** Before the first of several commits. Throws what `Receipt.check` does. */
  async begin(): Promise<void> {
    const { receipt } = this
    if (receipt !== undefined && this.areSeveral)
      await withSnapshot(this.database.store, (snapshot) => receipt.check(snapshot))
  }

  /** `rows`: how many of the file the transaction is for. */
  hooks(rows: number): CommitHooks {
    const { receipt } = this
    if (receipt === undefined) return {}
    if (!this.areSeveral) {
      return {
        before: (transaction) => receipt.check(transaction),
        after: (transaction, result) => receipt.put(transaction, result as readonly RowChunk[]),
      }
    }
    return {
      after: async (transaction) => {
        const progress = { commits: this.commits + 1, rows: this.rows + rows }
        this.progress = await receipt.checkAndPutProgress(transaction, progress)
      },
    }
  }

  made(rows: number): void {
    this.commits++
    this.rows += rows
    if (this.progress !== undefined) this.receipt?.isAt(this.progress)
  }

  async end(reply: readonly RowChunk[]): Promise<void> {
    const { receipt } = this
    if (receipt === undefined || !this.areSeveral) return
    const { store, limits } = this.database
    await transact(store, limits.transactionAttemptsMax, (transaction) => receipt.checkAndPut(transaction, reply))
  }

  /** What failed after the first commit says what stays; and no longer that nothing was done, where its type would. */
  explained(error: unknown): unknown {
    const { commits, rows } = this
    if (!(error instanceof AshlarError) || commits === 0) return error
    const type = error.isRepeatable ? 'PartlyCommitted' : error.type
    const extensions = { ...error.extensions, commits, rowsCommitted: rows }
    const stays = `What was committed before stays: ${commits} commits, with ${rows} rows of the file.`
    return new AshlarError(type, `${error.message} ${stays}`, error.errors, extensions)
  }
}
