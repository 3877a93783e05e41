/** The store on Citus, PostgreSQL whose table is distributed over nodes: that of the driver for PostgreSQL with commits, reads and checks by placement. */
import type { KeyPlacement } from '../key-placement.ts'
import { parsePostgresAddress } from '../postgres/address.ts'
import type { Connections } from '../postgres/connections.ts'
import {
  type OpenPostgresOptions,
  openTables,
  type StoreParts,
  withFirstConnections,
} from '../postgres/postgres-store.ts'
import type { ReadStrategies } from '../postgres/snapshot.ts'
import { tableStats } from '../postgres/table-stats.ts'
import { unresolvedTransactions } from '../postgres/unresolved-transactions.ts'
import type { SnapshotOptions, Store } from '../store.ts'
import { distributedLayout } from './call-layout.ts'
import { PlacedReads } from './placed-reads.ts'
import { type PlacedKind, placedTransactions } from './placed-transaction.ts'
import { type CitusPreparation, prepare, prepareToRead } from './prepare.ts'
import { PreparedTransactions } from './prepared-transactions.ts'
import { tableOf } from './tables.ts'

/** Opens the store, and creates and distributes its tables if needed. See `openPostgresStore`. */
export async function openCitusStore(
  address: string,
  keys: KeyPlacement,
  { isReadOnly = false, warn = () => undefined }: OpenPostgresOptions = {},
): Promise<Store> {
  const parsed = parsePostgresAddress(address)
  const preparation = await withFirstConnections(parsed, (first) => {
    return isReadOnly ? prepareToRead(first, keys) : prepare(first, keys, warn)
  })
  let recovery: PreparedTransactions | undefined
  const recoveryOver = (connections: Connections): PreparedTransactions | undefined => {
    if (!preparation.canRecover) return undefined
    recovery ??= new PreparedTransactions({
      upkeep: (text, values) => connections.upkeep(text, values),
      patienceMs: parsed.patienceMs,
      warn,
    })
    return recovery
  }
  const store = openTables(parsed, distributedParts(preparation, recoveryOver), isReadOnly)
  return {
    ...store,
    close() {
      recovery?.close()
      return store.close()
    },
  }
}

function distributedParts(
  preparation: CitusPreparation,
  recoveryOver: (connections: Connections) => PreparedTransactions | undefined,
): StoreParts {
  const { tables, canRecover } = preparation
  return {
    tables,
    // Citus cannot plan a statement over several shards without the values of its parameters.
    planCacheMode: 'auto',
    capabilities: { hasConsistentSnapshots: false, isDistributed: true, canAppend: false },
    commits: (connections) => ({
      tables,
      layout: distributedLayout(preparation),
      // One that the call changes, so that Citus can commit a change of one placement in one phase.
      proofOf: ({ firstChangedPlacement: placement = 0 }) => ({ table: tableOf(tables, placement, 'slot'), placement }),
      nodes: recoveryOver(connections),
    }),
    reads: (connections) => readStrategies(connections, { tables, prepared: recoveryOver(connections) }),
    stats: (connections) => {
      // The function returns the size on all nodes.
      return tableStats(connections, tables.hasRoot ? ['kv', 'kv_root'] : ['kv'], 'citus_total_relation_size')
    },
    unresolvedTransactions: (connections) => {
      // A user who may not recover them may not query the nodes either.
      return canRecover ? unresolvedTransactions(connections, onAllNodes) : unresolvedTransactions(connections)
    },
  }
}

function onAllNodes(statement: string): { text: string; values: readonly unknown[] } {
  return {
    text: 'SELECT ms::float8 FROM run_command_on_all_nodes($1), json_array_elements_text(result::json) AS ms WHERE success',
    values: [`SELECT coalesce(json_agg(ms), '[]')::text FROM (${statement}) AS found`],
  }
}

function readStrategies(
  connections: Connections,
  kind: Omit<PlacedKind, 'lockingMs'>,
): Omit<ReadStrategies, 'location' | 'patienceMs' | 'tables'> {
  const { areReadsLocking, lockingMs } = connections.address
  const plain = placedTransactions(connections, { ...kind, lockingMs: undefined })
  const locking = placedTransactions(connections, { ...kind, lockingMs })
  // These transactions never wait for a client.
  const consistent = placedTransactions(connections, { ...kind, lockingMs: Number.POSITIVE_INFINITY })
  const blocksCommits = ({ isolation }: SnapshotOptions): boolean => {
    return isolation === 'consistent' || (isolation === 'readOnly' && areReadsLocking)
  }
  return {
    reads: new PlacedReads(connections, kind.tables, kind.prepared),
    namingReads: undefined,
    arePagesPlaced: true,
    blocksCommits,
    join(options, isRetried) {
      const transactions = !blocksCommits(options) ? plain : options.isolation === 'consistent' ? consistent : locking
      // If a node is down, only snapshots that read from it must fail.
      return transactions.join(options.isNested === true, isRetried)
    },
  }
}
