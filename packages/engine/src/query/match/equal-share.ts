/**
 * The work of one side of a search in its turns with the other side: it never does more than that has done, so both
 * together cost at most about twice as much as the cheaper one alone.
 */
import { isMemoryRefused } from '../../budget/request-memory.ts'

export class EqualShare {
  private readonly work: AsyncGenerator<number>
  private readonly before: number
  private readonly giveUp: () => void
  private spent = 0
  private cost = 0
  private isAtEnd = false

  /**
   * `work`: yields what each of its pieces has cost, as a number of edges; `before`: what the other side does ahead of it; `giveUp`: called where
   * there is no memory to go on.
   */
  constructor(work: AsyncGenerator<number>, before: number, giveUp: () => void) {
    this.work = work
    this.before = before
    this.giveUp = giveUp
  }

  /** Whether it would do anything in its turn. */
  get isOver(): boolean {
    return this.isAtEnd
  }

  /** After so much work of the other side. Returns what was done, as a number of edges. */
  async advance(spent: number): Promise<number> {
    this.spent += spent
    if (this.isAtEnd || this.spent < this.before) return 0
    const costBefore = this.cost
    try {
      while (!this.isAtEnd && this.cost < this.spent) {
        const { done, value } = await this.work.next()
        if (done === true) this.isAtEnd = true
        else this.cost += value
      }
    } catch (error) {
      // The search goes on without what there is no memory for.
      if (!isMemoryRefused(error)) throw error
      this.isAtEnd = true
      this.giveUp()
    }
    return this.cost - costBefore
  }

  /** When nobody asks any more; what it reads is let go of. May be called again. */
  async close(): Promise<void> {
    this.isAtEnd = true
    await this.work.return(undefined)
  }
}
