/** Metrics of a single process of a server. */

import { type DatabaseCounts, type FederatedDatabase, groupSizes } from '@ashlar/engine'
import { version } from '../version.ts'
import { histogram, type Metric, one, type ReadMetric, readMetrics, type Sample } from './metric.ts'
import type { LoopNumbers, ProcessNumbers } from './process-numbers.ts'
import { durationSeconds, type RequestCounts } from './request-counts.ts'

/** Sources of the numbers, read on demand. */
export interface Counters {
  readonly requests: RequestCounts
  readonly requestsInProgress: () => number
  readonly connections: { readonly all: number }
  readonly statements: {
    counts(): Readonly<Record<'queued' | 'running' | 'sending', number>>
    readonly abortedReplies: { readonly count: number }
  }
  /** `lagMs`: the lag of the slowest follower of a federated database. */
  readonly followers: { readonly count: number; lagMs(alias: string): number }
  readonly bodies: { readonly bytes: number }
  /** Undefined without an audit log. */
  readonly audit:
    | { readonly file: { readonly appended: number; readonly lost: number; readonly hasFailed: boolean } }
    | undefined
  /** When the server was started, by `performance.now()`. */
  readonly startedAtMs: number
  /** Configured number of processes. */
  readonly processesExpected: number
}

/** Adds the values that are read once for all metrics. */
export interface ProcessSource extends Counters {
  /** DatabaseCounts by alias of the federated database. */
  readonly databases: ReadonlyMap<string, DatabaseCounts>
  readonly loop: LoopNumbers
  readonly memory: NodeJS.MemoryUsage
}

/** A metric with one sample for each federated database. */
function perFd(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  read: (counts: DatabaseCounts) => number,
  together: 'sum' | 'max' = 'sum',
): Metric<ProcessSource> {
  const readAll = ({ databases }: ProcessSource): readonly Sample[] =>
    [...databases].map(([fd, counts]) => ({ labels: { fd }, value: read(counts) }))
  return { name, type, help, labels: ['fd'], together, read: readAll }
}

const microsecondsASecond = 1e6
const requestDuration = 'ashlar_request_duration_seconds'
const groupSize = 'ashlar_commit_group_size'

