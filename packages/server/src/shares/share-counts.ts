/** How many there are of something: in all, and of each sharer. */
export class ShareCounts {
  all = 0
  private readonly bySharer = new Map<string, number>()

  of(sharer: string): number {
    return this.bySharer.get(sharer) ?? 0
  }

  add(sharer: string): void {
    this.all++
    this.bySharer.set(sharer, this.of(sharer) + 1)
  }

  remove(sharer: string): void {
    this.all--
    const left = this.of(sharer) - 1
    // A map makes another table each time that it becomes empty: a few sharers stay that have none.
    if (left > 0 || this.bySharer.size <= sharersKept) this.bySharer.set(sharer, left)
    else this.bySharer.delete(sharer)
  }
}

const sharersKept = 256
