/** Every metric that the dashboard, the alert rules and the page of operations name exists. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { processMetrics } from '../../src/metrics/process-metrics.ts'
import { storeMetrics } from '../../src/metrics/store-metrics.ts'

const declared = [...processMetrics, ...storeMetrics]
const sampled = new Set(
  declared.flatMap(({ name, type }) => {
    return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name]
  }),
)
const metricName = /\b(?:ashlar|process|nodejs)_[a-z_]+\b/g

function textOf(name: string): string {
  return readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

it('a panel of the dashboard asks for metrics that there are, and the dashboard for nearly all', () => {
  const { panels } = JSON.parse(textOf('monitoring/grafana-dashboard.json')) as { readonly panels: readonly Panel[] }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const asked = new Set<string>()
  for (const { title, targets } of panels) {
    const names = targets.flatMap(({ expr }) => expr.match(metricName) ?? [])
    expect([title, names.length >= targets.length]).toEqual([title, true])
    for (const name of names) {
      expect([title, name, sampled.has(name)]).toEqual([title, name, true])
      asked.add(name.replace(/_(bucket|sum|count)$/, ''))
    }
  }
  const unasked = declared.map(({ name }) => name).filter((name) => !asked.has(name))
  expect(
    unasked.filter((name) => !/_(info|uptime|up|classes|indexes|entries|processes|audit)(_|$)/.test(name)),
  ).toEqual([])
})

it('an alert rule asks for metrics that there are', () => {
  const exprs = [...textOf('monitoring/alerts.yml').matchAll(/expr: ['"](.*)['"]$/gm)].map(([, found = '']) => found)
  expect(exprs.length).toBeGreaterThan(10)
  for (const expr of exprs) {
    for (const name of expr.match(metricName) ?? []) expect([expr, name, sampled.has(name)]).toEqual([expr, name, true])
  }
})

it('the page of operations names metrics that there are', () => {
  const names = textOf('operations.md').match(/`(?:ashlar|process|nodejs)_[a-z_]+/g) ?? []
  expect(names.length).toBeGreaterThan(20)
  const known = new Set(declared.map(({ name }) => name))
  expect(names.map((name) => name.slice(1)).filter((name) => !known.has(name))).toEqual([])
})
