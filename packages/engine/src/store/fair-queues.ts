/** Queues that are first-in, first-out for each owner and round-robin between owners. */

export class FairQueues<T> {
  size = 0
  /** In round-robin order. */
  private readonly byOwner = new Map<string, Queue<T>>()

  add(owner: string, item: T): void {
    this.size++
    const last: Link<T> = { item, next: undefined }
    const queue = this.byOwner.get(owner)
    if (queue === undefined) {
      this.byOwner.set(owner, { first: last, last, size: 1 })
      return
    }
    queue.size++
    queue.last.next = last
    queue.last = last
  }

  next(): T | undefined {
    for (const owner of this.byOwner.keys()) return this.take(owner)
    return undefined
  }

  /** Removes and returns the next item of the owner with the fewest; undefined if there is none. */
  nextOfFewest(): T | undefined {
    let owner: string | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const [one, { size }] of this.byOwner) {
      if (size >= fewest) continue
      owner = one
      fewest = size
      if (size === 1) break
    }
    return owner === undefined ? undefined : this.take(owner)
  }

  has(owner: string): boolean {
    return this.byOwner.has(owner)
  }

  private take(owner: string): T | undefined {
    const queue = this.byOwner.get(owner)
    if (queue === undefined) return undefined
    const { item, next } = queue.first
    this.size--
    this.byOwner.delete(owner)
    if (next !== undefined) {
      queue.first = next
      queue.size--
      this.byOwner.set(owner, queue)
    }
    return item
  }
}

interface Queue<T> {
  first: Link<T>
  last: Link<T>
  size: number
}

interface Link<T> {
  readonly item: T
  next: Link<T> | undefined
}
