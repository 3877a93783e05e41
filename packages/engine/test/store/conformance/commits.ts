/** Commits: all or nothing, under preconditions of each kind, which describe the store before the commit. */
import { describe, expect, it } from 'vitest'
import type { Precondition } from '../../../src/store/store.ts'
import {
  absent,
  bytes,
  commitChanges,
  commitOf,
  entriesIn,
  holds,
  present,
  put,
  remove,
  revision,
  unchanged,
  unchangedIn,
} from '../bytes.ts'
import type { Driver } from '../conformance.ts'
import { useStore } from './use-store.ts'

const stored = [put('a', '1-first'), put('b', '2'), put('c', '3'), put('empty', '')]
const storedEntries = ['a=1-first', 'b=2', 'c=3', 'empty=']

const holding: [name: string, precondition: Precondition][] = [
  ['an absent key', absent('x')],
  ['a present key', present('a')],
  ['a present key with an empty value', present('empty')],
  ['a revision that is the whole value', revision('b', '2')],
  ['a revision that is the beginning of the value', revision('a', '1-')],
  ['an empty revision', revision('empty', '')],
  ['a range with exactly its keys', holds('a', 'd', ['a', 'b', 'c'], 'a')],
  ['a range with nothing', holds('d', 'e', [], 'a')],
  [
    'a range without bounds',
    { kind: 'range', range: {}, keys: ['a', 'b', 'c', 'empty'].map(bytes), rangeLockKey: bytes('a') },
  ],
  ['an empty range with nothing', holds('c', 'a', [], 'a')],
  ['an unchanged range', unchanged('a', 'd', ['a=1-first', 'b=2', 'c=3'])],
  ['an unchanged range of which only the keys count', unchanged('a', 'd', ['a=', 'b=', 'c='], 0)],
  ['an unchanged range of which the first bytes of values count', unchanged('a', 'b', ['a=1-other'], 2)],
  ['an unchanged range without entries', unchanged('d', 'e', [])],
  ['an unchanged range without bounds', unchangedIn({}, storedEntries, 1_000)],
  ['an unchanged range whose bounds cross', unchanged('c', 'a', [])],
]

const failing: [name: string, precondition: Precondition][] = [
  ['an absent key that is there', absent('a')],
  ['an absent key with an empty value', absent('empty')],
  ['a present key that is not there', present('x')],
  ['a revision of a missing key', revision('x', '1')],
  ['an empty revision of a missing key', revision('x', '')],
  ['another revision', revision('a', '2')],
  ['a revision longer than the value', revision('b', '2-')],
  ['a range with one key too many', holds('a', 'd', ['a', 'b'], 'a')],
  ['a range with one key too few', holds('a', 'd', ['a', 'b', 'c', 'ca'], 'a')],
  ['a range with another key in the middle', holds('a', 'd', ['a', 'bb', 'c'], 'a')],
  ['a range in the wrong order', holds('a', 'd', ['b', 'a', 'c'], 'a')],
  ['a range with something instead of nothing', holds('b', 'c', [], 'a')],
  ['an empty range with something', holds('c', 'a', ['b'], 'a')],
  ['an unchanged range with an entry too many', unchanged('a', 'd', ['a=1-first', 'b=2'])],
  ['an unchanged range with an entry too few', unchanged('a', 'd', ['a=1-first', 'b=2', 'c=3', 'ca=4'])],
  ['an unchanged range with another key', unchanged('a', 'd', ['a=1-first', 'bb=2', 'c=3'])],
  ['an unchanged range with another value', unchanged('a', 'd', ['a=1-first', 'b=1', 'c=3'])],
  ['an unchanged range with a longer value', unchanged('b', 'c', ['b=23'], 1)],
  ['an unchanged range with something instead of nothing', unchanged('b', 'c', [])],
]

/** What two preconditions of one key say together, and which of them fails. */
const contradictory: [name: string, preconditions: readonly Precondition[], failed: number][] = [
  ['a missing key to be absent and present', [absent('x'), present('x')], 1],
  ['a missing key to be present and absent', [present('x'), absent('x')], 0],
  ['a missing key to be absent and of a revision', [absent('x'), revision('x', '1')], 1],
  ['a missing key to be absent and of an empty revision', [absent('x'), revision('x', '')], 1],
  ['a key to be present and absent', [present('a'), absent('a')], 1],
  ['a key to be absent and of its revision', [absent('a'), revision('a', '1-')], 0],
  ['a key to be of two revisions', [revision('a', '1-'), revision('a', '2')], 1],
  ['a missing key to be absent and in a range', [absent('x'), holds('x', 'z', ['x'], 'a')], 1],
]