export const processMetrics: readonly Metric<ProcessSource>[] = [
  {
    name: 'ashlar_requests_total',
    type: 'counter',
    help: 'Completed requests, by operation and status; status 499 if the client disconnected before the reply. Status 500 exists from the start, as 0.',
    labels: ['operation', 'status'],
    read: ({ requests }) =>
      requests.all().flatMap(({ operation, byStatus }) => {
        return [...byStatus].map(([status, { count }]) => ({ labels: { operation, status }, value: count }))
      }),
  },
  {
    name: requestDuration,
    type: 'histogram',
    help: 'Request duration, from the headers of the request to the end of the reply, including the time the client takes to read it.',
    labels: ['operation', 'le'],
    read: ({ requests }) =>
      requests.all().flatMap(({ operation, byDuration, sumMs }) => {
        if (byDuration.every((count) => count === 0)) return []
        return histogram(requestDuration, { operation }, durationSeconds, byDuration, sumMs / 1_000)
      }),
  },
  {
    name: 'ashlar_errors_total',
    type: 'counter',
    help: 'Error replies by type, such as ServerBusy and TooManyStatements (refused under load) or Unauthenticated. Every type exists from the start, as 0.',
    labels: ['type'],
    read: ({ requests }) => [...requests.errors].map(([type, value]) => ({ labels: { type }, value })),
  },
  {
    name: 'ashlar_requests_in_progress',
    type: 'gauge',
    help: 'Requests in progress, including replies that are still being sent.',
    read: ({ requestsInProgress }) => one(requestsInProgress()),
  },
  {
    name: 'ashlar_connections',
    type: 'gauge',
    help: 'Client connections. On an HTTP/2 connection, each further concurrent request counts as one more.',
    read: ({ connections }) => one(connections.all),
  },
  {
    name: 'ashlar_statements',
    type: 'gauge',
    help: 'Current statements by state: queued, running or sending. Short statements end before they are counted.',
    labels: ['state'],
    read: ({ statements }) =>
      Object.entries(statements.counts()).map(([state, value]) => ({ labels: { state }, value })),
  },
  {
    name: 'ashlar_replies_broken_off_total',
    type: 'counter',
    help: 'Replies aborted because the client stopped reading or held a snapshot for too long.',
    read: ({ statements }) => one(statements.abortedReplies.count),
  },
  {
    name: 'ashlar_change_followers',
    type: 'gauge',
    help: 'Requests that follow the change feed of a federated database, or wait for a change.',
    read: ({ followers }) => one(followers.count),
  },
  {
    name: 'ashlar_change_follower_lag_seconds',
    type: 'gauge',
    help: 'Lag of the slowest follower of the change feed; 0 if all are up to date.',
    labels: ['fd'],
    together: 'max',
    read: ({ databases, followers }) =>
      [...databases.keys()].map((fd) => ({ labels: { fd }, value: followers.lagMs(fd) / 1_000 })),
  },
  {
    name: 'ashlar_body_bytes',
    type: 'gauge',
    help: 'Memory held by the bodies of requests in progress, except bodies of up to 64 KiB (limit: bodiesBytesMax).',
    read: ({ bodies }) => one(bodies.bytes),
  },
  {
    name: 'ashlar_held_bytes',
    type: 'gauge',
    help: 'Memory accounted to statements and transactions in progress (limit: statementsBytesMax).',
    read: ({ databases }) => one(Math.max(0, ...[...databases.values()].map(({ memoryBytes }) => memoryBytes))),
  },
  {
    name: 'ashlar_statement_threads',
    type: 'gauge',
    help: 'Threads in which long statements run, or that are kept for the next one (limit: statementThreadsMax for each federated database).',
    read: ({ databases }) =>
      one([...databases.values()].reduce((sum, { statementThreads }) => sum + statementThreads, 0)),
  },
  perFd('ashlar_commits_total', 'counter', 'Successful commits to the store.', ({ commits }) => commits.commits),
  perFd(
    'ashlar_commit_conflicts_total',
    'counter',
    'Commits that failed because of concurrent changes; nearly all are retried.',
    ({ commits }) => commits.conflicts,
  ),
  perFd(
    'ashlar_commit_retries_total',
    'counter',
    'Transaction retries: attempts after the first.',
    ({ commits }) => commits.retries,
  ),
  {
    name: groupSize,
    type: 'histogram',
    help: 'Group commit size: commits written by one transaction of the store.',
    labels: ['fd', 'le'],
    read: ({ databases }) =>
      [...databases].flatMap(([fd, { commits }]) => {
        return histogram(groupSize, { fd }, groupSizes, commits.groupsBySize, commits.grouped)
      }),
  },
  perFd(
    'ashlar_rows_returned_total',
    'counter',
    'Rows returned by queries and exports.',
    ({ queries }) => queries.rows,
  ),
  perFd(
    'ashlar_rows_touched_total',
    'counter',
    'Objects examined by queries; many of them per returned row suggest a missing index.',
    ({ queries }) => queries.touched,
  ),
  perFd(
    'ashlar_plan_cache_hits_total',
    'counter',
    'Plan cache hits, for statements and expressions.',
    ({ plansReused }) => plansReused,
  ),
  perFd('ashlar_plan_cache_misses_total', 'counter', 'Plan cache misses.', ({ plansMade }) => plansMade),
  perFd(
    'ashlar_index_builds',
    'gauge',
    'Indexes that are being built in the background.',
    ({ indexBuilds }) => indexBuilds,
  ),
  perFd(
    'ashlar_oldest_snapshot_seconds',
    'gauge',
    'Age of the oldest open snapshot; while it is open, data files grow by all that is written.',
    ({ oldestSnapshotMs }) => oldestSnapshotMs / 1_000,
    'max',
  ),
  {
    name: 'ashlar_audit_lines_total',
    type: 'counter',
    help: 'Audit log lines; absent without an audit log.',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.file.appended)),
  },
  {
    name: 'ashlar_audit_lines_lost_total',
    type: 'counter',
    help: 'Audit log lines lost because the log could not be written and its buffer was full.',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.file.lost)),
  },
  {
    name: 'ashlar_audit_failed',
    type: 'gauge',
    help: '1 while the audit log cannot be written.',
    together: 'max',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.file.hasFailed ? 1 : 0)),
  },
  {
    name: 'ashlar_event_loop_utilization',
    type: 'gauge',
    help: 'Event loop utilization of the busiest process since the previous scrape; at 1 it is the bottleneck.',
    together: 'max',
    read: ({ loop }) => one(loop.utilization),
  },
  {
    name: 'ashlar_event_loop_delay_seconds',
    type: 'gauge',
    help: 'Event loop delay since the previous scrape, by quantile; 1 is the maximum. Measured from the first scrape on.',
    labels: ['quantile'],
    together: 'max',
    read: ({ loop: { delay } }) => [
      { labels: { quantile: 0.5 }, value: delay.p50 },
      { labels: { quantile: 0.99 }, value: delay.p99 },
      { labels: { quantile: 1 }, value: delay.max },
    ],
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'CPU time, user and system.',
    read() {
      const { user, system } = process.cpuUsage()
      return one((user + system) / microsecondsASecond)
    },
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory. Pages of a data file shared by several processes count once for each.',
    read: ({ memory }) => one(memory.rss),
  },
  {
    name: 'nodejs_heap_used_bytes',
    type: 'gauge',
    help: 'Used JavaScript heap.',
    read: ({ memory }) => one(memory.heapUsed),
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Memory outside the JavaScript heap, such as buffers.',
    read: ({ memory }) => one(memory.external),
  },
  {
    name: 'ashlar_processes',
    type: 'gauge',
    help: 'Processes included in these numbers; if it falls, counters fall as well.',
    read: () => one(1),
  },
  {
    name: 'ashlar_processes_expected',
    type: 'gauge',
    help: 'Processes that serve requests when none is missing: the number of workers.',
    together: 'max',
    read: ({ processesExpected }) => one(processesExpected),
  },
  {
    name: 'ashlar_uptime_seconds',
    type: 'gauge',
    help: 'Time since the server was started.',
    together: 'max',
    read: ({ startedAtMs }) => one((performance.now() - startedAtMs) / 1_000),
  },
  {
    name: 'ashlar_info',
    type: 'gauge',
    help: '1, with the versions as labels.',
    labels: ['version', 'node'],
    together: 'max',
    read: () => [{ labels: { version, node: process.version }, value: 1 }],
  },
]

export interface ReadProcess extends Counters {
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly numbers: ProcessNumbers
}

export function readProcess(source: ReadProcess): ReadMetric[] {
  return readMetrics(processMetrics, {
    ...source,
    databases: new Map(source.federatedDatabases.map((fd) => [fd.alias, fd.counts()])),
    loop: source.numbers.loop(),
    memory: process.memoryUsage(),
  })
}
