/**
 * Where many transactions want to change the same key, all but one of those that commit together fail. Those that did
 * stand in line, key by key: each then has to compete with newcomers alone, however many there are.
 */
import type { Store } from '../store/store.ts'

export class Lanes {
  private readonly lasts = new Map<string, Promise<void>>()

  isBusy(key: string): boolean {
    return this.lasts.has(key)
  }

  /** Resolves when it is one's turn; what it resolves to is called to leave. */
  async enter(key: string): Promise<() => void> {
    const before = this.lasts.get(key)
    let leave = (): void => {}
    const own = new Promise<void>((resolve) => {
      leave = resolve
    })
    this.lasts.set(key, own)
    await before
    return () => {
      if (this.lasts.get(key) === own) this.lasts.delete(key)
      leave()
    }
  }
}

const lanesOfStores = new WeakMap<Store, Lanes>()

/** Of this process. */
export function lanesOf(store: Store): Lanes {
  let lanes = lanesOfStores.get(store)
  if (lanes === undefined) {
    lanes = new Lanes()
    lanesOfStores.set(store, lanes)
  }
  return lanes
}
