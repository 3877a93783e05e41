/** A store whose lent bytes are overwritten after the callback, whatever store is beneath. */
import { type Lender, openLender } from '../../../src/store/memory/lent-bytes.ts'
import type { Snapshot, Store } from '../../../src/store/store.ts'

const nothing = new Uint8Array(0)

export function poisoned(store: Store): Store {
  const lender = openLender()
  return {
    ...store,
    snapshot(options) {
      const answer = store.snapshot(options)
      return answer instanceof Promise
        ? answer.then((snapshot) => poisonedSnapshot(snapshot, lender))
        : poisonedSnapshot(answer, lender)
    },
  }
}

function poisonedSnapshot(snapshot: Snapshot, lender: Lender): Snapshot {
  return {
    view(key, use) {
      lender.takeBack()
      return snapshot.view(key, (value) => lender.lend(value, nothing, use))
    },
    read(keys, ranges) {
      lender.takeBack()
      return snapshot.read(keys, ranges)
    },
    scan: (range, use, options) => snapshot.scan(range, (key, value) => lender.lend(key, value, use), options),
    release: () => snapshot.release(),
  }
}
