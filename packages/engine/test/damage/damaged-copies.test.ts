/**
 * Copies of a store, each with some bits flipped anywhere in its file: nothing wrong is ever served, and the check reports each
 * copy that is not served as it was. ASHLAR_RUNS makes more of them.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startChild } from '../store/children/child.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'
import { seededRandom } from '../store/wrappers/seeded-random.ts'
import { makeHarbourStore, openHarbour } from './harbour-store.ts'
import { readAll, type Served } from './read-harbour.ts'

const copies = 8 * Number(process.env.ASHLAR_RUNS ?? 1)
const bitsMax = 20
const copiesAtOnce = 8
const script = new URL('children/serve-damaged.ts', import.meta.url)

interface Outcome {
  problems?: number
  notOpened?: string
  served?: Served
  /** What ended the process that had it open. */
  signal?: string
}

it('serves nothing wrong from damaged copies, and the check reports each that differs', {
  timeout: copies * 20_000,
}, async () => {
  const directory = await temporaryDirectory()
  const original = join(directory, 'original')
  const oids = await makeHarbourStore(original, 40)
  const fd = await openHarbour(original)
  const expected = join(directory, 'expected.json')
  writeFileSync(expected, JSON.stringify(await readAll(fd, oids)))
  await fd.close()
  const all: (Outcome & { seed: number })[] = []
  for (let first = 0; first < copies; first += copiesAtOnce) {
    const seeds = Array.from({ length: Math.min(copiesAtOnce, copies - first) }, (_, at) => first + at)
    const copy = (seed: number): string => damagedCopy(original, join(directory, String(seed)), seed)
    for (const [at, outcome] of (await outcomesOf(seeds.length, (nth) => copy(seeds[nth] ?? 0), expected)).entries())
      all.push({ seed: seeds[at] ?? 0, ...outcome })
  }
  expect(all.filter(({ served }) => (served?.wrong.length ?? 0) > 0)).toEqual([])
  expect(all.filter((one) => isChanged(one) && (one.problems ?? 0) === 0)).toEqual([])
  if (copies > 8) console.log(JSON.stringify(summary(all)))
})

function damagedCopy(from: string, to: string, seed: number): string {
  rmSync(to, { recursive: true, force: true })
  cpSync(from, to, { recursive: true })
  const random = seededRandom(seed + 1)
  const path = join(to, 'data.mdb')
  const file = readFileSync(path)
  const bits = 1 + Math.floor(random() * bitsMax)
  for (let flipped = 0; flipped < bits; flipped++) {
    const at = Math.floor(random() * file.length)
    file[at] = (file[at] as number) ^ (1 << Math.floor(random() * 8))
  }
  writeFileSync(path, file)
  return to
}

/** In one process for all; where LMDB ends that, which may be later than what it did wrong, in one for each. */
async function outcomesOf(count: number, copy: (nth: number) => string, expected: string): Promise<Outcome[]> {
  const nths = Array.from({ length: count }, (_, nth) => nth)
  const together = await run(nths.map(copy), expected)
  if (together.signal === undefined) return together.outcomes
  const alone: Outcome[] = []
  for (const nth of nths) {
    const { outcomes, signal } = await run([copy(nth)], expected)
    alone.push({ ...outcomes[0], ...(signal === undefined ? {} : { signal }) })
  }
  return alone
}

async function run(
  directories: readonly string[],
  expected: string,
): Promise<{ outcomes: Outcome[]; signal?: string }> {
  const found = new Map<string, Outcome>()
  const child = startChild(script, [expected, ...directories])
  for await (const line of child.lines) {
    const { directory, ...told } = JSON.parse(line) as Outcome & { directory: string }
    found.set(directory, { ...found.get(directory), ...told })
  }
  const { code, signal, errors } = await child.ended
  const outcomes = directories.map((directory) => found.get(directory) ?? {})
  return code === 0 ? { outcomes } : { outcomes, signal: signal ?? `exit ${code}: ${errors.slice(0, 300)}` }
}

/** Whether clients get anything else than from the sound store. */
function isChanged({ served, notOpened, signal }: Outcome): boolean {
  if (served === undefined) return notOpened !== undefined || signal !== undefined
  return served.refused + served.missing + served.failed.length + served.wrong.length > 0
}

function summary(all: readonly (Outcome & { seed: number })[]): object {
  const count = (holds: (one: Outcome) => boolean): number => all.filter(holds).length
  return {
    copies: all.length,
    wrong: count(({ served }) => (served?.wrong.length ?? 0) > 0),
    changed: count(isChanged),
    reported: count(({ problems = 0 }) => problems > 0),
    changedAndNotReported: count((one) => isChanged(one) && (one.problems ?? 0) === 0),
    notOpened: count(({ notOpened }) => notOpened !== undefined),
    refusing: count(({ served }) => (served?.refused ?? 0) > 0),
    hiding: count(({ served }) => (served?.missing ?? 0) > 0),
    failing: count(({ served }) => (served?.failed.length ?? 0) > 0),
    crashed: count(({ signal }) => signal !== undefined),
    signals: all.flatMap(({ seed, signal }) => (signal === undefined ? [] : [`${seed}: ${signal}`])),
    failures: all.flatMap(({ served }) => served?.failed.slice(0, 1) ?? []).slice(0, 10),
  }
}
