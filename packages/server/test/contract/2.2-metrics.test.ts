/** Contract 2.2.4: metrics, as Prometheus reads them. */
import { expect } from 'vitest'
import { problemTypes } from '../../src/errors/server-errors.ts'
import { processMetrics } from '../../src/metrics/process-metrics.ts'
import { storeMetrics } from '../../src/metrics/store-metrics.ts'
import { operations } from '../../src/operations/table.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { defineGadget, openServer } from '../unit/open-server.ts'
import { readExposition } from '../unit/read-exposition.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { startServer } from './server-under-test.ts'

const declared = [...processMetrics, ...storeMetrics]

rule('2.2.4', 'every metric that is declared, with its type and labels, and no other', async () => {
  const { app } = await openServer({ aliases: ['fleet'] })
  await defineGadget(app)
  await app.inject({ method: 'GET', url: '/v1/nothing' })
  const reply = await app.inject({ method: 'GET', url: '/metrics' })
  expect(reply.statusCode).toBe(200)
  expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const { samples, types } = readExposition(reply.body)
  // In memory there are no files, there are no audit log, no backups and no webhooks here, and the change log is measured after some seconds.
  const isAbsent = (name: string): boolean => /^ashlar_(audit|webhook|backup|change_log|store_free)_/.test(name)
  expect([...types.keys()].sort()).toEqual(declared.map(({ name }) => name).sort())
  for (const { name, type, labels = [] } of declared) {
    expect([name, types.get(name)]).toEqual([name, type])
    const own = samples.filter((one) => one.name.replace(/_(bucket|sum|count)$/, '') === name || one.name === name)
    expect([name, own.length > 0]).toEqual([name, !isAbsent(name)])
    for (const one of own) {
      for (const label of Object.keys(one.labels)) expect([name, labels.includes(label)]).toEqual([name, true])
    }
  }
})

rule('2.2.4', 'requests by operation and status, errors by type, commits, rows and plans', async () => {
  const { app } = await openServer({ aliases: ['fleet'] })
  await defineGadget(app)
  const created: string[] = []
  for (const name of ['a', 'b', 'c']) {
    const payload = { class: 'Shop.Gadget', attributes: { name, size: 1 } }
    const reply = await app.inject({ method: 'POST', url: '/v1/object', payload })
    expect(reply.statusCode).toBe(201)
    created.push(reply.json().__identifier__)
  }
  await app.inject({ method: 'GET', url: `/v1/object/${created[0]}` })
  expectProblemStatus(await app.inject({ method: 'GET', url: '/v1/object/3-9-9-9' }), 404)
  const query = { query: "FROM Shop.Gadget WHERE name = 'a' RETURN name" }
  for (let i = 0; i < 3; i++) await app.inject({ method: 'POST', url: '/v1/query', payload: query })
  const { value } = readExposition((await app.inject({ method: 'GET', url: '/metrics' })).body)
  const read = 'GET /v1/object/{oid}'
  expect(value('ashlar_requests_total', { operation: read, status: '200' })).toBe(1)
  expect(value('ashlar_requests_total', { operation: read, status: '404' })).toBe(1)
  expect(value('ashlar_request_duration_seconds_count', { operation: read })).toBe(2)
  expect(value('ashlar_request_duration_seconds_bucket', { operation: read, le: '+Inf' })).toBe(2)
  expect(value('ashlar_errors_total', { type: 'ObjectNotFound' })).toBe(1)
  expect(value('ashlar_commits_total', { fd: 'fleet' })).toBeGreaterThanOrEqual(4)
  const commits = Number(value('ashlar_commits_total', { fd: 'fleet' }))
  const conflicts = Number(value('ashlar_commit_conflicts_total', { fd: 'fleet' }))
  expect(value('ashlar_commit_group_size_sum', { fd: 'fleet' })).toBe(commits + conflicts)
  expect(value('ashlar_rows_returned_total', { fd: 'fleet' })).toBe(3)
  expect(value('ashlar_rows_touched_total', { fd: 'fleet' })).toBe(9)
  expect(value('ashlar_plan_cache_hits_total', { fd: 'fleet' })).toBeGreaterThanOrEqual(2)
  expect(value('ashlar_store_up', { fd: 'fleet' })).toBe(1)
  expect(value('ashlar_classes', { fd: 'fleet' })).toBe(1)
  expect(value('ashlar_requests_in_progress')).toBe(1)
})

function expectProblemStatus({ statusCode }: { readonly statusCode: number }, status: number): void {
  expect(statusCode).toBe(status)
}

rule('2.2.4', 'faults and errors of every type are counted from 0, also where there were no requests', async () => {
  const { app } = await openServer({ aliases: ['fleet'] })
  const { value, samples } = readExposition((await app.inject({ method: 'GET', url: '/metrics' })).body)
  for (const type of problemTypes) expect([type, value('ashlar_errors_total', { type })]).toEqual([type, 0])
  for (const { method, path } of operations) {
    const operation = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`
    expect([operation, value('ashlar_requests_total', { operation, status: '500' })]).toEqual([operation, 0])
  }
  expect(value('ashlar_requests_total', { operation: 'other', status: '500' })).toBe(0)
  expect(samples.filter(({ name }) => name.startsWith('ashlar_request_duration_seconds'))).toEqual([])
})

rule('2.2.4', 'what is refused before it comes to its operation is counted as that', async () => {
  const { app, token } = await openSecureServer({ aliases: ['fleet'] })
  for (let i = 0; i < 2; i++) await app.inject({ method: 'GET', url: '/v1/schema' })
  const authorization = await token({ roles: ['operator'] })
  const reply = await app.inject({ method: 'GET', url: '/metrics', headers: { authorization } })
  const { value } = readExposition(reply.body)
  expect(value('ashlar_requests_total', { operation: 'GET /v1/schema', status: '401' })).toBe(2)
  expect(value('ashlar_errors_total', { type: 'Unauthenticated' })).toBe(2)
})

rule('2.2.4', 'with several workers, one scrape tells of all', async () => {
  const server = await startServer({ words: ['--fd', 'fleet', '--workers', '2'] })
  try {
    // Each request comes by a connection of its own, which any of the workers may take.
    for (let i = 0; i < 20; i++) await server.get('/v1')
    const reply = await server.send('GET', '/metrics', {
      headers: { accept: 'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1' },
    })
    expect(reply.status).toBe(200)
    const { value } = readExposition(reply.text)
    expect(value('ashlar_processes')).toBe(2)
    expect(value('ashlar_processes_expected')).toBe(2)
    expect(value('ashlar_requests_total', { operation: 'GET /v1', status: '200' })).toBe(20)
    expect(value('ashlar_store_bytes', { fd: 'fleet' })).toBeGreaterThan(0)
    // Not added up: all have the same store.
    expect(value('ashlar_store_up', { fd: 'fleet' })).toBe(1)
    expectProblem(
      await server.send('GET', '/metrics', { headers: { accept: 'application/json' } }),
      406,
      'NotAcceptable',
    )
  } finally {
    await server.remove()
  }
})
