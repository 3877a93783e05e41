/** Replies that this process has aborted because of their readers, and the snapshots that readers hold. */

import type { FederatedDatabase } from '@ashlar/engine'
import type { Logger } from 'pino'
import type { StalledReply } from './stalled-replies.ts'

export class AbortedReplies {
  count = 0
  private readonly logger: Logger

  constructor(logger: Logger) {
    this.logger = logger
  }

  /** The reader took no bytes for too long. */
  readonly stalled = ({ limit, ...told }: StalledReply): void => {
    this.count++
    this.logger.warn(told, `A reply was aborted: its client read nothing for ${told.stalledMs} ms (${limit}).`)
  }

  /** Its snapshot was held for too long. `reason`: a sentence. */
  tooOld(told: { readonly statement: string; readonly clientAddress: string }, reason: string): void {
    this.count++
    this.logger.warn(told, `A statement was aborted. ${reason}`)
  }
}

/** Snapshots and aborted replies of one process. */
export interface ReadersRecord {
  /** Age of the oldest snapshot by alias, 0 without one. */
  readonly oldestSnapshotMs: Readonly<Record<string, number>>
  /** Replies of all federated databases since the start of the process. */
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
