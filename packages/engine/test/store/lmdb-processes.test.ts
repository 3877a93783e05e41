/** The store on LMDB across processes: what was acknowledged survives kill -9, and is seen by every process. */
import { describe, expect, it } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import { bytes, commitChanges, entriesOf, put, range, valueIn, withSnapshot } from './bytes.ts'
import { startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const parts = ['first', 'second', 'third']

async function namesOf(store: Store, part: string): Promise<string[]> {
  const keys = await withSnapshot(store, (snapshot) =>
    entriesOf(snapshot, range(`${part}/`, `${part}0`), { keysOnly: true }),
  )
  return keys.map((key) => key.slice(part.length + 1))
}

/** Lets a child commit until it has acknowledged so many, kills it, and answers what it acknowledged. */
async function killAfter(directory: string, first: number, writers: number, count: number): Promise<number[]> {
  const child = startChild(new URL('./children/acknowledge.ts', import.meta.url), [
    directory,
    String(first),
    String(writers),
  ])
  const acknowledged: number[] = []
  for await (const line of child.lines) {
    acknowledged.push(Number(line))
    if (acknowledged.length === count) child.process.kill('SIGKILL')
  }
  const end = await child.ended
  expect(end, end.errors).toMatchObject({ signal: 'SIGKILL' })
  return acknowledged
}

describe('durability', () => {
  it('keeps every acknowledged commit, and each whole, after kill -9 at random moments', async () => {
    const directory = await temporaryDirectory()
    const random = seededRandom(Number(process.env.ASHLAR_SEED ?? 11))
    const expected = new Set<string>()
    const rounds = 6 * Number(process.env.ASHLAR_RUNS ?? 1)
    let first = 0
    for (let round = 0; round < rounds; round += 1) {
      const acknowledged = await killAfter(directory, first, 1 + (round % 6) * 4, 1 + Math.floor(random() * 400))
      for (const number of acknowledged) expected.add(String(number).padStart(9, '0'))
      first = Math.max(...acknowledged) + 1_000
      const store = await openLmdbStore(directory)
      const names = await Promise.all(parts.map((part) => namesOf(store, part)))
      expect(names[1]).toEqual(names[0])
      expect(names[2]).toEqual(names[0])
      const kept = new Set(names[0])
      expect([...expected].filter((name) => !kept.has(name))).toEqual([])
      await commitChanges(store, put('after the kill', String(round)))
      await store.close()
    }
  })

  it('leaves the survivors at work when a sibling is killed with -9', async () => {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    const linesUntilKill = Math.ceil(150 * Math.min(1, Number(process.env.ASHLAR_RUNS ?? 1)))
    for (let round = 0; round < 3; round += 1) {
      const child = startChild(new URL('./children/acknowledge.ts', import.meta.url), [
        directory,
        String(round * 1_000_000),
        '8',
      ])
      let seen = 0
      for await (const _ of child.lines) {
        seen += 1
        await commitChanges(store, put('survivor', `${round}/${seen}`))
        if (seen === linesUntilKill) child.process.kill('SIGKILL')
      }
      await child.ended
      await commitChanges(store, put('survivor', `after ${round}`))
      expect(await valueIn(store, 'survivor')).toBe(`after ${round}`)
    }
    await store.close()
  })
})

describe('two processes', () => {
  it('lose no increment that expects the revision it read', async () => {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    await commitChanges(store, put('count', '0;'))
    const children = [1, 2].map(() =>
      startChild(new URL('./children/increment.ts', import.meta.url), [directory, '150']),
    )
    for (const child of children) {
      const end = await child.ended
      expect(end, end.errors).toMatchObject({ code: 0 })
    }
    expect(await valueIn(store, 'count')).toBe('600;')
    await store.close()
  })

  it('see in a snapshot taken afterwards what the other has acknowledged, while scans and pins are open', async () => {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    await commitChanges(store, ...Array.from({ length: 500 }, (_, number) => put(`filler ${number}`, 'x')))
    const child = startChild(new URL('./children/count-on-request.ts', import.meta.url), [directory])
    const pinned = await store.snapshot()
    const scan = pinned.scan({}, () => 1, { batch: 10 })[Symbol.asyncIterator]()
    const stale: string[] = []
    const rounds = Number(process.env.ASHLAR_RUNS ?? 1) * 400
    for (let round = 1; round <= rounds; round += 1) {
      child.process.stdin.write('next\n')
      const { value: acknowledged } = await child.lines.next()
      const own = await store.snapshot()
      const seen = await own.view(bytes('count'), (value) => Buffer.from(value).toString())
      if (seen !== acknowledged) stale.push(`${acknowledged} was acknowledged, ${seen} was seen`)
      own.release()
      if (round % 100 === 0) await scan.next()
    }
    child.process.stdin.end()
    await child.ended
    expect(stale).toEqual([])
    expect(await pinned.view(bytes('count'), () => 'there')).toBeUndefined()
    pinned.release()
    await store.close()
  })
})

describe('errors of the storage', () => {
  it('fail the commits of the group, and neither the process nor what comes after', async () => {
    const directory = await temporaryDirectory()
    // Files may not grow beyond 4 MiB, and the signal that would end the process is ignored.
    const child = startChild(
      new URL('./children/fill-disk.ts', import.meta.url),
      [directory],
      `trap '' XFSZ; ulimit -f 4096`,
    )
    const { value } = await child.lines.next()
    const end = await child.ended
    expect(end, end.errors).toMatchObject({ code: 0 })
    const told = JSON.parse(value)
    expect(told).toMatchObject({ small: true, last: 50_000, kept: 10 })
    // What was refused is not there, and what was acknowledged is.
    expect(told.there).toEqual(told.answers)
    expect(told.answers).toContain(false)
    expect(told.acknowledged).toBeGreaterThan(3)
    expect(told.failure).toMatch(/^AshlarError: The storage of .* failed to commit: .*(disk full|large)/)
    const store = await openLmdbStore(directory)
    expect((await namesOf(store, '0')).length).toBe(8)
    expect(await valueIn(store, 'small')).toBe('\x01'.repeat(10))
    await store.close()
  })
})
