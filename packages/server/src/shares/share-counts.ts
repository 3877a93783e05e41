/** Counts in total and by sharer. */
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
    // A map allocates a new table each time that it becomes empty, so a few sharers with a count of 0 are left in it.
    if (left > 0 || this.bySharer.size <= sharersKept) this.bySharer.set(sharer, left)
    else this.bySharer.delete(sharer)
  }
}

const sharersKept = 256
