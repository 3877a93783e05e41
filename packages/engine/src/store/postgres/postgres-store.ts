/** The store on PostgreSQL: shared by any number of processes on any machines. */
import { assert, unreachable } from '../../errors.ts'
import { checkedCommitBytes } from '../check-commit.ts'
import type { KeyPlacement } from '../key-placement.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import type {
  SnapshotOptions,
  Store,
  StoreCapabilities,
  StoreOptions,
  StoreStats,
  UnresolvedTransactions,
} from '../store.ts'
import { type PostgresAddress, parsePostgresAddress } from './address.ts'
import type { CommitStrategy } from './commit.ts'
import { Connections, type PlanCacheMode } from './connections.ts'
import { plainLayout } from './encode-call.ts'
import { startFailure, toStoreError } from './failures.ts'
import { GroupCommits } from './group-commits.ts'
import { GroupReads, keysOfAnyPlacement } from './group-reads.ts'
import { prepare, prepareToRead } from './prepare.ts'
import { GroupNamingReads } from './read-naming.ts'
import { readTransactions } from './read-transaction.ts'
import { SettledNumbersReader } from './settled-numbers.ts'
import { PostgresSnapshot, type ReadStrategies } from './snapshot.ts'
import { tableStats } from './table-stats.ts'
import type { Tables } from './tables.ts'
import { unresolvedTransactions } from './unresolved-transactions.ts'

// The limits of LMDB, so that entries can be moved there.
const keyBytesMax = 1_978
const valueBytesMax = 16_777_216
/** Even without patience, a check needs time for an answer. */
const checkMsMin = 500

export interface OpenPostgresOptions extends StoreOptions {
  readonly isReadOnly?: boolean
}

/**
 * Opens the store and creates its schema if needed; undefined if its table is distributed, or has to be: the driver for Citus opens it then. `keys`:
 * placement of keys. `isReadOnly`: writes nothing, and also opens tables of an earlier version. Throws an `Error` for the operator on failure.
 */
export async function openPostgresStore(
  address: string,
  keys: KeyPlacement,
  { isReadOnly = false, warn = () => undefined }: OpenPostgresOptions = {},
): Promise<Store | undefined> {
  const parsed = parsePostgresAddress(address)
  if (parsed.isDistributed) return undefined
  const tables = { schema: parsed.schema, keys }
  const prepared = await withFirstConnections(parsed, (first) => {
    return isReadOnly ? prepareToRead(first) : prepare(first, tables, warn)
  })
  if (prepared === 'distributed') return undefined
  return openTables(parsed, plainParts(tables, prepared.canAppend), isReadOnly)
}

/** What distinguishes the stores of several drivers on tables of PostgreSQL. */
export interface StoreParts {
  readonly tables: Tables
  readonly planCacheMode: PlanCacheMode
  readonly capabilities: Pick<StoreCapabilities, 'hasConsistentSnapshots' | 'isDistributed' | 'canAppend'>
  commits(connections: Connections): CommitStrategy
  reads(connections: Connections): Omit<ReadStrategies, 'location' | 'patienceMs' | 'tables'>
  stats(connections: Connections): Promise<StoreStats>
  unresolvedTransactions(connections: Connections): Promise<UnresolvedTransactions | undefined>
}

function plainParts(tables: Tables, canAppend: boolean): StoreParts {
  return {
    tables,
    planCacheMode: 'force_generic_plan',
    capabilities: { hasConsistentSnapshots: true, isDistributed: false, canAppend },
    commits: () => {
      // A transaction is on one node, so that any row proves it.
      const proof = { table: `${tables.schema}.slot`, placement: 0 }
      return { tables, layout: plainLayout(tables.keys), proofOf: () => proof }
    },
    reads: (connections) => {
      const transactions = readTransactions(connections, tables)
      return {
        reads: new GroupReads(connections, keysOfAnyPlacement(tables)),
        namingReads: new GroupNamingReads(connections, tables),
        arePagesPlaced: false,
        blocksCommits: () => false,
        join: ({ isNested = false }) => transactions.join(isNested, false),
      }
    },
    stats: (connections) => tableStats(connections),
    unresolvedTransactions: (connections) => unresolvedTransactions(connections),
  }
}

/** Session settings depend on what these connections find out, so they have no other use. */
export async function withFirstConnections<T>(
  address: PostgresAddress,
  use: (connections: Connections) => Promise<T>,
): Promise<T> {
  let first: Connections | undefined
  try {
    first = new Connections(address, 'auto')
    return await use(first)
  } catch (error) {
    throw startFailure(address.location, error)
  } finally {
    await first?.end()
  }
}

/** A store on tables that are prepared. */
export function openTables(address: PostgresAddress, parts: StoreParts, isReadOnly: boolean): Store {
  const store = storeOn(new Connections(address, parts.planCacheMode), parts)
  return isReadOnly ? { ...store, commit: refuseCommit } : store
}

async function refuseCommit(): Promise<never> {
  unreachable('a store that is open for reading only gets no commit')
}

function storeOn(connections: Connections, parts: StoreParts): Store {
  const { tables } = parts
  const { location, patienceMs } = connections.address
  const snapshots = trackOpenSnapshots<PostgresSnapshot>()
  const commits = new GroupCommits(connections, parts.commits(connections))
  const strategies = { location, patienceMs, tables, ...parts.reads(connections) }
  const settled = new SettledNumbersReader(connections)
  const pending = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  async function tracked<T>(what: string, work: () => Promise<T>): Promise<T> {
    assert(closing === undefined, `${what} before the store is closed`)
    const working = work()
    pending.add(working)
    const done = () => pending.delete(working)
    working.then(done, done)
    return working
  }
  function open(options: SnapshotOptions): PostgresSnapshot {
    assert(closing === undefined, 'a snapshot is asked for before the store is closed')
    return snapshots.add(new PostgresSnapshot(strategies, options, snapshots.remove))
  }
  async function closeAll(): Promise<void> {
    await Promise.allSettled(pending)
    snapshots.releaseAll()
    await connections.end()
  }

  return {
    capabilities: {
      kind: 'postgres',
      location,
      isDurable: true,
      hasSynchronousReads: false,
      keyBytesMax,
      valueBytesMax,
      ...parts.capabilities,
    },
    snapshot: (options = {}) => open(options),
    async commit(commit) {
      checkedCommitBytes(commit, { keyBytesMax, valueBytesMax })
      return tracked('a commit reaches the store', () => commits.commit(commit))
    },
    lockCommits: () => tracked('a lock is asked for', () => commits.lockCommits()),
    counts: commits.counts,
    stats: () => tracked('statistics are asked for', () => parts.stats(connections)),
    ...snapshots.storeMethods,
    ...(parts.capabilities.canAppend && {
      settledNumbers: () => tracked('settled numbers are asked for', () => settled.read()),
    }),
    checkServing: () =>
      answeredInTime(connections.address, () =>
        Promise.all([strategies.reads.read([tables.keys.versionKey]), connections.checkWriter()]),
      ),
    unresolvedTransactions: () => {
      return tracked('prepared transactions are asked for', () => parts.unresolvedTransactions(connections))
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
