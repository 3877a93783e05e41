/** Counts replies that this process has aborted because of slow readers, and reports the snapshots that readers hold. */

import type { FederatedDatabase } from '@ashlar/engine'
import type { Logger } from 'pino'
import type { StalledReply } from './stalled-replies.ts'

export class AbortedReplies {
  count = 0
  private readonly logger: Logger

  constructor(logger: Logger) {
    this.logger = logger
  }

  /** Call if the client has taken no bytes for too long. */
  readonly stalled = ({ limit, ...fields }: StalledReply): void => {
    this.count++
    this.logger.warn(fields, `A reply was aborted: its client read nothing for ${fields.stalledMs} ms (${limit}).`)
  }

  /** Call if a snapshot was held for too long. `reason`: a sentence. */
  tooOld(fields: { readonly statement: string; readonly clientAddress: string }, reason: string): void {
    this.count++
    this.logger.warn(fields, `A statement was aborted. ${reason}`)
  }
}

export interface ReadersRecord {
  /** Age of the oldest snapshot by alias; 0 without one. */
  readonly oldestSnapshotMs: Readonly<Record<string, number>>
  /** Aborted replies of all federated databases since the start of the process. */
  readonly repliesBrokenOff: number
}

export function readersOf(
  federatedDatabases: readonly FederatedDatabase[],
  { count }: AbortedReplies,
): readonly [ReadersRecord] {
  const ages = federatedDatabases.map(({ alias, store }) => [alias, Math.round(store.oldestSnapshotMs?.() ?? 0)])
  return [{ oldestSnapshotMs: Object.fromEntries(ages), repliesBrokenOff: count }]
}

/** Combines the records of all processes for one federated database. */
export function readersTogether(
  records: readonly ReadersRecord[],
  alias: string,
): { readonly oldestSnapshotMs: number; readonly repliesBrokenOff: number } {
  return {
    oldestSnapshotMs: Math.max(0, ...records.map(({ oldestSnapshotMs }) => oldestSnapshotMs[alias] ?? 0)),
    repliesBrokenOff: records.reduce((sum, { repliesBrokenOff }) => sum + repliesBrokenOff, 0),
  }
}
