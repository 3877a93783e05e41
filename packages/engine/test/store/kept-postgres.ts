/** Stores on PostgreSQL that stay open from test to test: what is closed is emptied and used again, since to open one takes longer than most tests. */
import type pg from 'pg'
import { assert } from '../../src/errors.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { connectedClient } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'

interface Kept {
  readonly store: Store
  /** As words of SQL. */
  readonly tables: string
}

/** On the PostgreSQL of the run. */
export const openKeptPostgres = keptStores(freshAddress, ['kv'])

/** `freshAddress`: of a store that there was not before, in a schema of its own. All are in one database, and have these tables. */
export function keptStores(
  freshAddress: () => string | Promise<string>,
  tables: readonly string[],
): () => Promise<Store> {
  const idle: Kept[] = []
  let emptying: Promise<pg.Client> | undefined

  async function openKept(): Promise<Kept> {
    const url = new URL(await freshAddress())
    const store = await openStore(url.href)
    const schema = url.searchParams.get('schema') ?? ''
    url.search = ''
    emptying ??= connectedClient(url.href)
    return { store, tables: tables.map((table) => `${schema}.${table}`).join(', ') }
  }

  async function empty(kept: Kept): Promise<void> {
    await (await emptying)?.query(`TRUNCATE ${kept.tables}`)
    idle.push(kept)
  }

  return async () => reusable(idle.pop() ?? (await openKept()), empty)
}

/** A store for one test; one that it closes with nothing left open goes to the next. */
function reusable(kept: Kept, empty: (kept: Kept) => Promise<void>): Store {
  const { store } = kept
  const underWay = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  async function giveBack(): Promise<void> {
    await Promise.allSettled(underWay)
    return store.oldestSnapshotMs?.() === 0 ? empty(kept) : store.close()
  }
  return {
    ...store,
    snapshot(options) {
      assert(closing === undefined, 'a snapshot is asked for before the store is closed')
      return store.snapshot(options)
    },
    commit(commit) {
      assert(closing === undefined, 'a commit reaches the store before it is closed')
      const work = store.commit(commit)
      underWay.add(work)
      return work
    },
    close() {
      closing ??= giveBack()
      return closing
    },
  }
}
