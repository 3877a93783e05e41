/** The metrics that each process of a server has of its own. */
import { type Counts, groupSizes } from '@ashlar/engine'
import { histogram, type Metric, one, type Sample } from './metric.ts'
import type { LoopNumbers } from './process-numbers.ts'
import { durationSeconds, type RequestCounts } from './request-counts.ts'

/** What they are read from. */
export interface ProcessSource {
  readonly requests: RequestCounts
  readonly requestsInProgress: number
  readonly connections: number
  /** By their state. */
  readonly statements: Readonly<Record<'queued' | 'running' | 'sending', number>>
  readonly repliesBrokenOff: number
  readonly changeFollowers: number
  /** Of the one of a federated database, by its alias, that is furthest behind. */
  readonly followerLagMs: (alias: string) => number
  readonly bodyBytes: number
  /** Where there is an audit log. */
  readonly audit: { readonly appended: number; readonly lost: number; readonly hasFailed: boolean } | undefined
  /** Of each federated database, by its alias. */
  readonly databases: ReadonlyMap<string, Counts>
  readonly loop: LoopNumbers
  readonly cpuSeconds: number
  readonly memory: NodeJS.MemoryUsage
  readonly upSeconds: number
  readonly version: string
}

type Numbers = (counts: Counts) => number

function ofEach(read: Numbers): (source: ProcessSource) => readonly Sample[] {
  return ({ databases }) => [...databases].map(([fd, counts]) => ({ labels: { fd }, value: read(counts) }))
}

const requestDuration = 'ashlar_request_duration_seconds'
const groupSize = 'ashlar_commit_group_size'

