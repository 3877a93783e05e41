/** The rows of a nested statement that is the source of the enclosing one: an element of `Inputs.nested`. */
import type { Closable } from './statement-context.ts'

type Batches = AsyncIterable<readonly unknown[]>

export class SourceValues implements Closable {
  private readonly take: () => Batches
  private readonly end: () => Promise<void>

  /** `end` must be idempotent. */
  constructor(take: () => Batches, end: () => Promise<void>) {
    this.take = take
    this.end = end
  }

  /** May be called more than once only if the rows are buffered. */
  batches(): Batches {
    return this.take()
  }

  close(): Promise<void> {
    return this.end()
  }
}
