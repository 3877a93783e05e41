/** What counts as work for a request. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import { WorkClock } from '../../src/budget/work-clock.ts'
import type { TimeSlice } from '../../src/store/time-slice.ts'

let now = 0
vi.spyOn(performance, 'now').mockImplementation(() => now)
afterAll(() => vi.restoreAllMocks())

function work(ms: number): void {
  now += ms
}

describe('the time of a statement', () => {
  it('passes while it works, and not in the turns of others, however long they take', async () => {
    let endTurn: () => void = () => undefined
    const slice: TimeSlice = {
      isOver: true,
      yieldIfDue: () => new Promise((resolve) => (endTurn = resolve)),
    }
    const clock = new WorkClock(20)
    const pause = clock.stoppedBetween(slice).yieldIfDue()
    work(30)
    expect(clock.isOver).toBe(false)
    endTurn()
    await pause
    expect(clock.isOver).toBe(false)
    work(30)
    expect(clock.isOver).toBe(true)
  })

  it('passes where nobody has a turn in between', () => {
    const clock = new WorkClock(20)
    expect(clock.stoppedBetween({ isOver: false, yieldIfDue: () => undefined }).yieldIfDue()).toBeUndefined()
    work(30)
    expect(clock.isOver).toBe(true)
  })

  it('has ended for good where a turn ends with an error after the time was over', async () => {
    const clock = new WorkClock(-1)
    const slice: TimeSlice = { isOver: true, yieldIfDue: () => Promise.reject(new Error('gone')) }
    await expect(clock.stoppedBetween(slice).yieldIfDue()).rejects.toThrow('gone')
    expect(clock.isOver).toBe(true)
  })
})
