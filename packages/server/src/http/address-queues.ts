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
      this.byAddress.set(address, { first: last, last, size: 1 })
      return
    }
    queue.size++
    queue.last.next = last
    queue.last = last
  }

  /** Takes the next out, of the address whose turn it is; undefined where nothing waits. */
  next(): T | undefined {
    for (const address of this.byAddress.keys()) return this.take(address)
    return undefined
  }

  /** Takes the next out of the address that has fewest waiting; undefined where nothing waits. */
  nextOfFewest(): T | undefined {
    let address: string | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const [one, { size }] of this.byAddress) {
      if (size >= fewest) continue
      address = one
      fewest = size
      if (size === 1) break
    }
    return address === undefined ? undefined : this.take(address)
  }

  /** Whether any of the address waits. */
  has(address: string): boolean {
    return this.byAddress.has(address)
  }

  private take(address: string): T | undefined {
    const queue = this.byAddress.get(address)
    if (queue === undefined) return undefined
    const { item, next } = queue.first
    this.size--
    this.byAddress.delete(address)
    if (next !== undefined) {
      queue.first = next
      queue.size--
      this.byAddress.set(address, queue)
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
