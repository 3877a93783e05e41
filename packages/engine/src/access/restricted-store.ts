/** A store as a restricted caller reads it: its snapshots lack hidden data. */
import type { Catalogs } from '../catalog/catalog-cache.ts'
import { unreachable } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Snapshot, SnapshotWatch, Store, StoreCapabilities } from '../store/store.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { CatalogAccesses } from './catalog-access.ts'
import { type AccessFilter, RestrictedSnapshot } from './restricted-snapshot.ts'
import { type CallerContext, Visibility } from './visibility.ts'

/** How each member of a store is restricted; exhaustive, so that the compiler rejects new ones. Operator functions and commits bypass it. */
const memberRules = {
  capabilities: 'changed',
  threadAddress: 'leftOut',
  snapshot: 'changed',
  lockCommits: 'leftOut',
  commit: 'refused',
  counts: 'leftOut',
  stats: 'refused',
  endOldSnapshots: 'leftOut',
  oldestSnapshotMs: 'leftOut',
  settledNumbers: 'leftOut',
  fileBytes: 'leftOut',
  backup: 'leftOut',
  problem: 'leftOut',
  checkServing: 'leftOut',
  unresolvedTransactions: 'leftOut',
  nameEntriesBy: 'leftOut',
  close: 'refused',
} as const satisfies Record<keyof Required<Store>, string>

type RestrictedMembers = {
  [Part in keyof typeof memberRules as (typeof memberRules)[Part] extends 'leftOut' ? never : Part]: Store[Part]
}

/** `database` must be unrestricted. */
export function restrictedStore(database: OpenDatabase, accesses: CatalogAccesses, caller: CallerContext): Store {
  const { store, catalogs } = database
  const open = (below: Snapshot, watch?: SnapshotWatch) => {
    return mapAwaitable(catalogs.at(below), (catalog): AccessFilter => {
      const access = accesses.of(catalog)
      return { access, visibility: new Visibility(below, access, database, watch ? { ...caller, watch } : caller) }
    })
  }
  const restricted = (below: Snapshot, watch?: SnapshotWatch): Snapshot => {
    return new RestrictedSnapshot(below, (one) => open(one, watch))
  }
  const refuse = (): never => unreachable('what a caller reads from is only read')
  const members: RestrictedMembers = {
    capabilities: restrictedCapabilities(store),
    snapshot: (options) => mapAwaitable(store.snapshot(options), (below) => restricted(below, options?.watch)),
    commit: refuse,
    stats: refuse,
    close: refuse,
  }
  return members
}

/** Reads may need to evaluate rules, which can be asynchronous. */
export function restrictedCapabilities({ capabilities }: Store): StoreCapabilities {
  return { ...capabilities, hasSynchronousReads: false, isPartial: true }
}

/** Restricted catalogs for the restricted store. */
export function restrictedCatalogs(catalogs: Catalogs, accesses: CatalogAccesses): Catalogs {
  const restricted = (catalog: Catalog): Catalog => accesses.of(catalog).restricted
  return {
    get latest() {
      return catalogs.latest && restricted(catalogs.latest)
    },
    at: (snapshot) => mapAwaitable(prepared(catalogs, accesses, snapshot), restricted),
    announce: () => unreachable('what a caller reads from is only read'),
  }
}

/** The full catalogs, for changes. Each has its restricted catalog created before it is returned. */
export function preparedCatalogs(catalogs: Catalogs, accesses: CatalogAccesses): Catalogs {
  return {
    get latest() {
      const { latest } = catalogs
      return latest !== undefined && accesses.of(latest).isPrepared ? latest : undefined
    },
    at: (snapshot) => prepared(catalogs, accesses, snapshot),
    announce: (catalog) => catalogs.announce(catalog),
  }
}

function prepared(catalogs: Catalogs, accesses: CatalogAccesses, snapshot: Snapshot): Awaitable<Catalog> {
  return mapAwaitable(catalogs.at(snapshot), (catalog) => {
    return mapAwaitable(accesses.of(catalog).prepared(), () => catalog)
  })
}
