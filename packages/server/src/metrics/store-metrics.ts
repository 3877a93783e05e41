/** The metrics of what the processes of a server share: its stores. The process that is asked reads them. */
import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { FederatedDatabase, Statistics } from '@ashlar/engine'
import type { BackupState } from '../backups/backup-schedule.ts'
import { metricsStoreMsMax } from '../limits.ts'
import type { WebhookState, Webhooks } from '../webhooks/webhooks.ts'
import type { Metric, Sample } from './metric.ts'

export interface StoreState {
  readonly alias: string
  /** Undefined where the store does not answer in time, or refuses every change. */
  readonly statistics: Statistics | undefined
  /** Of the file system on which it lies; undefined where it has no files. */
  readonly freeBytes: number | undefined
  /** When the latest backup was made, in milliseconds since 1970; undefined where none is known. */
  readonly backupAt: number | undefined
  /** Empty where the store does not answer in time. */
  readonly webhooks: readonly WebhookState[]
}

export function storeStates(
  fds: readonly FederatedDatabase[],
  backups: readonly BackupState[] = [],
  webhooks?: Webhooks,
): Promise<StoreState[]> {
  return Promise.all(
    fds.map(async (fd) => {
      const [statistics, freeBytes, hooks = []] = await Promise.all([
        fd.store.problem?.() === undefined ? inTime(fd.statistics()) : undefined,
        freeBytesOf(fd),
        webhooks && inTime(webhooks.statesOf(fd.alias)),
      ])
      const at = backups.find(({ fd: alias }) => alias === fd.alias)?.lastBackup?.at
      const backupAt = at === undefined ? undefined : Date.parse(at)
      return { alias: fd.alias, statistics, freeBytes, backupAt, webhooks: hooks }
    }),
  )
}

/** Undefined where it fails as well, which the metric `ashlar_store_up` tells. */
async function inTime<T>(asked: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const late = delay(metricsStoreMsMax, undefined, { signal: over.signal, ref: false })
  const none = (): undefined => undefined
  const first = await Promise.race([asked.catch(none), late.catch(none)])
  over.abort()
  return first
}

async function freeBytesOf({ store: { capabilities } }: FederatedDatabase): Promise<number | undefined> {
  if (capabilities.kind !== 'lmdb') return undefined
  const free = await inTime(statfs(capabilities.location))
  return free && free.bavail * free.bsize
}

function ofEach(read: (state: StoreState) => number | undefined): (states: readonly StoreState[]) => readonly Sample[] {
  return (states) =>
    states.flatMap((state) => {
      const value = read(state)
      return value === undefined ? [] : [{ labels: { fd: state.alias }, value }]
    })
}

/** By webhook, of those that have begun. */
function ofHooks(
  read: (state: NonNullable<WebhookState['state']>) => number | undefined,
): (states: readonly StoreState[]) => readonly Sample[] {
  return (states) =>
    states.flatMap(({ alias, webhooks }) =>
      webhooks.flatMap(({ config: { name }, state }) => {
        const value = state && read(state)
        return value === undefined ? [] : [{ labels: { fd: alias, webhook: name }, value }]
      }),
    )
}

function secondsSince(time: string): number {
  return Math.max(0, Date.now() - Date.parse(time)) / 1_000
}

export const storeMetrics: readonly Metric<readonly StoreState[]>[] = [
  {
    name: 'ashlar_store_up',
    type: 'gauge',
    help: '1 if the store answered within a second and takes changes; if not, the other metrics of the store are omitted.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ statistics }) => (statistics === undefined ? 0 : 1)),
  },
  {
    name: 'ashlar_store_bytes',
    type: 'gauge',
    help: 'Size of the data: the file on LMDB, the table with its indexes on PostgreSQL.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ statistics }) => statistics?.storeBytes),
  },
  {
    name: 'ashlar_store_entries',
    type: 'gauge',
    help: 'Entries in the store: objects, links, index entries and others; an estimate on PostgreSQL.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ statistics }) => statistics?.storeEntries),
  },
  {
    name: 'ashlar_store_free_bytes',
    type: 'gauge',
    help: 'Free space of the file system that holds the data file (LMDB only).',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ freeBytes }) => freeBytes),
  },
  {
    name: 'ashlar_backup_age_seconds',
    type: 'gauge',
    help: 'Age of the latest backup in the backup directory when it was last checked; only if a directory is configured and holds a backup.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ backupAt }) => backupAt && Math.max(0, Date.now() - backupAt) / 1_000),
  },
  {
    name: 'ashlar_webhook_deliveries_total',
    type: 'counter',
    help: 'Deliveries accepted by the webhook receiver.',
    labels: ['fd', 'webhook'],
    together: 'max',
    read: ofHooks(({ deliveries }) => deliveries),
  },
  {
    name: 'ashlar_webhook_failures_total',
    type: 'counter',
    help: 'Failed delivery attempts.',
    labels: ['fd', 'webhook'],
    together: 'max',
    read: ofHooks(({ failures }) => failures),
  },
  {
    name: 'ashlar_webhook_failing_seconds',
    type: 'gauge',
    help: 'Time since the first attempt at the delivery that is due; 0 if none has failed.',
    labels: ['fd', 'webhook'],
    together: 'max',
    read: ofHooks(({ failingSince }) => (failingSince === undefined ? 0 : secondsSince(failingSince))),
  },
  {
    name: 'ashlar_webhook_dead_letters',
    type: 'gauge',
    help: 'Dead letters: deliveries that were given up, kept until they are redelivered or dropped.',
    labels: ['fd', 'webhook'],
    together: 'max',
    read: ofHooks(({ deadLetters }) => deadLetters),
  },
  {
    name: 'ashlar_webhook_disabled',
    type: 'gauge',
    help: '1 if the webhook is disabled until it is resumed.',
    labels: ['fd', 'webhook'],
    together: 'max',
    read: ofHooks(({ disabled }) => (disabled === undefined ? 0 : 1)),
  },
  {
    name: 'ashlar_classes',
    type: 'gauge',
    help: 'Classes of the schema.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ statistics }) => statistics?.classes),
  },
  {
    name: 'ashlar_indexes',
    type: 'gauge',
    help: 'Indexes of the schema.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ statistics }) => statistics?.indexes),
  },
]
