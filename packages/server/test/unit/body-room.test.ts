/** Who waits for room for a body, and for how long. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ClientDisconnected } from '../../src/errors/request-errors.ts'
import { BodyRoom } from '../../src/http/in-flight-bodies.ts'

const turnMsMax = 5_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A body that asks for so much, and what it is told. */
function asking(room: BodyRoom, amount: number): { readonly body: object; readonly told: (Error | undefined)[] } {
  const body = {}
  const told: (Error | undefined)[] = []
  room.enter(body)
  room.take(body, amount, (error) => told.push(error))
  return { body, told }
}

it('a body whose request has gone leaves the queue at once, and those behind it go on', () => {
  const room = new BodyRoom(10, turnMsMax, 'no room')
  const first = asking(room, 8)
  const gone = asking(room, 5)
  const small = asking(room, 2)
  expect([first.told, gone.told, small.told]).toEqual([[undefined], [], []])
  room.leave(gone.body, 0)
  expect(gone.told).toEqual([expect.any(ClientDisconnected)])
  expect(small.told).toEqual([undefined])
  expect(vi.getTimerCount()).toBe(0)
  // All that was taken is free again, and nothing beside it.
  room.leave(first.body, 8)
  const filling = asking(room, 8)
  const further = asking(room, 1)
  expect([filling.told, further.told]).toEqual([[undefined], []])
})

it('a body that has waited for its turn is refused, and those behind it go on', () => {
  const room = new BodyRoom(10, turnMsMax, 'no room')
  asking(room, 8)
  const late = asking(room, 5)
  vi.advanceTimersByTime(1_000)
  const small = asking(room, 2)
  vi.advanceTimersByTime(turnMsMax - 1_000)
  expect(late.told).toMatchObject([{ type: 'ServerBusy', message: 'no room' }])
  expect(small.told).toEqual([undefined])
  expect(vi.getTimerCount()).toBe(0)
})
