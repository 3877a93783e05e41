/** Stores on PostgreSQL for suites with many: a schema whose store is closed is emptied for the next, since to define one takes longer than most tests. */
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Driver } from './conformance.ts'
import { runSql } from './database-client.ts'
import { keptStores } from './kept-postgres.ts'

/** `freshAddress`: of a distributed store that there was not before, in a schema of its own. */
export function emptiedSchemas(freshAddress: () => Promise<string>): Driver {
  const addresses = new WeakMap<Store, string>()
  const closed = new Set<string>()

  async function openAt(address: string): Promise<Store> {
    const store = await openStore(address)
    async function close(): Promise<void> {
      await store.close()
      closed.add(address)
    }
    const given = { ...store, close }
    addresses.set(given, address)
    return given
  }

  return {
    isCostly: true,
    reuse: keptStores(freshAddress, ['kv', 'kv_root']),
    async open() {
      const [address] = closed
      if (address === undefined) return openAt(await freshAddress())
      closed.delete(address)
      const url = new URL(address)
      const schema = url.searchParams.get('schema')
      url.search = ''
      await runSql(url.href, `TRUNCATE ${schema}.kv, ${schema}.kv_root`)
      return openAt(address)
    },
    async reopen(store) {
      await store.close()
      const address = addresses.get(store) as string
      closed.delete(address)
      return openAt(address)
    },
  }
}
