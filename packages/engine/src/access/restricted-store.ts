/** A store as a caller may read it: its snapshots lack what is hidden. */
import type { Catalogs } from '../catalog/catalog-cache.ts'
import { unreachable } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Snapshot, SnapshotWatch, Store, StoreCapabilities } from '../store/store.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { CatalogAccesses } from './catalog-access.ts'
import { RestrictedSnapshot, type Screen } from './restricted-snapshot.ts'
import { type Asking, Visibility } from './visibility.ts'

/**
 * What becomes of each part of a store: a new one does not compile before it is in this list. Only what the engine does for requests is asked of
 * it: what belongs to the operator, and commits, go to the store itself.
 */
const parts = {
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

type Kept = { [Part in keyof typeof parts as (typeof parts)[Part] extends 'leftOut' ? never : Part]: Store[Part] }

/** `database`: unrestricted. */
export function restrictedStore(database: OpenDatabase, accesses: CatalogAccesses, asking: Asking): Store {
  const { store, catalogs } = database
  const open = (below: Snapshot, watch?: SnapshotWatch) => {
    return mapAwaitable(catalogs.at(below), (catalog): Screen => {
      const access = accesses.of(catalog)
      return { access, visibility: new Visibility(below, access, database, watch ? { ...asking, watch } : asking) }
    })
  }
  const restricted = (below: Snapshot, watch?: SnapshotWatch): Snapshot => {
    return new RestrictedSnapshot(below, (one) => open(one, watch))
  }
  const refuse = (): never => unreachable('what a caller reads from is only read')
  const kept: Kept = {
    capabilities: restrictedCapabilities(store),
    snapshot: (options) => mapAwaitable(store.snapshot(options), (below) => restricted(below, options?.watch)),
    commit: refuse,
    stats: refuse,
    close: refuse,
  }
  return kept
}

/** Rules may have to be waited for wherever something is read. */
export function restrictedCapabilities({ capabilities }: Store): StoreCapabilities {
  return { ...capabilities, hasSynchronousReads: false, isPartial: true }
}

/** The catalogs that go with it. */
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

/** The whole catalogs, for changes: what the caller knows of one has been made when it is given out. */
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
