/**
 * Measures what the gate and the check of the transaction number cost a commit on LMDB, with and without them by turns on one
 * environment. Run: node --import tsx bench/gate.ts [rounds] [directory]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EntryChecks } from '../packages/engine/src/store/lmdb/entry-checks.ts'
import type { Environment } from '../packages/engine/src/store/lmdb/environment.ts'
import { alwaysOpenGate } from '../packages/engine/src/store/lmdb/gate.ts'
import { type GroupCommit, openGroupCommit } from '../packages/engine/src/store/lmdb/group-commit.ts'
import { openEnvironment } from '../packages/engine/src/store/lmdb/open-environment.ts'

const [roundsWord = '30', parent = tmpdir()] = process.argv.slice(2)
const rounds = Number(roundsWord)
const measureMs = 400
const valueBytes = 150

/** Each commit writes two entries: about what creating an object does. */
async function perSecond(group: GroupCommit, inFlight: number): Promise<number> {
  const start = performance.now()
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
        expectations: [{ kind: 'absent', key }],
      })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, write))
  return (done / (performance.now() - start)) * 1_000
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
    const figures = { guarded: [] as number[], bare: [] as number[], ratio: [] as number[] }
    for (let round = 0; round < rounds; round += 1) {
      // Who is first changes, since whoever is second finds a larger file.
      const order = round % 2 === 0 ? ([guarded, bare] as const) : ([bare, guarded] as const)
      const [first, second] = [await perSecond(order[0], inFlight), await perSecond(order[1], inFlight)]
      const [withGate, without] = round % 2 === 0 ? [first, second] : [second, first]
      figures.guarded.push(withGate)
      figures.bare.push(without)
      figures.ratio.push(withGate / without)
    }
    const [withGate, without, ratio] = [figures.guarded, figures.bare, figures.ratio].map(median)
    console.log(
      `${inFlight} in flight: ${withGate?.toFixed(0)} commits/s with, ${without?.toFixed(0)} without, ratio ${ratio?.toFixed(3)}`,
    )
  }
  await close()
} finally {
  await rm(directory, { recursive: true })
}
