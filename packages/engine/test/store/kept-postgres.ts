/** Stores on PostgreSQL that stay open from test to test: what is closed is emptied and lent again, since to open one takes longer than most tests. */
import type pg from 'pg'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { assert } from '../../src/errors.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { connectedClient } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'

interface Kept {
  readonly store: Store
  readonly schema: string
}

const idle: Kept[] = []
let emptying: Promise<pg.Client> | undefined

export async function openKeptPostgres(): Promise<Store> {
  return lend(idle.pop() ?? (await openKept()))
}

async function openKept(): Promise<Kept> {
  const address = freshAddress()
  return { store: await openStore(address), schema: new URL(address).searchParams.get('schema') ?? '' }
}

/** A store for one test; one that it closes with nothing left open goes to the next. */
function lend(kept: Kept): Store {
  const { store } = kept
  const underWay = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  async function giveBack(): Promise<void> {
    await Promise.allSettled(underWay)
    if (store.oldestSnapshotMs?.() !== 0) return store.close()
    emptying ??= connectedClient(postgresOfRun())
    await (await emptying).query(`TRUNCATE ${kept.schema}.kv`)
    idle.push(kept)
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
