/** The values of a statement's rows where these are a source of the statement around it: one of `Inputs.nested`. */
import type { Closable } from './statement-context.ts'

type Batches = AsyncIterable<readonly unknown[]>

export class SourceValues implements Closable {
  private readonly take: () => Batches
  private readonly end: () => Promise<void>

  /** `end`: may be called again. */
  constructor(take: () => Batches, end: () => Promise<void>) {
    this.take = take
    this.end = end
  }

  /** More than once only where they are held. */
  batches(): Batches {
    return this.take()
  }

  close(): Promise<void> {
    return this.end()
  }
}
