/** The writes of a transaction so far, in key order. Immutable. */
import { type PersistentTree, treeEntries, treeGet, treeWith, treeWithout } from '../store/persistent-tree.ts'
import type { Bytes, Change, Entry, RangeRead } from '../store/store.ts'

const nothing = Buffer.alloc(0)

/** Puts and deletions are separate so that a search for the first or last entry of a range does not pass deletions, of which there may be many. */
export class OwnWrites {
  static readonly none = new OwnWrites(undefined, undefined)

  private readonly puts: PersistentTree | undefined
  private readonly deletions: PersistentTree | undefined

  private constructor(puts: PersistentTree | undefined, deletions: PersistentTree | undefined) {
    this.puts = puts
    this.deletions = deletions
  }

  with(change: Change): OwnWrites {
    const { key } = change
    if (change.kind === 'put')
      return new OwnWrites(treeWith(this.puts, key, change.value), without(this.deletions, key))
    return new OwnWrites(without(this.puts, key), treeWith(this.deletions, key, nothing))
  }

  get isEmpty(): boolean {
    return this.puts === undefined && !this.hasDeletions
  }

  get hasDeletions(): boolean {
    return this.deletions !== undefined
  }

  /** The value put under the key; null if it is deleted, undefined if it is not written. */
  find(key: Bytes): Bytes | null | undefined {
    const put = treeGet(this.puts, key)
    return put === undefined && this.isDeleted(key) ? null : put
  }

  isDeleted(key: Bytes): boolean {
    return treeGet(this.deletions, key) !== undefined
  }

  /** The puts in the range, in its order; each costs a search. */
  putsIn(range: RangeRead): Generator<Entry> {
    return treeEntries(this.puts, range, range.reverse === true)
  }
}

/** An absent key costs only a search. */
function without(tree: PersistentTree | undefined, key: Bytes): PersistentTree | undefined {
  return tree !== undefined && treeGet(tree, key) !== undefined ? treeWithout(tree, key) : tree
}
