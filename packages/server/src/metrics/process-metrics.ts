/** The metrics that each process of a server has of its own. */
import { type Counts, groupSizes } from '@ashlar/engine'
import { version } from '../version.ts'
import { histogram, type Metric, one, type Sample } from './metric.ts'
import type { LoopNumbers } from './process-numbers.ts'
import { durationSeconds, type RequestCounts } from './request-counts.ts'

/** Where the numbers are; each is asked when somebody wants them. */
export interface Counters {
  readonly requests: RequestCounts
  readonly requestsInProgress: () => number
  readonly connections: { readonly all: number }
  readonly statements: {
    /** By their state. */
    counts(): Readonly<Record<'queued' | 'running' | 'sending', number>>
    readonly brokenOff: { readonly count: number }
  }
  /** `lagMs`: of the one of a federated database that is furthest behind. */
  readonly followers: { readonly count: number; lagMs(alias: string): number }
  readonly bodies: { readonly bytes: number }
  /** Where there is an audit log. */
  readonly audit:
    | { readonly file: { readonly appended: number; readonly lost: number; readonly hasFailed: boolean } }
    | undefined
  /** When the server was started, by `performance.now()`. */
  readonly startedAtMs: number
  /** Of the server, where none is missing. */
  readonly processesExpected: number
}

/** With what is read once for all metrics. */
export interface ProcessSource extends Counters {
  /** Of each federated database, by its alias. */
  readonly databases: ReadonlyMap<string, Counts>
  readonly loop: LoopNumbers
  readonly memory: NodeJS.MemoryUsage
}

type Numbers = (counts: Counts) => number

function ofEach(read: Numbers): (source: ProcessSource) => readonly Sample[] {
  return ({ databases }) => [...databases].map(([fd, counts]) => ({ labels: { fd }, value: read(counts) }))
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
    together: 'sum',
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
    together: 'sum',
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
    together: 'sum',
    read: ({ requests }) => [...requests.errors].map(([type, value]) => ({ labels: { type }, value })),
  },
  {
    name: 'ashlar_requests_in_progress',
    type: 'gauge',
    help: 'Requests in progress, including replies that are still being sent.',
    together: 'sum',
    read: ({ requestsInProgress }) => one(requestsInProgress()),
  },
  {
    name: 'ashlar_connections',
    type: 'gauge',
    help: 'Client connections. On an HTTP/2 connection, each further concurrent request counts as one more.',
    together: 'sum',
    read: ({ connections }) => one(connections.all),
  },
  {
    name: 'ashlar_statements',
    type: 'gauge',
    help: 'Current statements by state: queued, running or sending. Short statements end before they are counted.',
    labels: ['state'],
    together: 'sum',
    read: ({ statements }) =>
      Object.entries(statements.counts()).map(([state, value]) => ({ labels: { state }, value })),
  },
  {
    name: 'ashlar_replies_broken_off_total',
    type: 'counter',
    help: 'Replies aborted because the client stopped reading or held a snapshot for too long.',
    together: 'sum',
    read: ({ statements }) => one(statements.brokenOff.count),
  },
  {
    name: 'ashlar_change_followers',
    type: 'gauge',
    help: 'Requests that follow the change feed of a federated database, or wait for a change.',
    together: 'sum',
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
    together: 'sum',
    read: ({ bodies }) => one(bodies.bytes),
  },
  {
    name: 'ashlar_held_bytes',
    type: 'gauge',
    help: 'Memory accounted to statements and transactions in progress (limit: statementsBytesMax).',
    together: 'sum',
    read: ({ databases }) => one(Math.max(0, ...[...databases.values()].map(({ heldBytes }) => heldBytes))),
  },
  {
    name: 'ashlar_statement_threads',
    type: 'gauge',
    help: 'Threads in which long statements run, or that are kept for the next one (limit: statementThreadsMax for each federated database).',
    together: 'sum',
    read: ({ databases }) =>
      one([...databases.values()].reduce((sum, { statementThreads }) => sum + statementThreads, 0)),
  },
  {
    name: 'ashlar_commits_total',
    type: 'counter',
    help: 'Successful commits to the store.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ commits }) => commits.commits),
  },
  {
    name: 'ashlar_commit_conflicts_total',
    type: 'counter',
    help: 'Commits that failed because of concurrent changes; nearly all are retried.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ commits }) => commits.conflicts),
  },
  {
    name: 'ashlar_commit_retries_total',
    type: 'counter',
    help: 'Transaction retries: attempts after the first.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ commits }) => commits.retries),
  },
  {
    name: groupSize,
    type: 'histogram',
    help: 'Group commit size: commits written by one transaction of the store.',
    labels: ['fd', 'le'],
    together: 'sum',
    read: ({ databases }) =>
      [...databases].flatMap(([fd, { commits }]) => {
        return histogram(groupSize, { fd }, groupSizes, commits.groupsBySize, commits.grouped)
      }),
  },
  {
    name: 'ashlar_rows_returned_total',
    type: 'counter',
    help: 'Rows returned by queries and exports.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ queries }) => queries.rows),
  },
  {
    name: 'ashlar_rows_touched_total',
    type: 'counter',
    help: 'Objects examined by queries; many of them per returned row suggest a missing index.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ queries }) => queries.touched),
  },
  {
    name: 'ashlar_plan_cache_hits_total',
    type: 'counter',
    help: 'Plan cache hits, for statements and expressions.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ plansReused }) => plansReused),
  },
  {
    name: 'ashlar_plan_cache_misses_total',
    type: 'counter',
    help: 'Plan cache misses.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ plansMade }) => plansMade),
  },
  {
    name: 'ashlar_index_builds',
    type: 'gauge',
    help: 'Indexes that are being built in the background.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ indexBuilds }) => indexBuilds),
  },
  {
    name: 'ashlar_oldest_snapshot_seconds',
    type: 'gauge',
    help: 'Age of the oldest open snapshot; while it is open, data files grow by all that is written.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ oldestSnapshotMs }) => oldestSnapshotMs / 1_000),
  },
  {
    name: 'ashlar_audit_lines_total',
    type: 'counter',
    help: 'Audit log lines; absent without an audit log.',
    together: 'sum',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.file.appended)),
  },
  {
    name: 'ashlar_audit_lines_lost_total',
    type: 'counter',
    help: 'Audit log lines lost because the log could not be written and its buffer was full.',
    together: 'sum',
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
    together: 'sum',
    read() {
      const { user, system } = process.cpuUsage()
      return one((user + system) / microsecondsASecond)
    },
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory. Pages of a data file shared by several processes count once for each.',
    together: 'sum',
    read: ({ memory }) => one(memory.rss),
  },
  {
    name: 'nodejs_heap_used_bytes',
    type: 'gauge',
    help: 'Used JavaScript heap.',
    together: 'sum',
    read: ({ memory }) => one(memory.heapUsed),
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Memory outside the JavaScript heap, such as buffers.',
    together: 'sum',
    read: ({ memory }) => one(memory.external),
  },
  {
    name: 'ashlar_processes',
    type: 'gauge',
    help: 'Processes included in these numbers; if it falls, counters fall as well.',
    together: 'sum',
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
