/** Counts what an operation does, so that tests can tell how its cost grows without looking at a clock. */
import { vi } from 'vitest'
import type { Snapshot, Store } from '../../src/store/store.ts'

/** Comparisons of keys while `act` runs: what sorting, merging and searching cost. */
export async function comparisonsOf(act: () => Promise<unknown>): Promise<number> {
  const compare = vi.spyOn(Buffer, 'compare')
  try {
    await act()
    return compare.mock.calls.length
  } finally {
    compare.mockRestore()
  }
}

const searches = ['includes', 'indexOf', 'some', 'every', 'find', 'findIndex', 'findLast', 'filter'] as const

/** Elements of the arrays that are searched through while `act` runs, at most: what looking for something in a list costs. */
export async function searchedBy(act: () => unknown): Promise<number> {
  let searched = 0
  const originals = searches.map((name) => Object.getOwnPropertyDescriptor(Array.prototype, name) as PropertyDescriptor)
  for (const [i, name] of searches.entries()) {
    const original = originals[i]?.value as (...given: unknown[]) => unknown
    const counting = function (this: readonly unknown[], ...given: unknown[]): unknown {
      searched += this.length
      return original.apply(this, given)
    }
    Object.defineProperty(Array.prototype, name, { ...originals[i], value: counting })
  }
  try {
    await act()
  } finally {
    for (const [i, name] of searches.entries()) {
      Object.defineProperty(Array.prototype, name, originals[i] as PropertyDescriptor)
    }
  }
  return searched
}

/** Turns that others get while `act` runs, each look at the clock being a millisecond after the one before. */
export async function turnsDuring(act: () => Promise<unknown>): Promise<number> {
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now++)
  let turns = 0
  let isOver = false
  const count = (): void => {
    if (isOver) return
    turns += 1
    setImmediate(count)
  }
  setImmediate(count)
  try {
    await act()
  } finally {
    isOver = true
    clock.mockRestore()
  }
  return turns
}

export interface ReadCounts {
  /** Entries handed out as copies: by `read`, and of its ranges. */
  copies: number
  /** Bytes of their values. */
  copiedBytes: number
  /** Calls of `read`. */
  trips: number
  /** Calls of `view`. */
  views: number
}

/** The store, and what is read of it. */
export function countingStore(store: Store): { readonly store: Store; readonly counts: ReadCounts } {
  const counts: ReadCounts = { copies: 0, copiedBytes: 0, trips: 0, views: 0 }
  return {
    counts,
    store: {
      ...store,
      async snapshot(options) {
        return countingSnapshot(await store.snapshot(options), counts)
      },
    },
  }
}

export function countingSnapshot(snapshot: Snapshot, counts: ReadCounts): Snapshot {
  const note = (value: Uint8Array | undefined): void => {
    counts.copies += 1
    counts.copiedBytes += value?.length ?? 0
  }
  return {
    ...(snapshot.entryCount === undefined ? {} : { entryCount: snapshot.entryCount }),
    view(key, use) {
      counts.views += 1
      return snapshot.view(key, use)
    },
    async read(keys, ranges) {
      counts.trips += 1
      const answer = await snapshot.read(keys, ranges)
      for (const value of answer.values) note(value)
      for (const range of answer.ranges) for (const { value } of range) note(value)
      return answer
    },
    scan: (range, use, options) => snapshot.scan(range, use, options),
    release: () => snapshot.release(),
  }
}
