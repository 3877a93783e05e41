/** Reads through own writes: right against a plain map, and no dearer the more has been written. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Change, Entry, RangeRead, Snapshot } from '../../src/store/store.ts'
import { OverlaySnapshot } from '../../src/transaction/overlay-snapshot.ts'
import { OwnWrites } from '../../src/transaction/own-writes.ts'
import { runs } from '../bytes/property-runs.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'
import { comparisonsOf, countingSnapshot } from '../work/count-work.ts'

const key = (number: number): Buffer => Buffer.from([number >> 8, number & 255])
const put = (number: number, value: string): Change => ({ kind: 'put', key: key(number), value: Buffer.from(value) })
const remove = (number: number): Change => ({ kind: 'delete', key: key(number) })

async function snapshotOf(changes: readonly Change[], isLate = false): Promise<Snapshot> {
  const store = await openMemoryStore()
  await store.commit({ changes, preconditions: [] })
  return (isLate ? sometimesLater(store, 1) : store).snapshot()
}

function overlay(below: Snapshot, own: readonly Change[]): OverlaySnapshot {
  return new OverlaySnapshot(
    below,
    own.reduce((writes, change) => writes.with(change), OwnWrites.none),
  )
}

const shown = ({ key, value }: Entry): string => `${Buffer.from(key).toString('hex')}=${Buffer.from(value)}`

const numbers = fc.integer({ min: 0, max: 40 })
const changes = fc.array(
  fc.oneof(
    numbers.map((number) => put(number, `own ${number}`)),
    numbers.map(remove),
  ),
)
const bound = fc.option(numbers, { nil: undefined })
const limit = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined })
const rangeRead = fc.record({ from: bound, to: bound, limit, reverse: fc.boolean() }).map((read): RangeRead => {
  return {
    reverse: read.reverse,
    ...(read.from === undefined ? {} : { from: key(read.from) }),
    ...(read.to === undefined ? {} : { to: key(read.to) }),
    ...(read.limit === undefined ? {} : { limit: read.limit }),
  }
})

/** What the store and the writes come to, by a plain map. */
function expected(stored: readonly number[], own: readonly Change[], range: RangeRead): string[] {
  const entries = new Map(stored.map((number) => [key(number).toString('hex'), `stored ${number}`]))
  for (const change of own) {
    const name = Buffer.from(change.key).toString('hex')
    if (change.kind === 'put') entries.set(name, Buffer.from(change.value).toString())
    else entries.delete(name)
  }
  const [from, to] = [range.from, range.to].map((one) => one && Buffer.from(one).toString('hex'))
  const names = [...entries.keys()].sort()
  const inRange = names.filter((name) => (from === undefined || name >= from) && (to === undefined || name < to))
  if (range.reverse === true) inRange.reverse()
  return inRange.slice(0, range.limit).map((name) => `${name}=${entries.get(name)}`)
}

it('ranges, limits, directions and keys are those of the store with the writes made', async () => {
  const stored = fc.uniqueArray(numbers)
  const property = fc.asyncProperty(stored, changes, fc.array(rangeRead), fc.boolean(), async (...given) => {
    const [present, own, ranges, isLate] = given
    const below = await snapshotOf(
      present.map((number) => put(number, `stored ${number}`)),
      isLate,
    )
    const seen = overlay(below, own)
    const everything = Array.from({ length: 41 }, (_, number) => key(number))
    const answer = await seen.read(everything, ranges)
    expect(answer.ranges.map((entries) => entries.map(shown))).toEqual(
      ranges.map((range) => expected(present, own, range)),
    )
    const values = answer.values.map((value, i) =>
      value === undefined ? [] : [`${everything[i]?.toString('hex')}=${Buffer.from(value)}`],
    )
    expect(values.flat()).toEqual(expected(present, own, {}))
    for (const range of ranges) {
      const scanned: string[] = []
      const entry = (key: Uint8Array, value: Uint8Array): string => shown({ key, value })
      for await (const batch of seen.scan(range, entry, range)) scanned.push(...batch)
      expect(scanned).toEqual(expected(present, own, range))
    }
  })
  await fc.assert(property, runs(200))
})

/** `n` stored entries under an overlay of `own`: the work of reading one entry of the range. */
async function workOfOneEntry(n: number, own: readonly Change[], reverse: boolean): Promise<number> {
  const stored = Array.from({ length: n }, (_, number) => put(number, 'stored'))
  const counts = { copies: 0, copiedBytes: 0, trips: 0, views: 0 }
  const seen = overlay(countingSnapshot(await snapshotOf(stored), counts), own)
  const comparisons = await comparisonsOf(async () => {
    const { ranges } = await seen.read([], [{ from: key(0), limit: 1, reverse }])
    expect(ranges[0]).toHaveLength(1)
  })
  return comparisons + counts.copies
}

const many = (n: number, change: (number: number) => Change): Change[] => Array.from({ length: n }, (_, i) => change(i))

it('one entry of a range costs the same search, whatever else the transaction has written there', async () => {
  for (const reverse of [false, true]) {
    // Added behind and before what is stored, overwritten, and deleted again by the transaction that added it.
    const overwrites = (n: number): Change[] => many(n, (i) => put(i, 'own'))
    const additions = (n: number): Change[] => many(n, (i) => put(n + i, 'own'))
    const withdrawn = (n: number): Change[] => [...additions(n), ...many(n - 1, (i) => remove(n + 1 + i))]
    for (const own of [overwrites, additions, withdrawn]) {
      const few = await workOfOneEntry(100, own(100), reverse)
      const more = await workOfOneEntry(3_200, own(3_200), reverse)
      expect(few).toBeLessThan(60)
      expect(more).toBeLessThan(2 * few + 10)
    }
  }
})

it('stored entries that are deleted are passed once, in trips whose number grows with the logarithm', async () => {
  const counts = { copies: 0, copiedBytes: 0, trips: 0, views: 0 }
  const below = countingSnapshot(await snapshotOf(many(1_000, (i) => put(i, 'stored'))), counts)
  const seen = overlay(below, many(900, remove))
  const { ranges } = await seen.read([], [{ limit: 1 }])
  expect(ranges[0]?.map(({ key }) => Buffer.from(key).readUInt16BE())).toEqual([900])
  expect(counts.trips).toBeLessThan(10)
  expect(counts.copies).toBeLessThan(3 * 1_000)
})
