/** Whatever waits for its turn: in the order in which it came for each address, and one address after the other. */

export class AddressQueues<T> {
  size = 0
  /** In the order of the addresses' turns. */
  private readonly byAddress = new Map<string, Queue<T>>()

  add(address: string, item: T): void {
    this.size++
    const last: Link<T> = { item, next: undefined }
    const queue = this.byAddress.get(address)
    if (queue === undefined) {
      this.byAddress.set(address, { first: last, last })
      return
    }
    queue.last.next = last
    queue.last = last
  }

  /** Takes the next out; undefined where nothing waits. */
  next(): T | undefined {
    for (const [address, queue] of this.byAddress) {
      const { item, next } = queue.first
      this.size--
      this.byAddress.delete(address)
      if (next !== undefined) {
        queue.first = next
        this.byAddress.set(address, queue)
      }
      return item
    }
    return undefined
  }
}

interface Queue<T> {
  first: Link<T>
  last: Link<T>
}

interface Link<T> {
  readonly item: T
  next: Link<T> | undefined
}
