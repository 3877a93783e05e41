/** Gives a test a store of its own, and closes it whatever happens. */
import type { Store } from '../../../src/store/store.ts'
import type { Driver } from '../conformance.ts'

export async function useStore<T>(driver: Driver, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await driver.open()
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