export const processMetrics: readonly Metric<ProcessSource>[] = [
  {
    name: 'ashlar_requests_total',
    type: 'counter',
    help: 'Requests that have ended, by operation and status; 499 where the client went away before a reply.',
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
    help: 'From the headers of a request to the end of its reply, which its client takes as it can.',
    labels: ['operation', 'le'],
    together: 'sum',
    read: ({ requests }) =>
      requests.all().flatMap(({ operation, byDuration, sumMs }) => {
        return histogram(requestDuration, { operation }, durationSeconds, byDuration, sumMs / 1_000)
      }),
  },
  {
    name: 'ashlar_errors_total',
    type: 'counter',
    help: 'Error replies by their type: ServerBusy and TooManyStatements for what was refused under load, Unauthenticated for callers who are not known.',
    labels: ['type'],
    together: 'sum',
    read: ({ requests }) => [...requests.errors].map(([type, value]) => ({ labels: { type }, value })),
  },
  {
    name: 'ashlar_requests_in_progress',
    type: 'gauge',
    help: 'Requests that have begun and not ended, replies that go on included.',
    together: 'sum',
    read: ({ requestsInProgress }) => one(requestsInProgress),
  },
  {
    name: 'ashlar_connections',
    type: 'gauge',
    help: 'Connections of clients; what counts as one beside, further requests at the same time on one of HTTP/2.',
    together: 'sum',
    read: ({ connections }) => one(connections),
  },
  {
    name: 'ashlar_statements',
    type: 'gauge',
    help: 'Statements under way by state: queued, running or sending. Short ones end before they are counted.',
    labels: ['state'],
    together: 'sum',
    read: ({ statements }) => Object.entries(statements).map(([state, value]) => ({ labels: { state }, value })),
  },
  {
    name: 'ashlar_replies_broken_off_total',
    type: 'counter',
    help: 'Replies that were broken off because of their readers: they took nothing, or held a snapshot for too long.',
    together: 'sum',
    read: ({ repliesBrokenOff }) => one(repliesBrokenOff),
  },
  {
    name: 'ashlar_change_followers',
    type: 'gauge',
    help: 'Requests that follow the changes of a federated database, or wait for one.',
    together: 'sum',
    read: ({ changeFollowers }) => one(changeFollowers),
  },
  {
    name: 'ashlar_change_follower_lag_seconds',
    type: 'gauge',
    help: 'For how long the follower of changes that is furthest behind has not had all of them; 0 where each has.',
    labels: ['fd'],
    together: 'max',
    read: ({ databases, followerLagMs }) =>
      [...databases.keys()].map((fd) => ({ labels: { fd }, value: followerLagMs(fd) / 1_000 })),
  },
  {
    name: 'ashlar_body_bytes',
    type: 'gauge',
    help: 'What the bodies of requests under way hold, those of 64 KiB at most left out (bound: bodiesBytesMax).',
    together: 'sum',
    read: ({ bodyBytes }) => one(bodyBytes),
  },
  {
    name: 'ashlar_held_bytes',
    type: 'gauge',
    help: 'What statements and transactions under way are charged with in memory (bound: statementsBytesMax).',
    together: 'sum',
    read: ({ databases }) => one(Math.max(0, ...[...databases.values()].map(({ heldBytes }) => heldBytes))),
  },
  {
    name: 'ashlar_commits_total',
    type: 'counter',
    help: 'Commits to the store that were made.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ commits }) => commits.commits),
  },
  {
    name: 'ashlar_commit_conflicts_total',
    type: 'counter',
    help: 'Commits that were refused because of changes by others; nearly all are tried again.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ commits }) => commits.conflicts),
  },
  {
    name: 'ashlar_commit_retries_total',
    type: 'counter',
    help: 'Attempts of transactions after the first.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ commits }) => commits.retries),
  },
  {
    name: groupSize,
    type: 'histogram',
    help: 'Commits that one transaction of the store carries out together.',
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
    help: 'Rows that queries and exports have written for their replies.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ queries }) => queries.rows),
  },
  {
    name: 'ashlar_rows_touched_total',
    type: 'counter',
    help: 'Objects that queries have looked at to find rows; many for each row that is returned ask for an index.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ queries }) => queries.touched),
  },
  {
    name: 'ashlar_plan_cache_hits_total',
    type: 'counter',
    help: 'Plans of statements and expressions that were there already.',
    labels: ['fd'],
    together: 'sum',
    read: ofEach(({ plansReused }) => plansReused),
  },
  {
    name: 'ashlar_plan_cache_misses_total',
    type: 'counter',
    help: 'Plans that had to be made.',
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
    help: 'Age of the oldest snapshot: while it is held, files grow by all that is written.',
    labels: ['fd'],
    together: 'max',
    read: ofEach(({ oldestSnapshotMs }) => oldestSnapshotMs / 1_000),
  },
  {
    name: 'ashlar_audit_lines_total',
    type: 'counter',
    help: 'Lines for the audit log; without an audit log, none.',
    together: 'sum',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.appended)),
  },
  {
    name: 'ashlar_audit_lines_lost_total',
    type: 'counter',
    help: 'Lines of the audit log that found no room while it could not be written.',
    together: 'sum',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.lost)),
  },
  {
    name: 'ashlar_audit_failed',
    type: 'gauge',
    help: '1 while the audit log cannot be written.',
    together: 'max',
    read: ({ audit }) => (audit === undefined ? [] : one(audit.hasFailed ? 1 : 0)),
  },
  {
    name: 'ashlar_event_loop_utilization',
    type: 'gauge',
    help: 'Share of the time in which the busiest process worked, since the scrape before; at 1 it is the bottleneck.',
    together: 'max',
    read: ({ loop }) => one(loop.utilization),
  },
  {
    name: 'ashlar_event_loop_delay_seconds',
    type: 'gauge',
    help: 'How late timers were since the scrape before, by quantile; 1 is the longest. Measured from the first scrape on.',
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
    help: 'CPU time, of user and system.',
    together: 'sum',
    read: ({ cpuSeconds }) => one(cpuSeconds),
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Memory of the processes. Pages of a data file that they share are counted by each.',
    together: 'sum',
    read: ({ memory }) => one(memory.rss),
  },
  {
    name: 'nodejs_heap_used_bytes',
    type: 'gauge',
    help: 'Of the heaps of JavaScript.',
    together: 'sum',
    read: ({ memory }) => one(memory.heapUsed),
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Buffers and the like outside of the heaps.',
    together: 'sum',
    read: ({ memory }) => one(memory.external),
  },
  {
    name: 'ashlar_processes',
    type: 'gauge',
    help: 'Processes that have answered, of which these numbers are the sum: where it falls, counters fall as well.',
    together: 'sum',
    read: () => one(1),
  },
  {
    name: 'ashlar_uptime_seconds',
    type: 'gauge',
    help: 'Since the server was started.',
    together: 'max',
    read: ({ upSeconds }) => one(upSeconds),
  },
  {
    name: 'ashlar_info',
    type: 'gauge',
    help: '1, with the versions as labels.',
    labels: ['version', 'node'],
    together: 'max',
    read: ({ version }) => [{ labels: { version, node: process.version }, value: 1 }],
  },
]
