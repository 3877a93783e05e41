/** Many commits at once: no lost update, no half commit to be seen. */
import { describe, expect, it } from 'vitest'
import type { Precondition } from '../../../src/store/store.ts'
import {
  absent,
  commitChanges,
  commitOf,
  entriesIn,
  entriesOf,
  holds,
  present,
  put,
  remove,
  revision,
  unchanged,
  valueAt,
  valueIn,
  withSnapshot,
} from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

export function concurrencyRules(driver: Driver): void {
  describe('concurrency', () => {
    it('loses no increment of writers that expect the revision they read', () =>
      useStore(driver, async (store) => {
        const writers = 8
        const increments = 25
        await commitChanges(store, put('count', '0;'))
        async function increment(): Promise<void> {
          for (;;) {
            const value = (await valueIn(store, 'count'))!
            const next = `${Number.parseInt(value, 10) + 1};`
            const outcome = await store.commit(commitOf([put('count', next)], [revision('count', value)]))
            if (outcome.isCommitted) return
          }
        }
        async function write(): Promise<void> {
          for (let done = 0; done < increments; done += 1) await increment()
        }
        await Promise.all(Array.from({ length: writers }, write))
        expect(await valueIn(store, 'count')).toBe(`${writers * increments};`)
      }))

    it('shows each commit whole or not at all', () =>
      useStore(driver, async (store) => {
        const keys = ['a', 'm', 'z']
        const commits = 100
        await commitChanges(store, ...keys.map((key) => put(key, '0')))
        const halves: string[] = []
        let isWriting = true
        async function write(): Promise<void> {
          for (let count = 1; count <= commits; count += 1)
            await commitChanges(store, ...keys.map((key) => put(key, `${count}`)))
          isWriting = false
        }
        async function watch(): Promise<void> {
          while (isWriting) {
            await withSnapshot(store, async (snapshot) => {
              const first = await valueAt(snapshot, 'a')
              await new Promise((resolve) => setImmediate(resolve))
              const shown = (await entriesOf(snapshot)).join()
              // It looks as often as it can: `expect` would take longer than the look.
              if (shown !== keys.map((key) => `${key}=${first}`).join()) halves.push(shown)
            })
          }
        }
        await Promise.all([write(), watch(), watch()])
        expect(halves).toEqual([])
        expect(await valueIn(store, 'z')).toBe(`${commits}`)
      }))

    it('answers each of many commits made at once for itself, and makes each wholly or not at all', () =>
      useStore(driver, async (store) => {
        const commits = 60
        const wrong = (nth: number): Precondition[] => [
          absent(`old${nth}`),
          present(`none${nth}`),
          revision(`old${nth}`, 'w'),
          holds(`old${nth}`, `old${nth}~`, [], `old${nth}`),
        ]
        const numbers = Array.from({ length: commits }, (_, nth) => nth)
        await commitChanges(
          store,
          put('hub', '1'),
          ...numbers.flatMap((nth) => [put(`old${nth}`, 'v'), put(`gone${nth}`, 'g')]),
        )
        const wanted = numbers.map((nth) => {
          const right = [absent(`new${nth}`), present('hub'), revision(`old${nth}`, 'v')]
          const changes = [put(`new${nth}`, 'n'), put(`old${nth}`, 'v2'), put(`blind${nth}`, 'b'), remove(`gone${nth}`)]
          return commitOf(changes, [...right, ...wrong(nth).slice(nth % 5, (nth % 5) + 1)])
        })
        const outcomes = await Promise.all(wanted.map((commit) => store.commit(commit)))
        const entries = await entriesIn(store)
        for (const [nth, outcome] of outcomes.entries()) {
          const failed = [...(wanted[nth]?.preconditions ?? [])][3]
          expect(outcome).toEqual(failed === undefined ? { isCommitted: true } : { isCommitted: false, failed })
          const left = ['new', 'old', 'blind', 'gone'].flatMap((name) =>
            entries.filter((one) => one.startsWith(`${name}${nth}=`)),
          )
          const made = [`new${nth}=n`, `old${nth}=v2`, `blind${nth}=b`]
          expect(left).toEqual(failed === undefined ? made : [`old${nth}=v`, `gone${nth}=g`])
        }
      }))

    it('makes one at most of several commits that each change a range which the others require to be unchanged', () =>
      useStore(driver, async (store) => {
        const rounds = 30
        for (let round = 0; round < rounds; round++) {
          const name = (nth: number): string => `${round}:${nth}:`
          const commits = [0, 1, 2, 3].map((nth) => {
            const others = [0, 1, 2, 3].filter((other) => other !== nth)
            const required = others.map((other) => unchanged(name(other), `${name(other)}~`, []))
            return commitOf([put(`${name(nth)}key`, 'v')], required)
          })
          const outcomes = await Promise.all(commits.map((commit) => store.commit(commit)))
          expect(outcomes.filter(({ isCommitted }) => isCommitted)).toHaveLength(1)
        }
        expect(await entriesIn(store)).toHaveLength(rounds)
      }))

    it('keeps other commits waiting while one holds a lock, until that commits or lets go of it', () =>
      useStore(driver, async (store) => {
        const { lockCommits } = store
        if (lockCommits === undefined) return
        await commitChanges(store, put('a', '1'))
        for (const isCommitting of [true, false, true]) {
          const lock = await lockCommits()
          let isOver = false
          const waiting = commitChanges(store, put('b', isCommitting ? '2' : '1')).then(() => {
            isOver = true
          })
          const before = await valueIn(store, 'b')
          for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
          expect([isOver, await valueIn(store, 'b')]).toEqual([false, before])
          if (isCommitting) {
            const refused = await store.commit({ ...commitOf([put('a', '3')], [unchanged('a', 'c', [])]), lock })
            expect(refused.isCommitted).toBe(false)
            await waiting
            const another = await lockCommits()
            const entries = await withSnapshot(store, (snapshot) => entriesOf(snapshot))
            const [value] = entries.filter((entry) => entry.startsWith('b='))
            const commit = commitOf([put('a', `after ${value}`)], [unchanged('a', 'z', entries)])
            expect(await store.commit({ ...commit, lock: another })).toEqual({ isCommitted: true })
            // It has ended: what names it is a commit like any other.
            expect(await store.commit({ ...commitOf([put('c', '1')]), lock: another })).toEqual({ isCommitted: true })
            another.release()
          } else lock.release()
          await waiting
          lock.release()
        }
      }))

    it('ends a lock for a reservation, for which its holder may be waiting', () =>
      useStore(driver, async (store) => {
        const lock = await store.lockCommits?.()
        expect(await store.commit({ ...commitOf([put('a', '1')]), isReservation: true })).toEqual({ isCommitted: true })
        expect(await store.commit({ ...commitOf([put('b', '1')]), lock })).toEqual({ isCommitted: true })
      }))

    it('shows a commit to every snapshot asked for after its answer', () =>
      useStore(driver, async (store) => {
        const writers = Array.from({ length: 16 }, async (_, writer) => {
          for (let count = 0; count < 20; count += 1) {
            await commitChanges(store, put(`w${writer}`, `${count}`))
            expect(await valueIn(store, `w${writer}`)).toBe(`${count}`)
          }
        })
        await Promise.all(writers)
      }))
  })
}
