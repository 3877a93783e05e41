/** What readers hold and have lost, for GET /v1/fd. */
import type { FederatedDatabase } from '@ashlar/engine'
import type { BrokenOffReplies } from './broken-off.ts'

/** Of one process. */
export interface ReadersRecord {
  /** By alias: age of the oldest snapshot, 0 with none. */
  readonly oldestSnapshotMs: Readonly<Record<string, number>>
  /** Of all federated databases, since the process started. */
  readonly repliesBrokenOff: number
}

export function readersOf(
  federatedDatabases: readonly FederatedDatabase[],
  { count }: BrokenOffReplies,
): readonly [ReadersRecord] {
  const ages = federatedDatabases.map(({ alias, store }) => [alias, Math.round(store.oldestSnapshotMs?.() ?? 0)])
  return [{ oldestSnapshotMs: Object.fromEntries(ages), repliesBrokenOff: count }]
}

/** Of all processes together, for one federated database. */
export function readersTogether(
  records: readonly ReadersRecord[],
  alias: string,
): { readonly oldestSnapshotMs: number; readonly repliesBrokenOff: number } {
  return {
    oldestSnapshotMs: Math.max(0, ...records.map(({ oldestSnapshotMs }) => oldestSnapshotMs[alias] ?? 0)),
    repliesBrokenOff: records.reduce((sum, { repliesBrokenOff }) => sum + repliesBrokenOff, 0),
  }
}
