/** Numbers are sorted in pieces by what they stand for, as all in one piece would be. */
import { expect, it } from 'vitest'
import { sortNumbersSteps } from '../../src/store/sort-in-pieces.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

it.each([0, 1, 2, 2_047, 2_048, 2_049, 4_096, 10_000, 20_481])('%i of them, of which many are equal', (count) => {
  const random = seededRandom(count)
  const keys = Array.from({ length: count }, () => Math.floor((random() * count) / 3))
  const pieces = sortNumbersSteps(count, (one, other) => (keys[one] as number) - (keys[other] as number))
  let [turns, piece] = [0, pieces.next()]
  for (; piece.done !== true; piece = pieces.next()) turns++
  const expected = keys.map((key, i) => ({ key, i })).sort((one, other) => one.key - other.key || one.i - other.i)
  expect([...piece.value]).toEqual(expected.map(({ i }) => i))
  expect(turns).toBeGreaterThanOrEqual(Math.floor(count / 2_048))
})
