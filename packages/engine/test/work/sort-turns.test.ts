/** Sorting many rows: the same order as at once, with turns for others in between. */
import { expect, it } from 'vitest'
import { sortInTurns } from '../../src/query/execute/sort-in-turns.ts'

const rows = (count: number) => Array.from({ length: count }, (_, i) => ({ key: (i * 7_919) % 101, i }))
const byKey = (one: { key: number }, other: { key: number }): number => one.key - other.key

it.each([0, 1, 2, 2_047, 2_048, 2_049, 4_096, 10_000, 20_481])(
  '%i rows are sorted, equal ones in their order',
  async (count) => {
    const all = rows(count)
    let turns = 0
    const sorted = await sortInTurns(all, byKey, () => {
      turns++
      return turns % 2 === 0 ? Promise.resolve() : undefined
    })
    expect(sorted).toEqual([...all].sort(byKey))
    expect(turns).toBeGreaterThanOrEqual(Math.floor(count / 2_048))
  },
)

it('between two turns no more is compared than a part takes', async () => {
  let compared = 0
  let most = 0
  const counting = (one: { key: number }, other: { key: number }): number => {
    compared++
    return byKey(one, other)
  }
  await sortInTurns(rows(50_000), counting, () => {
    most = Math.max(most, compared)
    compared = 0
    return undefined
  })
  expect(most).toBeLessThan(2_048 * 12)
})

it('between two turns no more of long keys is compared than a part has of them, or one key', async () => {
  const keys = Array.from({ length: 40 }, (_, i) => Buffer.alloc(2 ** 19, `${(i * 7) % 40}`.padStart(8, '0')))
  let compared = 0
  let most = 0
  const counting = (one: Buffer, other: Buffer): number => {
    compared += one.length
    return Buffer.compare(one, other)
  }
  const turn = (): undefined => {
    most = Math.max(most, compared)
    compared = 0
  }
  const sorted = await sortInTurns(keys, counting, turn, ({ length }) => length)
  const beginnings = sorted.map((key) => key.toString('latin1', 0, 8))
  expect(beginnings).toEqual(beginnings.toSorted())
  expect(new Set(sorted).size).toBe(keys.length)
  expect(most).toBeLessThanOrEqual(4 * 2 ** 19)
})
