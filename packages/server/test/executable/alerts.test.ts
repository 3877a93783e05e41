/**
 * Each alert of docs/monitoring/alerts.yml fires on what a server shows of the fault, the first time that it happens, as soon as docs/operations.md says, and
 * not before. Faults are provoked on the built server where that is possible within seconds; time goes by in the evaluation alone.
 */
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, inject, it, onTestFinished, test } from 'vitest'
import { flipBit } from '../../../engine/test/store/damage.ts'
import { childrenOf } from '../process-tree.ts'
import { type AlertRule, durationSeconds, firesAt, type Series } from '../unit/promql.ts'
import { readExposition } from '../unit/read-exposition.ts'
import { type Started, start, temporaryDirectory } from './process.ts'

const stepSeconds = 15
const healthySeconds = 600

function textOf(name: string): string {
  return readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')
}

const rules = new Map<string, AlertRule & { readonly severity: string }>(
  textOf('monitoring/alerts.yml')
    .split('- alert: ')
    .slice(1)
    .map((text) => {
      const [alert = ''] = text.split('\n')
      const expr = /expr: (['"])(.*)\1$/m.exec(text)?.[2] ?? ''
      const [, severity = ''] = /severity: (\w+)/.exec(text) ?? []
      return [alert, { alert, expr, severity, forSeconds: durationSeconds(/for: (\w+)/.exec(text)?.[1] ?? '0s') }]
    }),
)

/** By alert: severity and seconds. */
const documented = new Map(
  [...textOf('operations.md').matchAll(/^\| `(Ashlar\w+)` \| (\w+) \| (\d+) min \|/gm)].map(
    ([, alert = '', severity, minutes]) => [alert, { severity, seconds: 60 * Number(minutes) }],
  ),
)

interface Course {
  /** Metrics that grow by themselves as time goes by. */
  readonly ages?: RegExp
  /** The fault happens again before each scrape: counters grow by as much each time. */
  readonly isRepeated?: boolean
  /** The server was not scraped before the fault. */
  readonly isNew?: boolean
}

const shown = new Set<string>()

/** A scrape is the text of /metrics; undefined where nothing answers. */
function seriesOf(
  { expr: asked }: AlertRule,
  healthy: string,
  faulty: string | undefined,
  { ages, isRepeated, isNew }: Course,
  end: number,
): Series[] {
  const series = new Map<string, { labels: Series['labels']; samples: { at: number; value: number }[] }>()
  const add = (name: string, labels: Series['labels'], at: number, value: number): void => {
    const all = { ...labels, __name__: name, instance: 'a:8185', job: 'ashlar' }
    const key = JSON.stringify(Object.entries(all).sort())
    const one = series.get(key) ?? { labels: all, samples: [] as { at: number; value: number }[] }
    one.samples.push({ at, value })
    series.set(key, one)
  }
  const [before, after] = [readExposition(healthy), faulty === undefined ? undefined : readExposition(faulty)]
  for (let at = 0; at <= end; at += stepSeconds) {
    const sinceFault = at - healthySeconds
    if (sinceFault < 0 && isNew === true) continue
    const scrape = sinceFault < 0 ? before : after
    add('up', {}, at, scrape === undefined ? 0 : 1)
    for (const { name, labels, value } of scrape?.samples ?? []) {
      if (!asked.includes(name)) continue
      const first = before.value(name, labels) ?? 0
      const isCounter = /_(total|bucket|sum|count)$/.test(name)
      let shownValue = value
      if (sinceFault >= 0 && isRepeated === true && isCounter)
        shownValue = first + (value - first) * (1 + sinceFault / stepSeconds)
      if (sinceFault >= 0 && ages?.test(name) === true) shownValue += sinceFault
      if (name === 'ashlar_uptime_seconds') shownValue = isNew === true ? sinceFault : 86_400 + at
      add(name, labels, at, shownValue)
    }
  }
  return [...series.values()]
}

function expectFires(alert: string, healthy: string, faulty: string | undefined, course: Course = {}): void {
  shown.add(alert)
  const rule = rules.get(alert)
  const { seconds = 0 } = documented.get(alert) ?? {}
  expect([alert, rule !== undefined, seconds > 0]).toEqual([alert, true, true])
  const end = healthySeconds + seconds
  const fired = firesAt(rule as AlertRule, seriesOf(rule as AlertRule, healthy, faulty, course, end), stepSeconds, end)
  expect([alert, fired === undefined ? 'never' : fired > healthySeconds - stepSeconds]).toEqual([alert, true])
  if (course.isNew === true) return
  const none = firesAt(rule as AlertRule, seriesOf(rule as AlertRule, healthy, healthy, {}, end), stepSeconds, end)
  expect([alert, none]).toEqual([alert, undefined])
}

/** The text with other values: by the beginning of a line, up to its value. */
function withValues(text: string, values: Readonly<Record<string, number>>): string {
  let changed = text
  for (const [sample, value] of Object.entries(values)) {
    const lines = changed.split('\n')
    expect([sample, lines.some((line) => line.startsWith(`${sample} `))]).toEqual([sample, true])
    changed = lines.map((line) => (line.startsWith(`${sample} `) ? `${sample} ${value}` : line)).join('\n')
  }
  return changed
}

class Server {
  readonly started: Started

  constructor(directory: string, config: object = {}, words: readonly string[] = []) {
    writeFileSync(
      join(directory, 'ashlar.json'),
      JSON.stringify({ port: 0, data: 'data', logLevel: 'silent', ...config }),
    )
    this.started = start(['serve', '--config', 'ashlar.json', ...words], {}, directory)
  }

  async send(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
    const headers = { 'content-type': 'application/json' }
    const url = `${await this.started.url}${path}`
    const reply = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    return { status: reply.status, text: await reply.text() }
  }

  async metrics(): Promise<string> {
    return (await this.send('GET', '/metrics')).text
  }

  /** Once a sample is so. */
  async metricsOnce(sample: string, isSo: (value: number) => boolean): Promise<string> {
    for (;;) {
      const text = await this.metrics()
      const line = text.split('\n').find((one) => one.startsWith(`${sample} `))
      if (line !== undefined && isSo(Number(line.slice(sample.length).replace('+Inf', 'Infinity')))) return text
      await delay(50)
    }
  }

  async define(): Promise<void> {
    const attributes = [{ attributeName: 'a', logicalType: 'string' }]
    const reply = await this.send('PUT', '/v1/schema', [{ className: 'T', isReferenceable: true, attributes }])
    expect(reply.status).toBe(201)
  }

  async create(a: string): Promise<string> {
    const reply = await this.send('POST', '/v1/object', { class: 'T', attributes: { a } })
    expect(reply.status).toBe(201)
    return JSON.parse(reply.text).__identifier__
  }

  async stop(): Promise<void> {
    this.started.child.kill('SIGTERM')
    await this.started.ended
  }
}

/** Refuses every delivery, or takes it. */
async function receiver(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(status).end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function hook(directory: string, name: string, url: string, more: object = {}): object {
  const secretFile = join(directory, `${name}.secret`)
  writeFileSync(secretFile, `whsec_${Buffer.alloc(32, 7).toString('base64')}\n`)
  return { name, url, secretFile, class: 'T', since: 'first', ...more }
}

const webhooks = { allowedHosts: ['127.0.0.1'], allowPrivateAddresses: true }

describe('a fault that is provoked on a server', () => {
  it('damaged data: the first object that is read', async () => {
    const directory = temporaryDirectory()
    const first = new Server(directory)
    await first.define()
    const oid = await first.create('ultramarine')
    await first.stop()
    flipBit(join(directory, 'data', 'default'), 'ultramarine', { at: 3, bit: 5 })
    const server = new Server(directory)
    const healthy = await server.metrics()
    expect((await server.send('GET', `/v1/object/${oid}`)).status).toBe(500)
    const faulty = await server.metrics()
    for (const alert of ['AshlarDamagedData', 'AshlarFaults']) {
      expectFires(alert, healthy, faulty)
      expectFires(alert, healthy, faulty, { isNew: true })
    }
  })

  it('files that are gone: the store is down, and changes are refused', async () => {
    const directory = temporaryDirectory()
    const server = new Server(directory)
    await server.define()
    const healthy = await server.metrics()
    const file = join(directory, 'data', 'default', 'data.mdb')
    renameSync(file, `${file}.aside`)
    const refused = await server.send('POST', '/v1/object', { class: 'T', attributes: { a: 'x' } })
    expect(refused.status).toBe(503)
    const faulty = await server.metrics()
    expectFires('AshlarStoreDown', healthy, faulty)
    expectFires('AshlarStoreRefuses', healthy, faulty)
    expectFires('AshlarStoreRefuses', healthy, faulty, { isNew: true })
    renameSync(`${file}.aside`, file)
  })

  test.skipIf(process.platform !== 'linux')('a worker that does not answer', async () => {
    const server = new Server(temporaryDirectory(), {}, ['--workers', '2'])
    const healthy = await server.metricsOnce('ashlar_processes', (count) => count === 2)
    const [one] = childrenOf(server.started.child.pid as number)
    process.kill(one as number, 'SIGSTOP')
    onTestFinished(() => void process.kill(one as number, 'SIGCONT'))
    let faulty: string | undefined
    // Connections that the suspended one has accepted are not answered.
    while (faulty === undefined || !faulty.includes('\nashlar_processes 1\n')) {
      const asked = fetch(`${await server.started.url}/metrics`, { signal: AbortSignal.timeout(4_000) })
      faulty = await asked.then((reply) => reply.text()).catch(() => undefined)
    }
    process.kill(one as number, 'SIGCONT')
    expectFires('AshlarWorkersMissing', healthy, faulty)
  })

  it('no backup at all, and one that becomes too old', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'backups'))
    const sample = 'ashlar_backup_age_seconds{fd="default"}'
    const making = new Server(directory, { backups: { directory: join(directory, 'backups'), every: '1d' } })
    const made = await making.metricsOnce(sample, Number.isFinite)
    const ages = /^ashlar_backup_age_seconds$/
    expectFires('AshlarBackupOld', made, withValues(made, { [sample]: 2 * 86_400 }), { ages })
    await making.stop()
    const none = new Server(directory, { backups: { directory: join(directory, 'none') } })
    expectFires('AshlarBackupOld', made, await none.metrics())
    await none.stop()
    // Without an interval, there is a bound all the same.
    const kept = new Server(directory, { backups: { directory: join(directory, 'backups') } })
    const found = await kept.metricsOnce(sample, Number.isFinite)
    expectFires('AshlarBackupOld', found, withValues(found, { [sample]: 8 * 86_400 }), { ages })
  })

  it('a webhook that delivers nothing, dead letters, and a change log that is kept for it', async () => {
    const directory = temporaryDirectory()
    const [refusing, gone] = [await receiver(503), await receiver(410)]
    const server = new Server(directory, {
      webhooks: {
        ...webhooks,
        hooks: [
          hook(directory, 'failing', refusing, { retryFor: '30d' }),
          hook(directory, 'giving-up', refusing, { retryFor: '1s' }),
          hook(directory, 'disabled', gone),
          hook(directory, 'without-class', refusing, { class: 'Nowhere' }),
        ],
      },
      limits: { webhookRetryMsMin: 20, webhookRetryMsMax: 50, changeLogRemovalMs: 100 },
    })
    const of = (metric: string, name: string): string => `ashlar_${metric}{fd="default",webhook="${name}"}`
    const healthy = withValues(await server.metricsOnce('ashlar_change_log_bytes{fd="default"}', () => true), {
      // It fails from the start.
      [of('webhook_failing_seconds', 'without-class')]: 0,
    })
    await server.define()
    const oid = await server.create('x')
    const ages = /^ashlar_webhook_failing_seconds$/
    await server.metricsOnce(of('webhook_disabled', 'disabled'), (value) => value === 1)
    await server.metricsOnce(of('webhook_failing_seconds', 'failing'), (value) => value > 0)
    const faulty = await server.metricsOnce(of('webhook_dead_letters', 'giving-up'), (value) => value > 0)
    const only = (names: readonly string[]): string => {
      const quiet = ['failing', 'giving-up', 'disabled', 'without-class'].filter((name) => !names.includes(name))
      const values = quiet.flatMap((name) => [
        [of('webhook_failing_seconds', name), 0],
        [of('webhook_disabled', name), 0],
      ])
      return withValues(faulty, Object.fromEntries(values))
    }
    expectFires('AshlarDeadLetters', healthy, faulty)
    expectFires('AshlarWebhookFailing', healthy, only(['disabled']))
    for (const name of ['failing', 'without-class']) {
      const sample = of('webhook_failing_seconds', name)
      expect(Number(only([name]).split(`\n${sample} `)[1]?.split('\n')[0])).toBeGreaterThan(0)
      expectFires('AshlarWebhookFailing', healthy, withValues(only([name]), { [sample]: 600 }), { ages })
    }
    // Two megabytes of the log each.
    for (let nth = 0; nth < 60; nth++) {
      const a = String.fromCharCode(97 + (nth % 26)).repeat(1_000_000)
      expect((await server.send('PUT', `/v1/object/${oid}`, { attributes: { a } })).status).toBe(204)
    }
    const grown = await server.metricsOnce('ashlar_change_log_bytes{fd="default"}', (bytes) => bytes > 1.5 * 2 ** 26)
    expectFires('AshlarChangeLogLarge', healthy, grown)
  })

  it('refusals under load', async () => {
    const server = new Server(temporaryDirectory(), { limits: { statementsBytesMax: 1_000_000 } })
    const healthy = await server.metrics()
    const query = `LET x = 'abcdefgh'; ${'LET x = $x + $x; '.repeat(18)}SHOW 1`
    for (let nth = 0; nth < 10; nth++) expect((await server.send('POST', '/v1/query', { query })).status).toBe(503)
    expectFires('AshlarBusy', healthy, await server.metrics(), { isRepeated: true })
  })
})

