/** A statement thread's accounts in the main thread: its bytes are released when its statement, or the thread, ends. */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { MemoryHolder } from '../budget/memory-pool.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { type SentError, sentError, type Taking } from './messages.ts'
import { answerFlag, type SharedCells } from './shared-cells.ts'

type BudgetsOfProcess = Pick<OpenDatabase, 'memory' | 'temporary' | 'receipts'>

export class MainBudgets {
  /** The thread's end of the channel. */
  readonly port: MessagePort
  /** The holder of the running statement. */
  holder: MemoryHolder | undefined
  /** The last error that refused the statement something: the holder's errors may be of a class unknown here. */
  refusal: Error | undefined
  private readonly mainPort: MessagePort
  private readonly cells: SharedCells
  private readonly database: BudgetsOfProcess
  private readonly charged = { memory: 0, disk: 0 }

  constructor(cells: SharedCells, database: BudgetsOfProcess) {
    const { port1, port2 } = new MessageChannel()
    this.mainPort = port1
    this.port = port2
    this.cells = cells
    this.database = database
    port1.on('message', (taking: Taking) => this.receive(taking))
    port1.unref()
  }

  giveBackAll(): void {
    this.giveBack('memory', this.charged.memory)
    this.giveBack('disk', this.charged.disk)
    this.holder = undefined
    this.refusal = undefined
  }

  close(): void {
    this.giveBackAll()
    this.mainPort.close()
  }

  private receive({ budget, bytes, bytesMax }: Taking): void {
    if (budget === 'replies') {
      this.answer(this.database.receipts.budget.take(bytes, bytesMax) ? undefined : sentError(tooManyReplies))
      return
    }
    if (bytes < 0) {
      // Bytes released at the end of a statement are not released twice.
      this.giveBack(budget, Math.min(-bytes, this.charged[budget]))
      return
    }
    let sent: SentError | undefined
    try {
      if (budget === 'memory') this.database.memory.take(bytes, bytesMax, this.holder)
      else this.database.temporary.take(bytes, bytesMax)
      this.charged[budget] += bytes
    } catch (error) {
      this.refusal = error as Error
      sent = sentError(error)
    }
    this.answer(sent)
  }

  private answer(sent: SentError | undefined): void {
    this.mainPort.postMessage(sent)
    Atomics.add(this.cells.flags, answerFlag, 1)
    Atomics.notify(this.cells.flags, answerFlag)
  }

  private giveBack(budget: 'memory' | 'disk', bytes: number): void {
    if (bytes === 0) return
    if (budget === 'memory') this.database.memory.giveBack(bytes, this.holder)
    else this.database.temporary.giveBack(bytes)
    this.charged[budget] -= bytes
  }
}

const tooManyReplies = new Error('The replies of requests with an Idempotency-Key take too much.')
