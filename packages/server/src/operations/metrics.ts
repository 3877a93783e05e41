/** Metrics in the format of Prometheus (contract 2.2.4). */
import type { ServiceOperation } from '../dispatch/operation.ts'
import { type ReadMetric, readMetrics } from '../metrics/metric.ts'
import { storeMetrics, storeStates } from '../metrics/store-metrics.ts'

export const metricsOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/metrics',
    needs: 'operate',
    summary: 'Metrics, in the text format of Prometheus',
    description: 'Counts, gauges and histograms of all processes of the server together.',
    tag: 'Service',
    status: 200,
    writes: ['metrics'],
    isTransactional: false,
    errors: ['NotAcceptable'],
    async run({ service: { processMetrics, federatedDatabases, peers, backups, webhooks } }) {
      const [others, states] = await Promise.all([
        peers.gather({ about: 'metrics' }),
        storeStates(federatedDatabases.all, backups, webhooks),
      ])
      const shared = readMetrics(storeMetrics, states)
      return { body: Buffer.from(await expose([processMetrics(), ...others, shared])), type: 'metrics' }
    },
  },
]

/** `processes`: the metrics read by each process. */
async function expose(processes: readonly (readonly ReadMetric[])[]): Promise<string> {
  // Loaded on the first scrape only.
  const { AggregatorRegistry } = await import('prom-client')
  return AggregatorRegistry.aggregate(processes.map((read) => [...read])).metrics()
}
