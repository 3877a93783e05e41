/** The writes of a transaction in key order, sorted lazily before reads. */
import type { Change } from '../store/store.ts'
import { OwnWrites } from './own-writes.ts'

export class SortedWrites {
  private readonly changes: Change[]
  private sorted = OwnWrites.none
  /** Number of `changes` that are sorted. */
  private count = 0
  /** Replacements of sorted changes, in order of writing. */
  private replaced: Change[] | undefined
  /** Number of `replaced` that are sorted. */
  private replacedCount = 0

  /** `changes`: of the transaction, the last one per key. */
  constructor(changes: Change[]) {
    this.changes = changes
  }

  get left(): number {
    return this.changes.length - this.count + (this.replaced?.length ?? 0) - this.replacedCount
  }

  /** Must be called for each change that replaces another. */
  noteReplaced(position: number, change: Change): void {
    if (position >= this.count) return
    this.replaced ??= []
    this.replaced.push(change)
  }

  all(): OwnWrites {
    this.sortSome(Number.POSITIVE_INFINITY)
    return this.sorted
  }

  sortSome(most: number): boolean {
    const { changes, replaced } = this
    const end = Math.min(changes.length, this.count + most)
    let left = most - (end - this.count)
    while (this.count < end) this.sorted = this.sorted.with(changes[this.count++] as Change)
    if (replaced !== undefined) {
      for (; this.replacedCount < replaced.length && left > 0; left--)
        this.sorted = this.sorted.with(replaced[this.replacedCount++] as Change)
      if (this.replacedCount < replaced.length) return false
      this.replaced = undefined
      this.replacedCount = 0
    }
    return end === changes.length
  }
}
