/**
 * Transactions that want the same keys, on a virtual clock: quick and slow ones, some that hang, some whose client goes, beside another
 * process that writes. Whoever does not hang comes to an end within the bounds of `limits.ts`, whatever the others do.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import {
  attemptPauseMsMax,
  commitLockMsMax,
  commitLocksMax,
  defaultEngineLimits,
  queueMsMax,
} from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { transact } from '../../src/transaction/transact.ts'
import { runs } from '../bytes/property-runs.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const { transactionAttemptsMax } = defaultEngineLimits
/** Three at once, one with a turn in the queue, one with a lock. */
const attemptsAloneMax = 5

interface Work {
  readonly atMs: number
  readonly reads: readonly number[]
  readonly writes: readonly number[]
  /** How long an attempt takes between its reads and its commit. */
  readonly thinkMs: number
  /** The attempt at which it hangs. */
  readonly hangsAt: number | undefined
  /** Its client goes so long after its arrival. */
  readonly goesAfterMs: number | undefined
}

const keysMax = 5
const someKeys = fc.uniqueArray(fc.nat(keysMax - 1), { minLength: 1, maxLength: keysMax })
const rarely = (max: number): fc.Arbitrary<number | undefined> => {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max }) },
  )
}
const workOf = (thinkMs: fc.Arbitrary<number>): fc.Arbitrary<Work> => {
  return fc.record({
    atMs: fc.nat(500),
    reads: someKeys,
    writes: someKeys,
    thinkMs,
    hangsAt: rarely(6),
    goesAfterMs: rarely(5_000),
  })
}

const alive = (work: Work): Work => ({ ...work, hangsAt: undefined, goesAfterMs: undefined })

interface Setting {
  readonly latencyMs: number
  readonly works: readonly Work[]
  /** Another process writes a key so often. */
  readonly otherEveryMs: number | undefined
}

interface Result {
  readonly work: Work
  attempts: number
  /** Undefined until it ends. */
  outcome?: string
  tookMs?: number
}

const keyOf = (nth: number): Buffer => Buffer.from(`key ${nth}`)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function late(memory: Store, ms: number): Store {
  return {
    ...memory,
    async snapshot() {
      await pause(ms)
      return memory.snapshot()
    },
    async commit(commit) {
      await pause(ms)
      return memory.commit(commit)
    },
  }
}

async function carryOut(store: Store, work: Work, result: Result): Promise<void> {
  const startedAt = performance.now()
  const client = new AbortController()
  if (work.goesAfterMs !== undefined) setTimeout(() => client.abort(new Error('gone')), work.goesAfterMs)
  try {
    await transact(
      store,
      transactionAttemptsMax,
      async (transaction) => {
        if (++result.attempts === work.hangsAt) await new Promise(() => undefined)
        await transaction.readAndRequire(work.reads.map(keyOf))
        await pause(work.thinkMs)
        for (const nth of work.writes) transaction.put(keyOf(nth), Buffer.from(`${result.attempts} ${Math.random()}`))
      },
      { signal: client.signal },
    )
    result.outcome = 'done'
  } catch (error) {
    result.outcome = error instanceof AshlarError ? error.type : (error as Error).message
  }
  result.tookMs = performance.now() - startedAt
}

async function play({ latencyMs, works, otherEveryMs }: Setting): Promise<readonly Result[]> {
  const memory = await openMemoryStore()
  const store = late(memory, latencyMs)
  const results = works.map((work): Result => ({ work, attempts: 0 }))
  for (const result of results) setTimeout(() => void carryOut(store, result.work, result), result.work.atMs)
  const isOpen = ({ work, outcome }: Result): boolean => outcome === undefined && work.hangsAt === undefined
  let others = 0
  const writeElsewhere = (): void => {
    if (!results.some(isOpen)) return
    const change = { kind: 'put' as const, key: keyOf(others++ % keysMax), value: Buffer.from(String(others)) }
    void memory.commit({ changes: [change], preconditions: [] })
    setTimeout(writeElsewhere, otherEveryMs)
  }
  if (otherEveryMs !== undefined) setTimeout(writeElsewhere, otherEveryMs)
  for (;;) {
    await nextTurn()
    if (vi.getTimerCount() === 0) break
    await vi.advanceTimersToNextTimerAsync()
  }
  await memory.close()
  return results
}

/** All that a transaction may wait for others, their locks included, and its attempts. */
function boundOf({ thinkMs }: Work, latencyMs: number, others: number): number {
  const attemptMs = thinkMs + 2 * latencyMs
  const lockedMs = others * commitLocksMax * (commitLockMsMax + latencyMs)
  return queueMsMax + lockedMs + (transactionAttemptsMax + 1) * (attemptMs + attemptPauseMsMax)
}

it('whoever does not hang ends in time, whatever others do', async () => {
  const thinkMs = fc.oneof({ weight: 3, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(7_000) })
  const setting = fc.record({
    latencyMs: fc.nat(10),
    works: fc.array(workOf(thinkMs), { maxLength: 14 }),
    otherEveryMs: fc.option(fc.integer({ min: 5, max: 2_000 }), { nil: undefined }),
  })
  const property = fc.asyncProperty(setting, async (given) => {
    for (const { work, outcome, tookMs } of await play(given)) {
      if (outcome === undefined && work.hangsAt !== undefined) continue
      expect(tookMs).toBeLessThanOrEqual(boundOf(work, given.latencyMs, given.works.length))
    }
  })
  await fc.assert(property, runs(25))
})

it('where all are alive and alone, all are done, within a few attempts', async () => {
  const setting = fc.record({
    latencyMs: fc.nat(10),
    works: fc.array(workOf(fc.nat(150)).map(alive), { maxLength: 14 }),
    otherEveryMs: fc.constant(undefined),
  })
  const property = fc.asyncProperty(setting, async (given) => {
    for (const { outcome, attempts } of await play(given)) {
      expect(outcome).toBe('done')
      expect(attempts).toBeLessThanOrEqual(attemptsAloneMax)
    }
  })
  await fc.assert(property, runs(25))
})
