/** Several processes that embed the engine, on one LMDB directory: what their transactions have seen is what they would have seen one after the other. */
import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../../tools/consistency/connection.ts'
import { type EngineProcess, startEngineProcess } from '../../../../tools/consistency/engine-processes.ts'
import { describeReport, runWorkload, type WorkloadReport } from '../../../../tools/consistency/run-workload.ts'
import { anyOf, processesTarget, type Target } from '../../../../tools/consistency/targets.ts'
import { builtChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const script = new URL('./children/answer-requests.ts', import.meta.url)
const seed = Number(process.env.ASHLAR_SEED ?? randomInt(1_000_000))
const scale = Math.max(1, Number(process.env.ASHLAR_RUNS ?? 1))

async function startTwo(): Promise<Target> {
  const address = `lmdb:${await temporaryDirectory()}/store`
  const start = (): Promise<EngineProcess> => startEngineProcess([builtChild(script)], address)
  return processesTarget([await start(), await start()], 12)
}

async function run(target: Target, connections: readonly Connection[]): Promise<WorkloadReport> {
  const report = await runWorkload({
    transactions: 1_000 * scale,
    transactionsPerEpoch: 500,
    seed,
    connections,
    msMax: 4_000 * scale,
    faultMs: 2_000,
    fault: anyOf(target, ['crash']),
  })
  await target.stop()
  expect(report.outcomes.ok).toBeGreaterThan(0)
  return report
}

function described(report: WorkloadReport): string {
  const texts = report.findings.anomalies.slice(0, 5).map(({ name, text }) => `${name}:\n${text}`)
  return [`seed ${seed}`, describeReport(report), ...texts].join('\n\n')
}

/** Sends one request at a time, whoever asks: those who wait have begun already, so that their intervals overlap. */
function oneAtATime(connections: readonly Connection[]): Connection[] {
  let last: Promise<unknown> = Promise.resolve()
  return connections.map((connection) => ({
    ...connection,
    send(...asked) {
      const answer = last.then(() => connection.send(...asked))
      last = answer
      return answer
    },
  }))
}

describe('random transactions of two processes of which one is killed now and then', () => {
  it('have no anomaly', async () => {
    const target = await startTwo()
    const report = await run(target, target.connections)
    expect(report.findings.names, described(report)).toEqual([])
  })

  it('have none for sure where they are carried out one after the other: the workload and the checker accuse nobody', async () => {
    const target = await startTwo()
    const report = await run(target, oneAtATime(target.connections))
    expect(report.findings.names, described(report)).toEqual([])
  })
})
