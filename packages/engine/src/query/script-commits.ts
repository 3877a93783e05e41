/** Commits of one text of statements: reports them if a later statement fails, and writes the request's receipt with the last one. */

import { AshlarError } from '../errors.ts'
import type { Receipt } from '../receipts/receipt.ts'
import type { Bytes } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { RowChunk } from './query-request.ts'

/** Receipt whose reply is the rows as sent. */
export type RowsReceipt = Receipt<readonly RowChunk[]>

/** Work of a transaction before and after its statements. */
export interface CommitHooks {
  before?(transaction: Transaction): Promise<void>
  after?(transaction: Transaction, result: unknown): Promise<void>
}

/**
 * A text with COMMIT EVERY has several commits: each notes their number in the receipt, and a separate last commit completes it. So a retry never
 * executes the text again, even if it was executed only in part.
 */
export class TextCommits {
  private commits = 0
  /** Rows of the imported file. */
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

  /** Before the first of several commits. Throws what `Receipt.check` throws. */
  async begin(): Promise<void> {
    const { receipt } = this
    if (receipt !== undefined && this.areSeveral)
      await withSnapshot(this.database.store, (snapshot) => receipt.check(snapshot))
  }

  /** `rows`: the number of the file's rows in the transaction. */
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

  /** Adds the committed work to an error after the first commit, and replaces a type that would permit a retry. */
  explained(error: unknown): unknown {
    const { commits, rows } = this
    if (!(error instanceof AshlarError) || commits === 0) return error
    const type = error.isRepeatable ? 'PartlyCommitted' : error.type
    const extensions = { ...error.extensions, commits, rowsCommitted: rows }
    const stays = `What was committed before stays: ${commits} commits, with ${rows} rows of the file.`
    return new AshlarError(type, `${error.message} ${stays}`, error.errors, extensions)
  }
}
