/** A workload: epochs of random transactions, each checked when it is over, with or without faults meanwhile. */
import { checkHistory } from './check-history.ts'
import type { Connection } from './connection.ts'
import { Findings } from './findings.ts'
import { runEpoch } from './run-epoch.ts'
import { seededRandom } from './seeded-random.ts'
import { defineWorld, openEpoch } from './world.ts'

export interface WorkloadOptions {
  readonly transactions: number
  /** Of an epoch, about. */
  readonly transactionsPerEpoch?: number
  readonly seed: number
  /** One for each client. */
  readonly connections: readonly Connection[]
  /** Of a store that promises less: see `CheckOptions`. */
  readonly isStrict?: boolean
  /** Does something bad once, at a random moment; it is called again and again while transactions run, and not while epochs are opened or read. */
  readonly fault?: ((random: () => number) => Promise<void>) | undefined
  readonly faultMs?: number
  /** The number of the first epoch: objects of earlier ones may be there. */
  readonly firstEpoch?: number
  /** Called after each epoch. */
  readonly onEpoch?: (report: WorkloadReport) => void
  /** Nothing more begins after that time. */
  readonly msMax?: number
}

export interface WorkloadReport {
  readonly findings: Findings
  /** Those that are part of histories, by outcome. */
  readonly outcomes: Record<'ok' | 'failed' | 'unknown', number>
  readonly statuses: Map<string, number>
  readonly faults: number
  readonly runMs: number
  readonly checkMs: number
}

/** A cell gets so many transactions that its list has some dozens of values. */
const transactionsPerCell = 20

export async function runWorkload(options: WorkloadOptions): Promise<WorkloadReport> {
  const {
    transactions,
    transactionsPerEpoch = 2_000,
    seed,
    connections,
    isStrict = true,
    fault,
    firstEpoch = 1,
  } = options
  const random = seededRandom(seed)
  const outcomes = { ok: 0, failed: 0, unknown: 0 }
  const report = {
    findings: new Findings(),
    outcomes,
    statuses: new Map<string, number>(),
    faults: 0,
    runMs: 0,
    checkMs: 0,
  }
  await defineWorld(connections[0]!)
  const until = performance.now() + (options.msMax ?? Number.POSITIVE_INFINITY)
  for (let done = 0, nth = firstEpoch; done < transactions; nth++) {
    if (performance.now() > until) break
    const count = Math.min(transactionsPerEpoch, transactions - done)
    const cells = Math.max(8, Math.ceil(count / transactionsPerCell))
    const size = { cells, places: Math.max(6, Math.ceil(cells / 2)), owners: Math.max(4, Math.ceil(cells / 4)) }
    const epoch = await openEpoch(connections[0]!, nth, size)
    const start = performance.now()
    const faults = fault === undefined ? undefined : repeatFault(fault, random, options.faultMs ?? 2_000)
    const { history, statuses } = await runEpoch(epoch, { transactions: count, connections, random, until })
    report.faults += (await faults?.end()) ?? 0
    const end = performance.now()
    report.runMs += end - start
    report.findings.include(checkHistory(history, { isStrict }))
    report.checkMs += performance.now() - end
    for (const [status, times] of statuses) report.statuses.set(status, (report.statuses.get(status) ?? 0) + times)
    for (const { outcome } of history) outcomes[outcome]++
    done += count
    options.onEpoch?.(report)
  }
  return report
}

function repeatFault(
  fault: (random: () => number) => Promise<void>,
  random: () => number,
  everyMs: number,
): { end(): Promise<number> } {
  let isOver = false
  let times = 0
  let wake = (): void => undefined
  const working = (async () => {
    for (;;) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs * (0.5 + random()))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      if (isOver) return
      await fault(random)
      times++
    }
  })()
  return {
    async end() {
      isOver = true
      wake()
      await working
      return times
    },
  }
}

/** A report in lines. */
export function describeReport(report: WorkloadReport): string {
  const { findings, outcomes, statuses, faults, runMs, checkMs } = report
  const total = outcomes.ok + outcomes.failed + outcomes.unknown
  const listed = (counts: Iterable<readonly [string, number]>): string => {
    return [...counts].map(([name, count]) => `${name}: ${count}`).join(', ') || 'none'
  }
  return [
    `${total} transactions (${listed(Object.entries(outcomes))}) in ${(runMs / 1000).toFixed(1)} s: ${Math.round((total * 1000) / runMs)} a second; checked in ${(checkMs / 1000).toFixed(1)} s; ${faults} faults`,
    `replies: ${listed([...statuses].sort())}`,
    `anomalies: ${listed(findings.counts)}${findings.isComplete ? '' : ', and more'}`,
  ].join('\n')
}
