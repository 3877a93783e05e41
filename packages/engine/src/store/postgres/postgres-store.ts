/** The store on PostgreSQL, or on what speaks its protocol: shared by any number of processes on any machines. */
import { AshlarError, assert } from '../../errors.ts'
import { checkedCommitBytes } from '../check-commit.ts'
import { copyToLmdb } from '../copy-to-lmdb.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import type { SnapshotOptions, Store, StoreFacts, StoreStats } from '../store.ts'
import { type PostgresAddress, parsePostgresAddress } from './address.ts'
import { Connections } from './connections.ts'
import { codeOf, thrownFor } from './failures.ts'
import { GroupCommits } from './group-commits.ts'
import { GroupReads } from './group-reads.ts'
import { ReadTransactions } from './read-transaction.ts'
import { definitions, storageVersion } from './schema.ts'
import { PostgresSnapshot } from './snapshot.ts'

// The limits of LMDB, so that what is stored here can be moved there.
const keyBytesMax = 1_978
const valueBytesMax = 16_777_216

/** Up to so many entries are counted; of more, the database's own estimate is told. */
const countedEntriesMax = 100_000

/** Opens the store and makes what it needs in the database if need be. Throws an `Error` for the operator when it cannot. */
export async function openPostgresStore(address: string): Promise<Store> {
  const parsed = parsePostgresAddress(address)
  const connections = new Connections(parsed)
  try {
    await prepare(connections)
  } catch (error) {
    await connections.end()
    if (error instanceof AshlarError) throw error
    throw new Error(`The store ${parsed.location} cannot be opened: ${(error as Error).message}`, { cause: error })
  }
  return storeOn(connections, parsed)
}

function storeOn(connections: Connections, { location }: PostgresAddress): Store {
  const snapshots = trackOpenSnapshots<PostgresSnapshot>()
  const commits = new GroupCommits(connections, false)
  const ways = { location, reads: new GroupReads(connections), transactions: new ReadTransactions(connections) }
  const underWay = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  function tracked<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    const done = () => underWay.delete(work)
    work.then(done, done)
    return work
  }
  function open(options: SnapshotOptions): PostgresSnapshot {
    assert(closing === undefined, 'a snapshot is asked for before the store is closed')
    return snapshots.add(new PostgresSnapshot(ways, options, snapshots.remove))
  }
  async function closeAll(): Promise<void> {
    await Promise.allSettled(underWay)
    snapshots.releaseAll()
    await connections.end()
  }
  async function backup(directory: string): Promise<void> {
    const snapshot = open({})
    try {
      await copyToLmdb(snapshot, directory)
    } finally {
      snapshot.release()
    }
  }

  return {
    facts: factsOf(location),
    snapshot: (options = {}) => open(options),
    async commit(commit) {
      assert(closing === undefined, 'a commit reaches the store before it is closed')
      checkedCommitBytes(commit, { keyBytesMax, valueBytesMax })
      return tracked(commits.commit(commit))
    },
    async stats() {
      assert(closing === undefined, 'statistics are asked for before the store is closed')
      return { ...(await tracked(tableStats(connections))), oldestSnapshotMs: snapshots.oldestMs() }
    },
    async backup(directory) {
      assert(closing === undefined, 'a backup is asked for before the store is closed')
      await tracked(backup(directory))
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}

function factsOf(location: string): StoreFacts {
  return {
    kind: 'postgres',
    location,
    isDurable: true,
    readsAreImmediate: false,
    isSharedBetweenProcesses: true,
    keyBytesMax,
    valueBytesMax,
  }
}

async function prepare(connections: Connections): Promise<void> {
  const { schema } = connections.address
  // A user without the right to define may still use what an administrator has defined.
  if (!(await isPrepared(connections))) await define(connections)
  const { rows } = await connections.upkeep(`SELECT version FROM ${schema}.storage`)
  const version = (rows[0] as { version: number } | undefined)?.version
  if (version !== storageVersion) {
    throw new Error(`its tables have version ${version}; this program reads and writes version ${storageVersion}`)
  }
  await connections.upkeep(`DELETE FROM ${schema}.slot WHERE at < now() - interval '1 day'`)
}

async function isPrepared(connections: Connections): Promise<boolean> {
  const { rows } = await connections.upkeep('SELECT to_regclass($1)::text AS storage', [
    `${connections.address.schema}.storage`,
  ])
  return (rows[0] as { storage: unknown }).storage !== null
}

/** Those who start at once define one after the other; the lock ends with the transaction. */
async function define(connections: Connections): Promise<void> {
  const { schema } = connections.address
  try {
    await connections.upkeep(`
      BEGIN;
      SELECT pg_advisory_xact_lock(hashtext('ashlar'));
      CREATE SCHEMA IF NOT EXISTS ${schema};
      ${definitions(schema)}
      COMMIT;
    `)
  } catch (error) {
    if (codeOf(error) !== '42501') throw error
    throw new Error(`the user may not define the schema ${schema} and its tables`, { cause: error })
  }
}

async function tableStats(connections: Connections): Promise<Omit<StoreStats, 'oldestSnapshotMs'>> {
  const { schema, location } = connections.address
  try {
    const { rows } = await connections.upkeep(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM ${schema}.kv LIMIT ${countedEntriesMax + 1}) AS few) AS counted,
        (SELECT reltuples::int8 FROM pg_class WHERE oid = $1::regclass) AS estimated,
        pg_total_relation_size($1::regclass) AS bytes`,
      [`${schema}.kv`],
    )
    const { counted, estimated, bytes } = rows[0] as { counted: number; estimated: number; bytes: number }
    return { entries: counted <= countedEntriesMax ? counted : Math.max(counted, estimated), bytes }
  } catch (error) {
    throw thrownFor(location, error)
  }
}
