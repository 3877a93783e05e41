/** The store on PostgreSQL, or on a database with the same protocol: shared by any number of processes on any machines. */
import { AshlarError, assert, unreachable } from '../../errors.ts'
import { checkedCommitBytes } from '../check-commit.ts'
import type { KeyPlacement } from '../key-placement.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import type { SnapshotOptions, Store, StoreCapabilities, StoreOptions } from '../store.ts'
import { type PostgresAddress, parsePostgresAddress } from './address.ts'
import { Connections } from './connections.ts'
import { reasonOf, toStoreError } from './failures.ts'
import { GroupCommits } from './group-commits.ts'
import { GroupReads, PlacedReads } from './group-reads.ts'
import { type Prepared, prepare, prepareToRead } from './prepare.ts'
import { PreparedTransactions, type Upkeep } from './prepared-transactions.ts'
import { GroupNamingReads } from './read-naming.ts'
import { ReadTransactions } from './read-transaction.ts'
import { SettledNumbersReader } from './settled-numbers.ts'
import { PostgresSnapshot, type ReadStrategies } from './snapshot.ts'
import { tableStats } from './table-stats.ts'
import { unresolvedTransactions } from './unresolved-transactions.ts'

// The limits of LMDB, so that entries can be moved there.
const keyBytesMax = 1_978
const valueBytesMax = 16_777_216
/** Even without patience, a check needs time for an answer. */
const checkMsMin = 500

interface OpenPostgresOptions extends StoreOptions {
  readonly isReadOnly?: boolean
}

/**
 * Opens the store and creates its schema if needed. `keys`: placement of keys. `isReadOnly`: writes nothing, and also opens tables of an earlier
 * version. Throws an `Error` for the operator on failure.
 */
export async function openPostgresStore(
  address: string,
  keys: KeyPlacement,
  { isReadOnly = false, warn = () => undefined }: OpenPostgresOptions = {},
): Promise<Store> {
  const parsed = parsePostgresAddress(address)
  // Session settings depend on the results, so these connections have no other use.
  let first: Connections | undefined
  let prepared: Prepared
  try {
    first = new Connections(parsed, 'auto')
    prepared = await (isReadOnly ? prepareToRead(first, keys) : prepare(first, keys, warn))
  } catch (error) {
    if (error instanceof AshlarError) throw error
    throw new Error(`The store ${parsed.location} cannot be opened: ${reasonOf(error)}.`, { cause: error })
  } finally {
    await first?.end()
  }
  const connections = new Connections(parsed, prepared.isDistributed ? 'auto' : 'force_generic_plan')
  const store = storeOn(connections, prepared, warn)
  return isReadOnly ? { ...store, commit: refuseCommit } : store
}

async function refuseCommit(): Promise<never> {
  unreachable('a store that is open for reading only gets no commit')
}

function storeOn(
  connections: Connections,
  { isDistributed, rowsOfCommit, hasBulkCommits, canRecover, tables, canAppend }: Prepared,
  warn: (message: string) => void,
): Store {
  const { location, patienceMs } = connections.address
  const upkeep: Upkeep = (text, values) => connections.upkeep(text, values)
  const prepared = canRecover ? new PreparedTransactions({ upkeep, patienceMs, warn }) : undefined
  const snapshots = trackOpenSnapshots<PostgresSnapshot>()
  const commits = new GroupCommits(connections, { rows: rowsOfCommit, hasBulkCommits, tables, prepared })
  const strategies = readStrategies(connections, { isDistributed, tables }, prepared)
  const settled = new SettledNumbersReader(connections, tables)
  const pending = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  function tracked<T>(work: Promise<T>): Promise<T> {
    pending.add(work)
    const done = () => pending.delete(work)
    work.then(done, done)
    return work
  }
  function open(options: SnapshotOptions): PostgresSnapshot {
    assert(closing === undefined, 'a snapshot is asked for before the store is closed')
    return snapshots.add(new PostgresSnapshot(strategies, options, snapshots.remove))
  }
  async function closeAll(): Promise<void> {
    await Promise.allSettled(pending)
    snapshots.releaseAll()
    prepared?.close()
    await connections.end()
  }

  return {
    capabilities: capabilitiesOf(location, isDistributed, canAppend),
    snapshot: (options = {}) => open(options),
    async commit(commit) {
      assert(closing === undefined, 'a commit reaches the store before it is closed')
      checkedCommitBytes(commit, { keyBytesMax, valueBytesMax })
      return tracked(commits.commit(commit))
    },
    lockCommits: () => tracked(commits.lockCommits()),
    counts: commits.counts,
    async stats() {
      assert(closing === undefined, 'statistics are asked for before the store is closed')
      return tracked(tableStats(connections, tables, isDistributed))
    },
    ...snapshots.storeMethods,
    ...(canAppend && {
      settledNumbers: async () => {
        assert(closing === undefined, 'settled numbers are asked for before the store is closed')
        return tracked(settled.read())
      },
    }),
    checkServing: () =>
      answeredInTime(connections.address, () =>
        Promise.all([strategies.reads.read([tables.keys.versionKey]), connections.checkWriter()]),
      ),
    async unresolvedTransactions() {
      assert(closing === undefined, 'prepared transactions are asked for before the store is closed')
      // A user who may not recover them may not query the nodes either.
      return tracked(unresolvedTransactions(connections, isDistributed && canRecover))
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}

/** Rejects with the same error and after the same time as requests, even if the check is answered later. */
async function answeredInTime({ location, patienceMs }: PostgresAddress, check: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`the database server has not answered a check for ${patienceMs} ms, the limit patienceMs`)
    timer = setTimeout(() => reject(toStoreError(location, error)), Math.max(patienceMs, checkMsMin))
  })
  try {
    await Promise.race([check(), late])
  } finally {
    clearTimeout(timer)
  }
}

function readStrategies(
  connections: Connections,
  { isDistributed, tables }: Pick<Prepared, 'isDistributed' | 'tables'>,
  prepared: PreparedTransactions | undefined,
): ReadStrategies {
  const { location, areReadsLocking, lockingMs, patienceMs } = connections.address
  const transactions = (locking: number | undefined) => {
    return new ReadTransactions(connections, { isDistributed, tables, lockingMs: locking, prepared })
  }
  return {
    location,
    patienceMs,
    isDistributed,
    keys: tables.keys,
    tables,
    // A statement over several nodes does not show one point in time.
    reads: isDistributed ? new PlacedReads(connections, tables, prepared) : new GroupReads(connections, tables),
    namingReads: isDistributed ? undefined : new GroupNamingReads(connections, tables),
    transactions: transactions(undefined),
    lockingTransactions: transactions(lockingMs),
    // These transactions never wait for a client.
    consistentTransactions: transactions(Number.POSITIVE_INFINITY),
    areReadsLocking,
  }
}

function capabilitiesOf(location: string, isDistributed: boolean, canAppend: boolean): StoreCapabilities {
  return {
    kind: 'postgres',
    location,
    isDurable: true,
    hasSynchronousReads: false,
    hasConsistentSnapshots: !isDistributed,
    isDistributed,
    canAppend,
    keyBytesMax,
    valueBytesMax,
  }
}
