/** Metrics as Prometheus reads them: those of several processes together. */
import type { ReadMetric } from './metric.ts'

/** `processes`: what each has read. */
export async function expose(processes: readonly (readonly ReadMetric[])[]): Promise<string> {
  // Loaded by those servers alone that are asked.
  const { AggregatorRegistry } = await import('prom-client')
  return AggregatorRegistry.aggregate(processes.map((read) => [...read])).metrics()
}
