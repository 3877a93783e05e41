/** The own writes of a transaction in key order, made up to date when something is read. */
import type { Change } from '../store/store.ts'
import { OwnWrites } from './own-writes.ts'

export class SortedWrites {
  private readonly changes: Change[]
  private sorted = OwnWrites.none
  /** How many of `changes` are in `sorted`. */
  private count = 0
  /** What has taken the place of one of these since, in the order of writing. */
  private replaced: Change[] | undefined
  /** How many of `replaced` are in `sorted`. */
  private replacedCount = 0

  /** `changes`: of the transaction, the last of each key. */
  constructor(changes: Change[]) {
    this.changes = changes
  }

  /** Those that are not sorted yet. */
  get left(): number {
    return this.changes.length - this.count + (this.replaced?.length ?? 0) - this.replacedCount
  }

  /** To be told of each change that has taken the place of another. */
  noteReplaced(position: number, change: Change): void {
    if (position >= this.count) return
    this.replaced ??= []
    this.replaced.push(change)
  }

  /** All of them. */
  all(): OwnWrites {
    this.sortSome(Number.POSITIVE_INFINITY)
    return this.sorted
  }

  /** So many more at most; whether all are sorted then. */
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
