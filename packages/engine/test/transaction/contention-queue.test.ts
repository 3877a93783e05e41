/** The queue alone, on a virtual clock, with random arrivals: whoever waits gets a turn in time, in order, and only behind somebody who has one. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { queueWaitMsMax } from '../../src/limits.ts'
import { ContentionQueue, type QueueTicket } from '../../src/transaction/contention-queue.ts'
import { runs } from '../bytes/property-runs.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Visit {
  readonly atMs: number
  /** The key for which it queues. */
  readonly line: string
  /** How long it needs its turn; undefined: it never leaves, as where its process hangs. */
  readonly needsMs: number | undefined
  /** It leaves so long after its arrival, whether it had its turn or not. */
  readonly goesAfterMs: number | undefined
}

const names = ['a', 'b', 'c']
const ms = (max: number): fc.Arbitrary<number> => fc.oneof(fc.constant(0), fc.integer({ min: 1, max }))
const visits = fc.array(
  fc.record({
    atMs: ms(4_000),
    line: fc.constantFrom(...names),
    needsMs: fc.option(ms(2 * queueWaitMsMax), { nil: undefined }),
    goesAfterMs: fc.option(ms(3_000), { nil: undefined }),
  }),
  { maxLength: 25 },
)

interface Guest {
  readonly visit: Visit
  readonly ticket: QueueTicket
  hasHadTurn: boolean
  hasLeft: boolean
}

class Scene {
  readonly queue = new ContentionQueue()
  readonly guests: Guest[] = []
  /** By line, in the order in which turns began. */
  readonly served = new Map<string, Guest[]>()

  arrive(visit: Visit): void {
    const { line } = visit
    const ticket = this.queue.enter(line)
    const guest: Guest = { visit, ticket, hasHadTurn: false, hasLeft: false }
    this.guests.push(guest)
    const leave = (): void => {
      guest.hasLeft = true
      ticket.leave()
    }
    void ticket.activated.then(() => {
      guest.hasHadTurn = true
      this.served.set(line, [...(this.served.get(line) ?? []), guest])
      if (visit.needsMs !== undefined) setTimeout(leave, visit.needsMs)
    })
    if (visit.goesAfterMs !== undefined) setTimeout(leave, visit.goesAfterMs)
  }

  inLine(line: string): Guest[] {
    return this.guests.filter(({ visit }) => visit.line === line)
  }

  /** At most one has a turn; where anybody waits, somebody has one. */
  check(line: string): void {
    const guests = this.inLine(line)
    const held = guests.filter(({ ticket }) => ticket.isActive).length
    const waiting = guests.filter(({ hasHadTurn, hasLeft }) => !hasHadTurn && !hasLeft).length
    expect(held).toBeLessThanOrEqual(1)
    if (waiting > 0) expect(held).toBe(1)
  }
}

/** Advances from one timer to the next, so that nothing happens between two looks. */
async function untilQuiet(look: () => void): Promise<void> {
  for (;;) {
    // All that follows from the last timer has happened then.
    await nextTurn()
    look()
    if (vi.getTimerCount() === 0) return
    await vi.advanceTimersToNextTimerAsync()
  }
}

it('turns come in order of arrival, one at a time, never later than those before may take, and end', async () => {
  const property = fc.asyncProperty(visits, async (given) => {
    const scene = new Scene()
    for (const visit of given) setTimeout(() => scene.arrive(visit), visit.atMs)
    await untilQuiet(() => {
      for (const line of names) scene.check(line)
    })
    expect(scene.guests).toHaveLength(given.length)
    for (const line of names) {
      expect(scene.served.get(line) ?? []).toEqual(scene.inLine(line))
      expect(scene.queue.isBusy(line)).toBe(false)
    }
  })
  await fc.assert(property, runs(60))
})

it('each waits for those before it alone, and for each of them no longer than a turn may be', async () => {
  const property = fc.asyncProperty(fc.array(ms(12_000), { maxLength: 12 }), async (needs) => {
    const line = 'a'
    const scene = new Scene()
    const startedAt = performance.now()
    const begunAt: number[] = []
    for (const needsMs of needs) {
      scene.arrive({ atMs: 0, line, needsMs, goesAfterMs: undefined })
      void scene.guests.at(-1)?.ticket.activated.then(() => begunAt.push(performance.now() - startedAt))
    }
    await untilQuiet(() => scene.check(line))
    const expected = needs.map((_, i) => {
      return needs.slice(0, i).reduce((sum, needsMs) => sum + Math.min(needsMs, queueWaitMsMax), 0)
    })
    expect(begunAt).toEqual(expected)
  })
  await fc.assert(property, runs(60))
})