test.skipIf(process.platform === 'win32')('a full disk', async () => {
  // Files may grow to so many blocks.
  const directory = temporaryDirectory()
  const limited = join(directory, 'limited.cjs')
  writeFileSync(
    limited,
    `const { spawn } = require('node:child_process')
const words = ['-c', "trap '' XFSZ; ulimit -f 4096; exec \\"$0\\" \\"$@\\"", process.execPath, ...process.argv.slice(2)]
const child = spawn('sh', words, { stdio: 'inherit' })
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code) => process.exit(code ?? 1))
`,
  )
  const started = start(
    [inject('server'), '--port', '0', '--log-level', 'silent', '--data', 'data'],
    {},
    directory,
    limited,
  )
  onTestFinished(() => void started.child.kill('SIGTERM'))
  const server = Object.assign(Object.create(Server.prototype) as Server, { started })
  await server.define()
  const healthy = await server.metrics()
  const body = { class: 'T', attributes: { a: 'x'.repeat(150_000) } }
  while ((await server.send('POST', '/v1/object', body)).status === 201);
  expectFires('AshlarStoreRefuses', healthy, await server.metrics())
  await server.stop()
})

describe('what takes long to happen, as values of a scrape', () => {
  it('fires for each of the other alerts', async () => {
    const directory = temporaryDirectory()
    const server = new Server(directory, { auditLog: join(directory, 'audit.log') })
    await server.define()
    const oid = await server.create('a')
    for (let nth = 0; nth < 3; nth++) await server.send('GET', `/v1/object/${oid}`)
    // Delays are measured from the first scrape on.
    await server.metrics()
    const healthy = withValues(await server.metrics(), {
      'ashlar_event_loop_delay_seconds{quantile="1"}': 0.01,
      ashlar_event_loop_utilization: 0.1,
      'ashlar_store_free_bytes{fd="default"}': 2 ** 40,
      'ashlar_commits_total{fd="default"}': 10,
      'ashlar_commit_conflicts_total{fd="default"}': 0,
    })
    const bytes = Number(/^ashlar_store_bytes\{fd="default"\} (\d+)$/m.exec(healthy)?.[1])
    const faults: readonly (readonly [string, Readonly<Record<string, number>>, Course?])[] = [
      ['AshlarDiskFull', { 'ashlar_store_free_bytes{fd="default"}': 1_000_000 }],
      ['AshlarDiskFillsUp', { 'ashlar_store_free_bytes{fd="default"}': Math.floor(bytes / 6) }],
      ['AshlarEventLoopHeld', { 'ashlar_event_loop_delay_seconds{quantile="1"}': 0.7 }],
      ['AshlarOneCoreFull', { ashlar_event_loop_utilization: 1 }],
      ['AshlarOldSnapshot', { 'ashlar_oldest_snapshot_seconds{fd="default"}': 601 }],
      ['AshlarFollowerLags', { 'ashlar_change_follower_lag_seconds{fd="default"}': 301 }],
      ['AshlarAuditFailed', { ashlar_audit_failed: 1 }],
      [
        'AshlarConflicts',
        { 'ashlar_commits_total{fd="default"}': 20, 'ashlar_commit_conflicts_total{fd="default"}': 15 },
        { isRepeated: true },
      ],
    ]
    for (const [alert, values, course] of faults) expectFires(alert, healthy, withValues(healthy, values), course)
    const slow = Object.fromEntries(
      [
        ...healthy.matchAll(
          /^(ashlar_request_duration_seconds_bucket\{operation="GET \/v1\/object\/\{oid\}",le="([^"]+)"\}) (\d+)$/gm,
        ),
      ].map(([, sample = '', le, count]) => [sample, Number(count) + (le === '+Inf' || Number(le) >= 0.5 ? 10 : 0)]),
    )
    expect(Object.keys(slow).length).toBeGreaterThan(10)
    expectFires('AshlarSlow', healthy, withValues(healthy, slow), { isRepeated: true })
    expectFires('AshlarDown', healthy, undefined)
  })
})

it('each alert is shown to fire, and documented with its severity', () => {
  expect([...shown].sort()).toEqual([...rules.keys()].sort())
  expect([...documented].map(([alert, { severity }]) => `${alert} ${severity}`).sort()).toEqual(
    [...rules.values()].map(({ alert, severity }) => `${alert} ${severity}`).sort(),
  )
})
