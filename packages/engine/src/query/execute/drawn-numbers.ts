/** The numbers of sequences that the rows of a statement ask for: drawn for many rows at a time, and given to them in their order. */
import type { RequestMemory } from '../../budget/request-memory.ts'
import type { DrawNumbers } from '../../write/object-expressions.ts'
import { type NumberReader, needsFetch } from '../evaluate/evaluation-context.ts'
import { elementBytes } from '../evaluate/value-bytes.ts'

/** Of one sequence. */
interface Stock {
  numbers: readonly bigint[]
  /** Where the next one is among the numbers. */
  at: number
  /** Where it was when the row at hand began. */
  rowAt: number
  /** So many are needed by rows that asked in vain, those that are left included. */
  missing: number
}

/** What is left at the end, or was given to a row that had to wait for something else, is lost: sequences have gaps. */
export class DrawnNumbers implements NumberReader {
  private readonly draw: DrawNumbers
  private readonly memory: RequestMemory
  private readonly stocks = new Map<string, Stock>()

  constructor(draw: DrawNumbers, memory: RequestMemory) {
    this.draw = draw
    this.memory = memory
  }

  next(sequence: string): bigint {
    const stock = this.stockOf(sequence)
    const number = stock.numbers[stock.at]
    if (number !== undefined) {
      stock.at++
      return number
    }
    stock.missing += 1 + stock.at - stock.rowAt
    // The row is worked out again, and asks again for all that it was given.
    for (const one of this.stocks.values()) one.at = one.rowAt
    throw needsFetch
  }

  private stockOf(name: string): Stock {
    let stock = this.stocks.get(name)
    if (stock === undefined) {
      stock = { numbers: [], at: 0, rowAt: 0, missing: 0 }
      this.stocks.set(name, stock)
    }
    return stock
  }

  endRow(): void {
    for (const stock of this.stocks.values()) stock.rowAt = stock.at
  }

  /** What was asked for so far will be asked for again. */
  forgetMissing(): void {
    for (const stock of this.stocks.values()) stock.missing = 0
  }

  /** Draws what rows have asked for in vain. Returns whether there was anything. */
  async fetchMissing(): Promise<boolean> {
    let hasDrawn = false
    for (const [name, stock] of this.stocks) {
      if (stock.missing === 0) continue
      const left = stock.numbers.slice(stock.at)
      const count = stock.missing - left.length
      this.memory.chargeStatement(count * elementBytes)
      stock.numbers = left.concat(await this.draw(name, count))
      stock.at = 0
      stock.rowAt = 0
      stock.missing = 0
      hasDrawn = true
    }
    return hasDrawn
  }
}
