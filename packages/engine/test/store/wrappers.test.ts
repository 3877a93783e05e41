/** The wrappers over stores are stores themselves, and do what they are for. */
import { describe, expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Bytes, Store } from '../../src/store/store.ts'
import { absent, bytes, commitChanges, commitOf, entriesIn, put, text, valueIn, withSnapshot } from './bytes.ts'
import { storeConformance } from './conformance.ts'
import { temporaryLmdb } from './temporary-stores.ts'
import { faulty, InjectedFault } from './wrappers/faulty.ts'
import { poisoned } from './wrappers/poisoned.ts'
import { sometimesLater } from './wrappers/sometimes-later.ts'

storeConformance('poisoned lmdb', { open: async () => poisoned(await temporaryLmdb.open()) })
storeConformance('sometimes later memory', { open: async () => sometimesLater(await openMemoryStore(), 7) })
storeConformance('faultless faulty memory', { open: async () => faulty(await openMemoryStore(), { seed: 7 }) })

describe('poisoned', () => {
  it('overwrites borrowed bytes after the callback', async () => {
    const store = poisoned(await temporaryLmdb.open())
    await commitChanges(store, put('a', 'secret'))
    await withSnapshot(store, async (snapshot) => {
      const kept: Bytes[] = []
      await snapshot.view(bytes('a'), (value) => kept.push(value))
      for await (const batch of snapshot.scan({}, (key, value) => kept.push(key, value))) expect(batch).toEqual([3])
      expect(kept.map(text)).toEqual(['\xdd'.repeat(6), '\xdd', '\xdd'.repeat(6)])
      expect(await snapshot.view(bytes('a'), text)).toBe('secret')
    })
    await store.close()
  })
})

describe('sometimesLater', () => {
  it('answers now and later, the same way for the same seed', async () => {
    const ways = async (seed: number) => {
      const store = sometimesLater(await openMemoryStore(), seed)
      await commitChanges(store, put('a', '1'))
      const snapshot = await store.snapshot()
      const answers = Array.from({ length: 40 }, () => snapshot.view(bytes('a'), text))
      expect(await Promise.all(answers)).toEqual(Array(40).fill('1'))
      await store.close()
      return answers.map((answer) => answer instanceof Promise)
    }
    const first = await ways(1)
    expect(new Set(first)).toEqual(new Set([true, false]))
    expect(await ways(1)).toEqual(first)
    expect(await ways(2)).not.toEqual(first)
  })
})

describe('faulty', () => {
  async function attempt(store: Store, number: number): Promise<string> {
    try {
      const wanted = commitOf([put(`k${number}`, '1')], [absent(`k${number}`), absent('never')])
      const outcome = await store.commit(wanted)
      if (outcome.isCommitted) return 'committed'
      return [...wanted.preconditions].includes(outcome.failed) ? 'conflict' : 'strange conflict'
    } catch (error) {
      return error instanceof InjectedFault ? 'error' : String(error)
    }
  }

  it('refuses each second commit, changing nothing, with one of its own preconditions', async () => {
    const store = faulty(await openMemoryStore(), { seed: 1, conflicts: 'alternate' })
    for (let number = 0; number < 20; number += 1) {
      expect(await attempt(store, number)).toBe('conflict')
      expect(await valueIn(store, `k${number}`)).toBeUndefined()
      expect(await attempt(store, number)).toBe('committed')
      expect(await valueIn(store, `k${number}`)).toBe('1')
    }
    expect(store.injected.conflicts).toBe(20)
    await store.close()
  })

  it('injects conflicts, errors and lost answers in their shares, the same for the same seed', async () => {
    const attempts = async (seed: number) => {
      const store = faulty(await openMemoryStore(), { seed, conflicts: 0.2, errors: 0.2, lostAnswers: 0.2 })
      const answers: string[] = []
      for (let number = 0; number < 200; number += 1) answers.push(await attempt(store, number))
      const count = (answer: string) => answers.filter((one) => one === answer).length
      expect(store.injected.conflicts).toBe(count('conflict'))
      expect(store.injected.errors + store.injected.lostAnswers).toBe(count('error'))
      for (const kind of ['conflicts', 'errors', 'lostAnswers'] as const)
        expect(store.injected[kind]).toBeGreaterThan(10)
      expect((await entriesIn(store)).length).toBe(count('committed') + store.injected.lostAnswers)
      await store.close()
      return answers
    }
    const first = await attempts(3)
    expect(await attempts(3)).toEqual(first)
    expect(await attempts(4)).not.toEqual(first)
  })

  it('lets commits without preconditions pass, for they cannot conflict', async () => {
    const store = faulty(await openMemoryStore(), { seed: 1, conflicts: 1 })
    await commitChanges(store, put('a', '1'))
    expect(await valueIn(store, 'a')).toBe('1')
    await store.close()
  })
})
