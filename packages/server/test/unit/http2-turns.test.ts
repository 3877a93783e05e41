/** Requests of one session of HTTP/2 that arrive together: few begin in a turn, other sessions are not behind them, and none begins that was given up. */
import type { FederatedDatabase } from '@ashlar/engine'
import { expect, it, vi } from 'vitest'
import { Http2Turns } from '../../src/http/http2-turns.ts'
import { http2InATurnMax, http2StreamsMax } from '../../src/limits.ts'
import { ask, openSecure } from './open-secure.ts'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** How many begin, turn by turn, until none is left. */
async function beginningsOf(all: number, begun: readonly unknown[]): Promise<number[]> {
  const counts = [begun.length]
  while (begun.length < all) {
    const before = begun.length
    await nextTurn()
    counts.push(begun.length - before)
  }
  return counts
}

it('as many begin in a turn as others can wait for, and none is left', async () => {
  const turns = new Http2Turns()
  const begun: number[] = []
  const all = 10 * http2InATurnMax
  for (let i = 0; i < all; i++) turns.add('one', () => begun.push(i))
  expect(begun).toHaveLength(http2InATurnMax)
  expect(Math.max(...(await beginningsOf(all, begun)))).toBe(http2InATurnMax)
  expect(begun).toEqual(Array.from({ length: all }, (_, i) => i))
  await nextTurn()
  turns.add('one', () => begun.push(all))
  expect(begun).toHaveLength(all + 1)
})

it('those of another session begin in the next turn, however many wait', async () => {
  const turns = new Http2Turns()
  const begun: string[] = []
  for (let i = 0; i < 1_000; i++) turns.add('one', () => begun.push('one'))
  turns.add('other', () => begun.push('other'))
  await nextTurn()
  expect(begun.indexOf('other')).toBeGreaterThan(0)
  expect(begun.indexOf('other')).toBeLessThan(2 * http2InATurnMax)
})

it('a thousand requests on ten sessions are answered, and few of them begin in a turn of the event loop', async () => {
  const secure = await openSecure()
  const sessions = await Promise.all(Array.from({ length: 10 }, () => secure.session()))
  let [begun, most, isOver] = [0, 0, false]
  const count = (): void => {
    most = Math.max(most, begun)
    begun = 0
    if (!isOver) setImmediate(count)
  }
  vi.spyOn(secure.federatedDatabases[0] as FederatedDatabase, 'readObject').mockImplementation(() => {
    begun++
    return Buffer.from('{}')
  })
  count()
  const replies = sessions.flatMap((session) =>
    Array.from({ length: http2StreamsMax }, () => ask(session, 'GET', '/v1/object/1-1-1-1')),
  )
  const statuses = (await Promise.all(replies)).map(({ status }) => status)
  isOver = true
  expect(statuses.filter((status) => status === 200)).toHaveLength(sessions.length * http2StreamsMax)
  // The first of a session that has no other begins at once.
  expect(most).toBeLessThanOrEqual(2 * http2InATurnMax + sessions.length)
})
