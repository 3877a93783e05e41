/** Whoever is held back by a long transaction is held back for a bounded time only, and not at all where the two have nothing in common. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import {
  attemptPauseMsMax,
  heldBackMsMax,
  queueTurnMsMax,
  reservationAttemptsMax,
  reservationMsMax,
} from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Commit, CommitOutcome, Store } from '../../src/store/store.ts'
import { classOf, read } from './open-fd.ts'

const objects = 20
/** After so many failures a statement has reserved what it expects. */
const failuresBeforeReserved = 4

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

type Told = 'fails' | 'waits'

/** What becomes of the nth commit of the long statement; what waits goes on after `let go`. */
interface Long {
  readonly store: Store
  attempts: number
  tell: (nth: number) => Told
  letGo(): void
}

async function openLong(): Promise<Long> {
  const memory = await openMemoryStore()
  let letGo = (): void => {}
  const gone = new Promise<void>((resolve) => {
    letGo = resolve
  })
  async function commitLong(commit: Commit): Promise<CommitOutcome> {
    const [failed] = commit.preconditions
    if (long.tell(long.attempts++) === 'fails' && failed !== undefined) return { isCommitted: false, failed }
    await gone
    return memory.commit(commit)
  }
  const isLong = ({ changes }: Commit): boolean => changes.length === objects
  const store: Store = { ...memory, commit: async (one) => (isLong(one) ? commitLong(one) : memory.commit(one)) }
  const long: Long = { store, attempts: 0, tell: () => 'waits', letGo }
  return long
}

async function run(fd: FederatedDatabase, text: string, signal?: AbortSignal): Promise<void> {
  const { chunks } = await fd.query({ text, ...(signal === undefined ? {} : { signal }) })
  for await (const chunk of chunks) void chunk
}

async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let turns = 0; turns < 2_000 && !isSo(); turns++) await nextTurn()
}

interface Scene {
  readonly fd: FederatedDatabase
  readonly oids: readonly string[]
  readonly long: Long
  /** The statement that has reserved all objects. */
  readonly statement: Promise<void>
}

async function withReservation(tell: (nth: number) => Told, use: (scene: Scene) => Promise<void>): Promise<void> {
  const long = await openLong()
  const fd = await FederatedDatabase.open({ alias: 'fd', store: long.store })
  const vehicle = classOf('Vehicle', { k: 'integer', m: 'integer', n: 'integer' })
  await fd.defineClasses([vehicle, classOf('Note', {})], 'create')
  const oids: string[] = []
  for (let nth = 0; nth < objects; nth++) oids.push(await fd.createObject('Vehicle', { k: nth }))
  long.tell = tell
  const statement = run(fd, 'UPDATE Vehicle SET m TO m + 1')
  statement.catch(() => undefined)
  await turnsUntil(() => long.attempts > failuresBeforeReserved)
  expect(long.attempts).toBeGreaterThan(failuresBeforeReserved)
  try {
    await use({ fd, oids, long, statement })
  } finally {
    long.letGo()
    await ending(statement)
  }
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

/** It may be in a pause between two attempts, which ends with the clock of the test. */
async function ending(statement: Promise<void>): Promise<void> {
  const watch = watched(statement)
  while (watch.outcome === undefined) {
    await vi.advanceTimersByTimeAsync(attemptPauseMsMax)
    await nextTurn()
  }
  await statement
}

/** As a value, so that it can be looked at. */
function watched(work: Promise<unknown>): { outcome: string | undefined } {
  const watch: { outcome: string | undefined } = { outcome: undefined }
  work.then(
    () => {
      watch.outcome = 'done'
    },
    (error: Error) => {
      watch.outcome = error.message
    },
  )
  return watch
}

const untilReserved = (nth: number): Told => (nth < failuresBeforeReserved ? 'fails' : 'waits')

it('a change that is held back goes on when the reservation has lapsed, though its holder has not ended', async () => {
  await withReservation(untilReserved, async ({ fd, oids, long }) => {
    const change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
    for (let turns = 0; turns < 50; turns++) await nextTurn()
    expect(change.outcome).toBeUndefined()
    await vi.advanceTimersByTimeAsync(reservationMsMax)
    await turnsUntil(() => change.outcome !== undefined)
    expect(change.outcome).toBe('done')
    expect(long.attempts).toBe(failuresBeforeReserved + 1)
  })
})

it('a change that is held back by one reservation after the other goes ahead in the end', async () => {
  await withReservation(untilReserved, async ({ fd, oids }) => {
    const others: Promise<void>[] = []
    for (let nth = 0; nth < 4; nth++) others.push(run(fd, 'UPDATE Vehicle SET m TO m + 1'))
    const change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
    await vi.advanceTimersByTimeAsync(heldBackMsMax + queueTurnMsMax)
    await turnsUntil(() => change.outcome !== undefined)
    expect(change.outcome).toBe('done')
    for (const other of others) other.catch(() => undefined)
  })
})

it('a statement that fails for others again and again no longer holds back those of its own process', async () => {
  let change: { outcome: string | undefined } | undefined
  await withReservation(
    () => (change?.outcome === undefined ? 'fails' : 'waits'),
    async ({ fd, oids, long, statement }) => {
      change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
      const ended = watched(statement)
      await vi.advanceTimersByTimeAsync(queueTurnMsMax)
      while (change.outcome === undefined && ended.outcome === undefined) {
        await vi.advanceTimersByTimeAsync(attemptPauseMsMax)
        await nextTurn()
      }
      expect(change.outcome).toBe('done')
      expect(long.attempts).toBeLessThanOrEqual(failuresBeforeReserved + reservationAttemptsMax + 1)
    },
  )
})

it('a client that goes while its text is held back is waited for no longer', async () => {
  await withReservation(untilReserved, async ({ fd }) => {
    const client = new AbortController()
    const text = watched(run(fd, 'UPDATE Vehicle WHERE k = 3 SET n TO 1', client.signal))
    for (let turns = 0; turns < 50; turns++) await nextTurn()
    expect(text.outcome).toBeUndefined()
    client.abort(new Error('the client has gone'))
    await turnsUntil(() => text.outcome !== undefined)
    expect(text.outcome).toBe('the client has gone')
  })
})

it('a commit of very many changes that has nothing to do with a reservation is not held back', async () => {
  await withReservation(untilReserved, async ({ fd }) => {
    const creations = Array.from({ length: 10_001 }, () => ({ class: 'Note', attributes: {} }))
    const change = watched(fd.createObjects(creations))
    await turnsUntil(() => change.outcome !== undefined)
    expect(change.outcome).toBe('done')
  })
})

it('who waits for an object behind a long transaction waits for the length of a turn at most', async () => {
  await withReservation(untilReserved, async ({ fd, oids }) => {
    const change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
    await vi.advanceTimersByTimeAsync(reservationMsMax)
    await turnsUntil(() => change.outcome !== undefined)
    const another = watched(fd.updateObject(oids[0] as string, { n: 8 }))
    await vi.advanceTimersByTimeAsync(queueTurnMsMax)
    await turnsUntil(() => another.outcome !== undefined)
    expect(another.outcome).toBe('done')
    expect(await read(fd, oids[0] as string)).toMatchObject({ n: 8 })
  })
})
