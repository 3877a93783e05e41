/** The metrics of this process, read from what counts them. */
import type { FederatedDatabase } from '@ashlar/engine'
import { type ReadMetric, readMetrics } from './metric.ts'
import { type Counters, processMetrics } from './process-metrics.ts'
import type { ProcessNumbers } from './process-numbers.ts'

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
