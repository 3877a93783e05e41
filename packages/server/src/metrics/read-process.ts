/** The metrics of this process, read from what counts them. */
import type { FederatedDatabase } from '@ashlar/engine'
import { version } from '../version.ts'
import { type ReadMetric, readMetrics } from './metric.ts'
import { type ProcessSource, processMetrics } from './process-metrics.ts'
import type { ProcessNumbers } from './process-numbers.ts'
import type { RequestCounts } from './request-counts.ts'

/** Where the numbers are; each is asked when somebody wants them. */
export interface Counters {
  readonly requests: RequestCounts
  readonly requestsInProgress: () => number
  readonly connections: { readonly all: number }
  readonly statements: {
    counts(): ProcessSource['statements']
    readonly brokenOff: { readonly count: number }
  }
  readonly followers: { readonly count: number; lagMs(alias: string): number }
  readonly bodies: { readonly bytes: number }
  readonly audit: { readonly file: NonNullable<ProcessSource['audit']> } | undefined
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly numbers: ProcessNumbers
  /** When the server was started, by `performance.now()`. */
  readonly startedAtMs: number
  readonly processesExpected: number
}

const microsecondsASecond = 1e6

export function readProcess(counters: Counters): ReadMetric[] {
  const { requests, statements, connections, followers, audit, numbers, startedAtMs, processesExpected } = counters
  const { user, system } = process.cpuUsage()
  return readMetrics(processMetrics, {
    requests,
    requestsInProgress: counters.requestsInProgress(),
    connections: connections.all,
    statements: statements.counts(),
    repliesBrokenOff: statements.brokenOff.count,
    changeFollowers: followers.count,
    followerLagMs: (alias) => followers.lagMs(alias),
    bodyBytes: counters.bodies.bytes,
    audit: audit?.file,
    databases: new Map(counters.federatedDatabases.map((fd) => [fd.alias, fd.counts()])),
    loop: numbers.loop(),
    cpuSeconds: (user + system) / microsecondsASecond,
    memory: process.memoryUsage(),
    upSeconds: (performance.now() - startedAtMs) / 1_000,
    processesExpected,
    version,
  })
}
