/** A store of which one read fails, as of a damaged entry or a lost connection, and which counts the snapshots that are open. */
import { AshlarError } from '../../../src/errors.ts'
import type { Snapshot, Store } from '../../../src/store/store.ts'

export interface FailingReads extends Store {
  /** The read that fails, counted from 1 and from `begin`. */
  begin(nth: number): void
  readonly hasFailed: boolean
  readonly openSnapshots: number
}

export function failingReads(store: Store): FailingReads {
  let left = 0
  let open = 0
  let hasFailed = false

  function countRead(): void {
    if (--left !== 0) return
    hasFailed = true
    throw new AshlarError('StoreUnavailable', 'injected: the read failed')
  }

  function counted(snapshot: Snapshot): Snapshot {
    let isReleased = false
    open++
    return {
      ...(snapshot.entryCount === undefined ? {} : { entryCount: snapshot.entryCount }),
      view(key, use) {
        countRead()
        return snapshot.view(key, use)
      },
      read(keys, ranges) {
        countRead()
        return snapshot.read(keys, ranges)
      },
      async *scan(range, use, options) {
        countRead()
        yield* snapshot.scan(range, use, options)
      },
      release() {
        if (!isReleased) open--
        isReleased = true
        snapshot.release()
      },
    }
  }

  return {
    ...store,
    async snapshot(options) {
      return counted(await store.snapshot(options))
    },
    begin(nth) {
      left = nth
      hasFailed = false
    },
    get hasFailed() {
      return hasFailed
    },
    get openSnapshots() {
      return open
    },
  }
}
