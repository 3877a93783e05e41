/** A store whose borrowed bytes are overwritten after the callback, whatever store is beneath. */
import { type BorrowTracker, trackBorrows } from '../../../src/store/memory/borrowed-bytes.ts'
import type { Snapshot, Store } from '../../../src/store/store.ts'

const nothing = new Uint8Array(0)

export function poisoned(store: Store): Store {
  const tracker = trackBorrows()
  return {
    ...store,
    snapshot(options) {
      const answer = store.snapshot(options)
      return answer instanceof Promise
        ? answer.then((snapshot) => poisonedSnapshot(snapshot, tracker))
        : poisonedSnapshot(answer, tracker)
    },
  }
}

function poisonedSnapshot(snapshot: Snapshot, tracker: BorrowTracker): Snapshot {
  return {
    view(key, use) {
      tracker.invalidate()
      return snapshot.view(key, (value) => tracker.borrow(value, nothing, use))
    },
    read(keys, ranges) {
      tracker.invalidate()
      return snapshot.read(keys, ranges)
    },
    ...(snapshot.visit && {
      visit: (range, isReverse, use) => {
        return snapshot.visit?.(range, isReverse, (key, value) => tracker.borrow(key, value, use))
      },
    }),
    scan: (range, use, options) => snapshot.scan(range, (key, value) => tracker.borrow(key, value, use), options),
    release: () => snapshot.release(),
  }
}
