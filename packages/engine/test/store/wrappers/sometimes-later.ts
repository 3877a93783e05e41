/** A store that answers now or later, at random: what may be a promise is one about half the time. */
import type { Awaitable, Snapshot, Store } from '../../../src/store/store.ts'
import { seededRandom } from './seeded-random.ts'

type Sometimes = <T>(answer: () => Awaitable<T>) => Awaitable<T>

export function sometimesLater(store: Store, seed: number): Store {
  const random = seededRandom(seed)
  const sometimes: Sometimes = (answer) => {
    const chance = random()
    if (chance < 0.5) return answer()
    return chance < 0.8 ? Promise.resolve().then(answer) : afterTurn(answer)
  }
  return {
    ...store,
    capabilities: { ...store.capabilities, hasSynchronousReads: false },
    snapshot: (options) =>
      sometimes(() => {
        const answer = store.snapshot(options)
        return answer instanceof Promise
          ? answer.then((snapshot) => laterSnapshot(snapshot, sometimes))
          : laterSnapshot(answer, sometimes)
      }),
    async commit(commit) {
      await sometimes(() => undefined)
      const outcome = await store.commit(commit)
      await sometimes(() => undefined)
      return outcome
    },
  }
}

async function afterTurn<T>(answer: () => Awaitable<T>): Promise<T> {
  await new Promise((resolve) => setImmediate(resolve))
  return answer()
}

function laterSnapshot(snapshot: Snapshot, sometimes: Sometimes): Snapshot {
  return {
    view: (key, use) => sometimes(() => snapshot.view(key, use)),
    read: (keys, ranges) => sometimes(() => snapshot.read(keys, ranges)),
    async *scan(range, use, options) {
      for await (const batch of snapshot.scan(range, use, options)) {
        await sometimes(() => undefined)
        yield batch
      }
    },
    release: () => snapshot.release(),
  }
}
