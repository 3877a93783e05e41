/** Metrics of the stores, which all processes share; the process that is scraped reads them. */
import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { FederatedDatabase, LogSize, Statistics } from '@ashlar/engine'
import type { BackupSchedule } from '../backups/backup-schedule.ts'
import { metricsStoreMsMax } from '../limits.ts'
import type { WebhookState, Webhooks } from '../webhooks/webhooks.ts'
import type { Metric, Sample } from './metric.ts'

export interface StoreState {
  readonly alias: string
  /** Undefined if the store does not respond in time. */
  readonly statistics: Statistics | undefined
  /** Free space of its file system; undefined without files. */
  readonly freeBytes: number | undefined
  /** The store refuses all changes until it is repaired. */
  readonly isBroken: boolean
  readonly changeLog: LogSize | undefined
  /** Undefined without a backup directory; infinite if it is empty. */
  readonly backupAgeSeconds: number | undefined
  /** Undefined without automatic backups. */
  readonly backupIntervalSeconds: number | undefined
  /** Empty if the store does not respond in time. */
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

/** Returns undefined for a failure as well, which the metric `ashlar_store_up` shows. */
async function inTime<T>(promise: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const late = delay(metricsStoreMsMax, undefined, { signal: over.signal, ref: false })
  const none = (): undefined => undefined
  const first = await Promise.race([promise.catch(none), late.catch(none)])
  over.abort()
  return first
}

async function freeBytesOf({ store: { capabilities, fileBytes } }: FederatedDatabase): Promise<number | undefined> {
  if (fileBytes === undefined) return undefined
  const free = await inTime(statfs(capabilities.location))
  return free && free.bavail * free.bsize
}

type StoreMetric = Metric<readonly StoreState[]>

/** A metric with one sample for each federated database. Every process reads the same. */
function perFd(
  name: string,
  type: StoreMetric['type'],
  help: string,
  read: (state: StoreState) => number | undefined,
): StoreMetric {
  const readAll = (states: readonly StoreState[]): readonly Sample[] =>
    states.flatMap((state) => {
      const value = read(state)
      return value === undefined ? [] : [{ labels: { fd: state.alias }, value }]
    })
  return { name, type, help, labels: ['fd'], together: 'max', read: readAll }
}

type HookState = Pick<NonNullable<WebhookState['state']>, 'deliveries' | 'failures' | 'deadLetters' | 'disabled'> & {
  readonly failingSince?: string | undefined
}

/** A metric with one sample for each webhook. A webhook that cannot start counts as failing since the start of this process. */
function perWebhook(
  name: string,
  type: StoreMetric['type'],
  help: string,
  read: (state: HookState) => number,
): StoreMetric {
  const readAll = (states: readonly StoreState[]): readonly Sample[] => {
    const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString()
    const notStarted = { deliveries: 0, failures: 0, deadLetters: 0, failingSince: startedAt }
    return states.flatMap(({ alias, webhooks }) =>
      webhooks.map(({ config, state = notStarted }) => {
        return { labels: { fd: alias, webhook: config.name }, value: read(state) }
      }),
    )
  }
  return { name, type, help, labels: ['fd', 'webhook'], together: 'max', read: readAll }
}

function secondsSince(time: string): number {
  return Math.max(0, Date.now() - Date.parse(time)) / 1_000
}

export const storeMetrics: readonly Metric<readonly StoreState[]>[] = [
  perFd(
    'ashlar_store_up',
    'gauge',
    '1 if the store answered within a second and can be changed. If it did not answer, the other metrics of the store are omitted.',
    ({ statistics, isBroken }) => (statistics === undefined || isBroken ? 0 : 1),
  ),
  perFd(
    'ashlar_store_bytes',
    'gauge',
    'Size of the data: the file on LMDB, the table with its indexes on PostgreSQL.',
    ({ statistics }) => statistics?.storeBytes,
  ),
  perFd(
    'ashlar_store_entries',
    'gauge',
    'Entries in the store: objects, links, index entries and others; an estimate on PostgreSQL.',
    ({ statistics }) => statistics?.storeEntries,
  ),
  perFd(
    'ashlar_store_free_bytes',
    'gauge',
    'Free space of the file system that holds the data file (LMDB only).',
    ({ freeBytes }) => freeBytes,
  ),
  perFd(
    'ashlar_backup_age_seconds',
    'gauge',
    'Age of the latest backup in the backup directory when it was last checked; +Inf if it holds none. Absent if no directory is configured.',
    ({ backupAgeSeconds }) => backupAgeSeconds,
  ),
  perFd(
    'ashlar_backup_interval_seconds',
    'gauge',
    'Configured interval between backups of any kind; absent if the server makes none by itself.',
    ({ backupIntervalSeconds }) => backupIntervalSeconds,
  ),
  perFd(
    'ashlar_change_log_bytes',
    'gauge',
    'Size of the change log when it was last measured, which happens every few seconds; 0 without a log.',
    ({ changeLog }) => changeLog?.bytes,
  ),
  perFd(
    'ashlar_change_log_bound_bytes',
    'gauge',
    'Size up to which the change log is kept: changeLogBytesMax, or what follows from the size of the data.',
    ({ changeLog }) => changeLog?.bytesMax,
  ),
  perWebhook(
    'ashlar_webhook_deliveries_total',
    'counter',
    'Deliveries accepted by the webhook receiver.',
    ({ deliveries }) => deliveries,
  ),
  perWebhook('ashlar_webhook_failures_total', 'counter', 'Failed delivery attempts.', ({ failures }) => failures),
  perWebhook(
    'ashlar_webhook_failing_seconds',
    'gauge',
    'Time since the first attempt at the delivery that is due; 0 if none has failed.',
    ({ failingSince }) => (failingSince === undefined ? 0 : secondsSince(failingSince)),
  ),
  perWebhook(
    'ashlar_webhook_dead_letters',
    'gauge',
    'Dead letters: deliveries that were abandoned, kept until they are redelivered or dropped.',
    ({ deadLetters }) => deadLetters,
  ),
  perWebhook('ashlar_webhook_disabled', 'gauge', '1 if the webhook is disabled until it is resumed.', ({ disabled }) =>
    disabled === undefined ? 0 : 1,
  ),
  perFd('ashlar_classes', 'gauge', 'Classes of the schema.', ({ statistics }) => statistics?.classes),
  perFd('ashlar_indexes', 'gauge', 'Indexes of the schema.', ({ statistics }) => statistics?.indexes),
]
