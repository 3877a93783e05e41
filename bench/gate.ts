/**
 * Measures what the gate and the check of the transaction number cost a commit on LMDB, with and without them by turns on one
 * environment. Run: node --import tsx bench/gate.ts [rounds] [directory]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EntryChecks } from '../packages/engine/src/store/lmdb/entry-checks.ts'
import { alwaysOpenGate } from '../packages/engine/src/store/lmdb/gate.ts'
import { type GroupCommit, openGroupCommit } from '../packages/engine/src/store/lmdb/group-commit.ts'
import type { Environment } from '../packages/engine/src/store/lmdb/lmdb-js.ts'
import { openEnvironment } from '../packages/engine/src/store/lmdb/open-environment.ts'

const [roundsWord = '30', parent = tmpdir()] = process.argv.slice(2)
const rounds = Number(roundsWord)
const measureMs = 400
const valueBytes = 150

interface Speed {
  readonly perSecond: number
  /** User and system time of the process, its writing thread included. */
  readonly cpuUs: number
}

/** Each commit writes two entries: about what creating an object does. */
async function speedOf(group: GroupCommit, inFlight: number): Promise<Speed> {
  const start = performance.now()
  const cpu = process.cpuUsage()
  let done = 0
  async function write(): Promise<void> {
    while (performance.now() - start < measureMs) {
      const key = Buffer.alloc(12)
      key.writeUInt32BE(Math.floor(Math.random() * 4_294_967_295))
      await group.commit({
        changes: [
          { kind: 'put', key: Buffer.concat([Buffer.of(2), key]), value: Buffer.alloc(valueBytes, done) },
          { kind: 'put', key: Buffer.concat([Buffer.of(1), key]), value: Buffer.alloc(16, done) },
        ],
        preconditions: [{ kind: 'absent', key }],
      })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, write))
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (done / (performance.now() - start)) * 1_000, cpuUs: (user + system) / done }
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

function microsecondsEach(act: () => void): number {
  const times = Array.from({ length: 20 }, () => {
    const start = performance.now()
    for (let turn = 0; turn < 1_000; turn += 1) act()
    return performance.now() - start
  })
  return median(times)
}

/** The environment as it is, but for the numbers that the check compares. */
function withoutCheck(environment: Environment): Environment {
  return Object.create(environment, {
    getWriteTxnId: { value: () => 1 },
    env: { value: { info: () => ({ lastTxnId: 0 }) } },
  }) as Environment
}

const directory = await mkdtemp(join(parent, 'ashlar-bench.'))
try {
  const { environment, gate, files, layout, close } = await openEnvironment(directory, false)
  const gateUs = microsecondsEach(() => {
    gate.tryEnter()
    gate.leave()
  })
  const checkUs = microsecondsEach(() => environment.env.info().lastTxnId)
  console.log(`a way through the gate ${gateUs.toFixed(1)} µs, a check ${checkUs.toFixed(1)} µs`)
  const checks = new EntryChecks(layout)
  const guarded = openGroupCommit({ environment, gate, files, location: directory, checks })
  const bare = openGroupCommit({
    environment: withoutCheck(environment),
    gate: alwaysOpenGate,
    files,
    location: directory,
    checks,
  })
  for (const inFlight of [1, 32]) {
    const pairs: { readonly guarded: Speed; readonly bare: Speed }[] = []
    for (let round = 0; round < rounds; round += 1) {
      // Who is first changes, since whoever is second finds a larger file.
      const isGuardedFirst = round % 2 === 0
      const first = await speedOf(isGuardedFirst ? guarded : bare, inFlight)
      const second = await speedOf(isGuardedFirst ? bare : guarded, inFlight)
      pairs.push(isGuardedFirst ? { guarded: first, bare: second } : { guarded: second, bare: first })
    }
    for (const figure of ['perSecond', 'cpuUs'] as const) {
      const withGate = median(pairs.map((pair) => pair.guarded[figure]))
      const without = median(pairs.map((pair) => pair.bare[figure]))
      const ratio = median(pairs.map((pair) => pair.guarded[figure] / pair.bare[figure]))
      console.log(
        `${inFlight} in flight, ${figure}: ${withGate.toFixed(0)} with, ${without.toFixed(0)} without, ratio ${ratio.toFixed(3)}`,
      )
    }
  }
  await close()
} finally {
  await rm(directory, { recursive: true })
}
