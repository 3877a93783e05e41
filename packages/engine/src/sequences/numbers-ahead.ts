/** The numbers of a sequence for the steps of one transaction. Each draw is a durable commit, so repeated draws take growing blocks. */
import { AshlarError } from '../errors.ts'

const blockMax = 1_000
/** A transaction that draws no more often loses no numbers. */
const singleDrawsMax = 8

/** Numbers that are left at the end of the transaction are lost: sequences have gaps. */
export class NumbersAhead {
  private readonly draw: (count: number) => Promise<readonly bigint[]>
  private numbers: readonly bigint[] = []
  private draws = 0

  constructor(draw: (count: number) => Promise<readonly bigint[]>) {
    this.draw = draw
  }

  /** Throws the errors of `draw`. */
  async take(count: number): Promise<readonly bigint[]> {
    if (this.numbers.length < count) {
      const missing = count - this.numbers.length
      this.numbers = [...this.numbers, ...(await this.drawAtLeast(missing))]
    }
    const numbers = this.numbers.slice(0, count)
    this.numbers = this.numbers.slice(count)
    return numbers
  }

  private async drawAtLeast(count: number): Promise<readonly bigint[]> {
    const block = ++this.draws > singleDrawsMax ? Math.max(count, Math.min(2 ** (this.draws - 5), blockMax)) : count
    if (block === count) return this.draw(count)
    try {
      return await this.draw(block)
    } catch (error) {
      // There may be enough for this step.
      if (error instanceof AshlarError && error.type === 'SequenceExhausted') return this.draw(count)
      throw error
    }
  }
}