export function commitRules(driver: Driver): void {
  describe('commits', () => {
    it.each(holding)('go through under %s', (_, precondition) =>
      useStore(driver, async (store) => {
        await commitChanges(store, ...stored)
        const outcome = await store.commit(commitOf([put('new', 'here')], [precondition]))
        expect(outcome).toEqual({ isCommitted: true })
        expect(await entriesIn(store)).toEqual([...storedEntries, 'new=here'])
      }),
    )

    it.each(failing)('are refused under %s, with that very precondition, and change nothing', (_, precondition) =>
      useStore(driver, async (store) => {
        await commitChanges(store, ...stored)
        const others = holding.map(([, other]) => other)
        const outcome = await store.commit(
          commitOf([put('new', 'here'), remove('a'), put('b', 'other')], [...others, precondition, ...others]),
        )
        expect(outcome.isCommitted).toBe(false)
        expect(!outcome.isCommitted && outcome.failed).toBe(precondition)
        expect(await entriesIn(store)).toEqual(storedEntries)
      }),
    )

    it('name the first precondition that fails', () =>
      useStore(driver, async (store) => {
        const preconditions = [absent('a'), present('x'), present('y')]
        const outcome = await store.commit(commitOf([], preconditions))
        expect(!outcome.isCommitted && outcome.failed).toBe(preconditions[1])
      }))

    it.each(contradictory)('are refused where they expect %s, and name what fails', (_, preconditions, failed) =>
      useStore(driver, async (store) => {
        await commitChanges(store, ...stored)
        const changes = [[], [put('new', 'here')], [put('x', 'here')], [remove('x'), put('a', 'other')]]
        for (const attempted of changes) {
          const outcome = await store.commit(commitOf(attempted, preconditions))
          expect(!outcome.isCommitted && outcome.failed).toBe(preconditions[failed])
          expect(await entriesIn(store)).toEqual(storedEntries)
        }
      }),
    )

    it('do not hold their own changes against their preconditions', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, ...stored)
        const outcome = await store.commit(
          commitOf(
            [put('new', 'here'), remove('b'), put('a', '9'), put('c', 'changed')],
            [absent('new'), present('b'), revision('a', '1-'), holds('a', 'd', ['a', 'b', 'c'], 'a')],
          ),
        )
        expect(outcome).toEqual({ isCommitted: true })
        expect(await entriesIn(store)).toEqual(['a=9', 'c=changed', 'empty=', 'new=here'])
      }))

    it('are not disturbed in a presence by a change of the value, but by a deletion', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, ...stored)
        const expecting = commitOf([put('seen', 'yes')], [present('a')])
        await commitChanges(store, put('a', 'changed'))
        expect(await store.commit(expecting)).toEqual({ isCommitted: true })
        await commitChanges(store, remove('a'))
        expect(await store.commit(expecting)).toMatchObject({ isCommitted: false })
      }))

    it('make many changes as they make few: of keys that are there and that are not, short and long, in any order', () =>
      useStore(driver, async (store) => {
        const name = (nth: number) => `k${String((nth * 7) % 500).padStart(3, '0')}`
        const value = (nth: number) => 'v'.repeat((nth * 31) % 200)
        const numbers = Array.from({ length: 500 }, (_, nth) => nth)
        await commitChanges(store, ...numbers.filter((nth) => nth % 2 === 0).map((nth) => put(name(nth), 'before')))
        await commitChanges(
          store,
          ...numbers.map((nth) => (nth % 3 === 0 ? remove(name(nth)) : put(name(nth), value(nth)))),
        )
        const expected = numbers.filter((nth) => nth % 3 !== 0).map((nth) => `${name(nth)}=${value(nth)}`)
        expect(await entriesIn(store)).toEqual(expected.sort())
      }))

    it('may delete what is not there, and change nothing at all', () =>
      useStore(driver, async (store) => {
        expect(await store.commit(commitOf([remove('x')]))).toEqual({ isCommitted: true })
        expect(await store.commit(commitOf([]))).toEqual({ isCommitted: true })
        expect(await store.commit(commitOf([], [present('x')]))).toMatchObject({ isCommitted: false })
        expect(await entriesIn(store)).toEqual([])
      }))

    it('are refused one by one: those beside a failing one go through', () =>
      useStore(driver, async (store) => {
        const numbers = Array.from({ length: 60 }, (_, number) => number)
        const name = (number: number) => `k${String(number).padStart(2, '0')}`
        const outcomes = await Promise.all(
          numbers.map((number) => {
            const changes = [put(name(number), 'here'), put(`${name(number)}+`, 'here')]
            return store.commit(commitOf(changes, [number % 3 === 0 ? present('missing') : absent(name(number))]))
          }),
        )
        expect(outcomes.map((outcome) => outcome.isCommitted)).toEqual(numbers.map((number) => number % 3 !== 0))
        const kept = numbers.filter((number) => number % 3 !== 0)
        expect(await entriesIn(store)).toEqual(
          kept.flatMap((number) => [`${name(number)}=here`, `${name(number)}+=here`]),
        )
      }))

    it('make many new keys, or none where one of them is there; those beside them go through', () =>
      useStore(driver, async (store) => {
        await commitChanges(store, put('b299', 'before'))
        const made = (prefix: string) =>
          Array.from({ length: 300 }, (_, nth) => ({ key: `${prefix}${100 + nth}`, own: `${prefix}-${100 + nth}` }))
        const outcomes = await Promise.all(
          ['a', 'b', 'c'].map((prefix) => {
            const all = made(prefix)
            const changes = all.flatMap(({ key, own }) => [put(key, 'new'), put(own, 'own')])
            return store.commit(
              commitOf(
                changes,
                all.map(({ key }) => absent(key)),
              ),
            )
          }),
        )
        expect(outcomes).toEqual([
          { isCommitted: true },
          { isCommitted: false, failed: absent('b299') },
          { isCommitted: true },
        ])
        const expected = ['a', 'c'].flatMap(made).flatMap(({ key, own }) => [`${key}=new`, `${own}=own`])
        expect(await entriesIn(store)).toEqual([...expected, 'b299=before'].sort())
      }))

    it('check against the commits that went before them, also when all are sent at once', () =>
      useStore(driver, async (store) => {
        const outcomes = await Promise.all(
          Array.from({ length: 40 }, (_, number) =>
            store.commit(commitOf([put('key', String(number))], [absent('key')])),
          ),
        )
        expect(outcomes.filter((outcome) => outcome.isCommitted)).toHaveLength(1)
        const winner = outcomes.findIndex((outcome) => outcome.isCommitted)
        expect(await entriesIn(store)).toEqual([`key=${winner}`])
      }))
  })
}
