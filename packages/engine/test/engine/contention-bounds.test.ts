/** A long transaction that keeps the commits of others waiting does so for a bounded time, and a bounded number of times. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { attemptPauseMsMax, commitLockMsMax, commitLocksMax, queueWaitMsMax } from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Commit, CommitOutcome, Store } from '../../src/store/store.ts'
import { classOf, read } from './open-fd.ts'

const objects = 20
/** After so many failures a statement keeps others waiting. */
const failuresBeforeLocked = 4

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
  locks: number
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
  const store: Store = {
    ...memory,
    commit: async (one) => (isLong(one) ? commitLong(one) : memory.commit(one)),
    lockCommits() {
      long.locks++
      return memory.lockCommits?.() ?? Promise.reject(new Error('a store in memory has locks'))
    },
  }
  const long: Long = { store, attempts: 0, locks: 0, tell: () => 'waits', letGo }
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
  /** The statement that keeps others waiting. */
  readonly statement: Promise<void>
}

async function withLock(tell: (nth: number) => Told, use: (scene: Scene) => Promise<void>): Promise<void> {
  const long = await openLong()
  const fd = await FederatedDatabase.open({ alias: 'fd', store: long.store })
  await fd.defineClasses([classOf('Vehicle', { k: 'integer', m: 'integer', n: 'integer' })], 'create')
  const oids: string[] = []
  for (let nth = 0; nth < objects; nth++) oids.push(await fd.createObject('Vehicle', { k: nth }))
  long.tell = tell
  const statement = run(fd, 'UPDATE Vehicle SET m TO m + 1')
  statement.catch(() => undefined)
  await turnsUntil(() => long.attempts > failuresBeforeLocked)
  expect(long.attempts).toBeGreaterThan(failuresBeforeLocked)
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

const untilLocked = (nth: number): Told => (nth < failuresBeforeLocked ? 'fails' : 'waits')

it('a change that waits for a lock goes on when that has lapsed, though its holder has not ended', async () => {
  await withLock(untilLocked, async ({ fd, oids, long }) => {
    const change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
    for (let turns = 0; turns < 50; turns++) await nextTurn()
    expect(change.outcome).toBeUndefined()
    await vi.advanceTimersByTimeAsync(commitLockMsMax)
    await turnsUntil(() => change.outcome !== undefined)
    expect(change.outcome).toBe('done')
    expect(long.attempts).toBe(failuresBeforeLocked + 1)
  })
})

it('a change that waits for a lock goes on when its holder commits', async () => {
  await withLock(untilLocked, async ({ fd, oids, long, statement }) => {
    const change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
    long.letGo()
    await statement
    await turnsUntil(() => change.outcome !== undefined)
    expect(change.outcome).toBe('done')
    expect(await read(fd, oids[0] as string)).toMatchObject({ m: 1, n: 7 })
  })
})

it('a statement that fails again and again keeps others waiting a few times at most, and fails in the end', async () => {
  const long = await openLong()
  const fd = await FederatedDatabase.open({ alias: 'fd', store: long.store })
  await fd.defineClasses([classOf('Vehicle', { m: 'integer' })], 'create')
  for (let nth = 0; nth < objects; nth++) await fd.createObject('Vehicle', {})
  long.tell = () => 'fails'
  const statement = watched(run(fd, 'UPDATE Vehicle SET m TO m + 1'))
  while (statement.outcome === undefined) {
    await vi.advanceTimersByTimeAsync(attemptPauseMsMax)
    await nextTurn()
  }
  expect(statement.outcome).toContain('conflicted with other changes')
  expect(long.locks).toBe(commitLocksMax)
  await fd.close()
})

it('a client that goes while its text waits to lock out others is waited for no longer, and the lock is free', async () => {
  await withLock(untilLocked, async ({ fd, oids, long, statement }) => {
    const client = new AbortController()
    const { lockCommits } = long.store
    const locked = lockCommits?.().then((lock) => lock.release())
    const text = watched(run(fd, 'UPDATE Vehicle WHERE k = 3 SET n TO 1', client.signal))
    for (let turns = 0; turns < 50; turns++) await nextTurn()
    expect(text.outcome).toBeUndefined()
    client.abort(new Error('the client has gone'))
    long.letGo()
    await statement
    await locked
    expect(
      await run(fd, `UPDATE Vehicle WHERE k = 4 SET n TO 9`).then(() => read(fd, oids[4] as string)),
    ).toMatchObject({
      n: 9,
    })
  })
})

it('who waits for an object behind a long transaction waits for the length of a lock at most', async () => {
  await withLock(untilLocked, async ({ fd, oids }) => {
    const change = watched(fd.updateObject(oids[0] as string, { n: 7 }))
    await vi.advanceTimersByTimeAsync(commitLockMsMax)
    await turnsUntil(() => change.outcome !== undefined)
    const another = watched(fd.updateObject(oids[0] as string, { n: 8 }))
    await vi.advanceTimersByTimeAsync(queueWaitMsMax)
    await turnsUntil(() => another.outcome !== undefined)
    expect(another.outcome).toBe('done')
    expect(await read(fd, oids[0] as string)).toMatchObject({ n: 8 })
  })
})
