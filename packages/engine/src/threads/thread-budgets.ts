/** Budgets of memory and disk in a statement thread: the main thread keeps the accounts of the process. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { MemoryPool } from '../budget/memory-pool.ts'
import { smallReplyBytes } from '../limits.ts'
import { ReplyBudget } from '../receipts/reply-budget.ts'
import { TemporarySpace } from '../spill/temporary-space.ts'
import { receivedError, type SentError, type Taking } from './messages.ts'
import { answerFlag, type SharedCells } from './shared-cells.ts'

/** Requests bytes from the main thread and blocks until it answers, which takes as long as one step of work there: some milliseconds. */
export class Budgets {
  private readonly port: MessagePort
  private readonly cells: SharedCells

  /** `port`: the main thread answers on it with an error, or undefined. */
  constructor(port: MessagePort, cells: SharedCells) {
    this.port = port
    this.cells = cells
  }

  /** Throws the main thread's refusal. */
  take(budget: Taking['budget'], bytes: number, bytesMax: number): void {
    if (bytes === 0) return
    const { flags } = this.cells
    const before = Atomics.load(flags, answerFlag)
    this.port.postMessage({ kind: 'take', budget, bytes, bytesMax } satisfies Taking)
    if (bytes < 0) return
    // A late notification of an earlier answer would wake the thread too early.
    while (Atomics.load(flags, answerFlag) === before) Atomics.wait(flags, answerFlag, before)
    const error: SentError | undefined = receiveMessageOnPort(this.port)?.message
    if (error !== undefined) throw receivedError(error)
  }
}

export class ThreadMemory extends MemoryPool {
  private readonly budgets: Budgets
  private threadBytes = 0

  constructor(budgets: Budgets) {
    super()
    this.budgets = budgets
  }

  override get bytes(): number {
    return this.threadBytes
  }

  override take(bytes: number, bytesMax: number): void {
    this.budgets.take('memory', bytes, bytesMax)
    this.threadBytes += bytes
  }

  override giveBack(bytes: number): void {
    this.budgets.take('memory', -bytes, 0)
    this.threadBytes -= bytes
  }
}

export class ThreadSpace extends TemporarySpace {
  private readonly budgets: Budgets

  constructor(directory: string, budgets: Budgets) {
    super(directory)
    this.budgets = budgets
  }

  override take(bytes: number, bytesMax: number): void {
    this.budgets.take('disk', bytes, bytesMax)
  }

  override giveBack(bytes: number): void {
    this.budgets.take('disk', -bytes, 0)
  }
}

export class ThreadReplies extends ReplyBudget {
  private readonly budgets: Budgets

  constructor(budgets: Budgets) {
    super(0, 0)
    this.budgets = budgets
  }

  override take(bytes: number, chargedBytes: number): boolean {
    if (bytes <= smallReplyBytes) return true
    try {
      this.budgets.take('replies', bytes, chargedBytes)
      return true
    } catch {
      return false
    }
  }
}
