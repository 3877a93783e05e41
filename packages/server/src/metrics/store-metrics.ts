/** The metrics of what the processes of a server share: its stores. The process that is asked reads them. */
import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { FederatedDatabase, LogSize, Statistics } from '@ashlar/engine'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import { metricsStoreMsMax } from '../limits.ts'
import type { WebhookState, Webhooks } from '../webhooks/webhooks.ts'
import type { Metric, Sample } from './metric.ts'

export interface StoreState {
  readonly alias: string
  /** Undefined where the store does not answer in time. */
  readonly statistics: Statistics | undefined
  /** Of the file system on which it lies; undefined where it has no files. */
  readonly freeBytes: number | undefined
  /** It refuses every change until somebody has mended it. */
  readonly isBroken: boolean
  readonly changeLog: LogSize | undefined
  /** Where a directory of backups is configured: infinite while it holds none. */
  readonly backupAgeSeconds: number | undefined
  /** Where the server makes backups itself. */
  readonly backupIntervalSeconds: number | undefined
  /** Empty where the store does not answer in time. */
  readonly webhooks: readonly WebhookState[]
}

export function storeStates(
  fds: readonly FederatedDatabase[],
  backups?: BackupSchedule,
  webhooks?: Webhooks,
): Promise<StoreState[]> {
  return Promise.all(
    fds.map(async (fd) => {
      const [statistics, freeBytes, hooks = []] = await Promise.all([
        inTime(fd.statistics()),
        freeBytesOf(fd),
        webhooks && inTime(webhooks.statesOf(fd.alias)),
      ])
      const at = backups?.states().find(({ fd: alias }) => alias === fd.alias)?.lastBackup?.at
      const age = at === undefined ? Number.POSITIVE_INFINITY : secondsSince(at)
      return {
        alias: fd.alias,
        statistics,
        isBroken: fd.store.problem?.() !== undefined,
        freeBytes,
        changeLog: fd.changeLogSize(),
        backupAgeSeconds: backups && age,
        backupIntervalSeconds: backups?.intervalSeconds,
        webhooks: hooks,
      }
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

/** Of stores in files. */
async function freeBytesOf({ store: { capabilities, fileBytes } }: FederatedDatabase): Promise<number | undefined> {
  if (fileBytes === undefined) return undefined
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

type HookState = Pick<NonNullable<WebhookState['state']>, 'deliveries' | 'failures' | 'deadLetters' | 'disabled'> & {
  readonly failingSince?: string | undefined
}

/** By webhook. One that could never begin, as without a change log, has been failing for as long as this process runs. */
function ofHooks(read: (state: HookState) => number): (states: readonly StoreState[]) => readonly Sample[] {
  return (states) => {
    const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString()
    const neverBegun = { deliveries: 0, failures: 0, deadLetters: 0, failingSince: startedAt }
    return states.flatMap(({ alias, webhooks }) =>
      webhooks.map(({ config: { name }, state = neverBegun }) => {
        return { labels: { fd: alias, webhook: name }, value: read(state) }
      }),
    )
  }
}

function secondsSince(time: string): number {
  return Math.max(0, Date.now() - Date.parse(time)) / 1_000
}

export const storeMetrics: readonly Metric<readonly StoreState[]>[] = [
  {
    name: 'ashlar_store_up',
    type: 'gauge',
    help: '1 if the store answered within a second and can be changed. If it did not answer, the other metrics of the store are omitted.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ statistics, isBroken }) => (statistics === undefined || isBroken ? 0 : 1)),
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
    help: 'Age of the latest backup in the backup directory when it was last checked; +Inf if it holds none. Absent if no directory is configured.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ backupAgeSeconds }) => backupAgeSeconds),
  },
  {
    name: 'ashlar_backup_interval_seconds',
    type: 'gauge',
    help: 'Configured interval between backups of any kind; absent if the server makes none by itself.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ backupIntervalSeconds }) => backupIntervalSeconds),
  },
  {
    name: 'ashlar_change_log_bytes',
    type: 'gauge',
    help: 'Size of the change log when it was last measured, which happens every few seconds; 0 without a log.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ changeLog }) => changeLog?.bytes),
  },
  {
    name: 'ashlar_change_log_bound_bytes',
    type: 'gauge',
    help: 'Size up to which the change log is kept: changeLogBytesMax, or what follows from the size of the data.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ changeLog }) => changeLog?.bytesMax),
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
