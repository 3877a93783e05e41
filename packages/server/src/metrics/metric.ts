/** A metric: declared once, read on each scrape. */

export interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Suffixed name of a series of a histogram. */
  readonly metricName?: string
}

export interface Metric<Source> {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels?: readonly string[]
  /** How the values of several processes are combined; `sum` by default. */
  readonly together?: 'sum' | 'max'
  read(source: Source): readonly Sample[]
}

/** A metric as sent between processes, and as prom-client accepts it. */
export interface ReadMetric {
  readonly name: string
  readonly type: Metric<unknown>['type']
  readonly help: string
  readonly aggregator: 'sum' | 'max'
  readonly values: Sample[]
}

export function readMetrics<Source>(metrics: readonly Metric<Source>[], source: Source): ReadMetric[] {
  return metrics.map((metric) => {
    const { name, type, help, together: aggregator = 'sum' } = metric
    return { name, type, help, aggregator, values: [...metric.read(source)] }
  })
}

/** A metric without labels. */
export function one(value: number): readonly Sample[] {
  return [{ value, labels: {} }]
}

/** `counts`: observations in each bucket, not cumulated, the last above all bounds. `sum`: of all observations, in the unit of the bounds. */
export function histogram(
  name: string,
  labels: Sample['labels'],
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): Sample[] {
  let below = 0
  const buckets = counts.map((count, i): Sample => {
    below += count
    return { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[i] ?? '+Inf' }, value: below }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: below },
  ]
}
