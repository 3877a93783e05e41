/** Those who wait for changes, where the store cannot be looked at. */
import { expect, it } from 'vitest'
import { ChangeWaiters } from '../../src/changes/change-waiters.ts'

it('a fault that stays is told once, and again where it comes back', async () => {
  const outcomes = ['a', 'a', 'a', 'b', 1, 'b', 'b']
  const told: unknown[] = []
  const ending = new AbortController()
  const look = async (): Promise<number> => {
    const next = outcomes.shift()
    if (next === undefined) ending.abort()
    if (typeof next === 'string') throw new Error(next)
    return next ?? 1
  }
  const waiters = new ChangeWaiters(look, 1, (error) => told.push((error as Error).message))
  // The one commit that is noticed wakes it.
  while (!ending.signal.aborted) await waiters.wait(waiters.count, 60_000, ending.signal)
  waiters.stop()
  expect(told).toEqual(['a', 'b', 'b'])
})
