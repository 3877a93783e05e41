/** A transaction of many operations beside others: their turns, the client that goes away, and the time that it may take. */
import { afterEach, expect, it, vi } from 'vitest'
import { classOf, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const classes = [classOf('Part', { code: 'integer' })]

it('others have their turn between the operations of a transaction', () =>
  withFd(classes, async (fd) => {
    const operations = 100
    const turns = await turnsDuring(() =>
      fd.transaction(async (step, _isRehearsal, between) => {
        for (let i = 1; i <= operations; i++) {
          await between()
          await step(i).createObject('Part', { code: i })
        }
      }, false),
    )
    // A look at the clock is a millisecond here, and each operation looks twice at least.
    expect(turns).toBeGreaterThan(operations / 5)
  }))

it('a transaction whose client goes away ends between two operations, and nothing of it is done', () =>
  withFd(classes, async (fd) => {
    const controller = new AbortController()
    const gone = new Error('gone')
    const done: number[] = []
    const running = fd.transaction(
      async (step, _isRehearsal, between) => {
        for (let i = 1; i <= 10; i++) {
          await between()
          await step(i).createObject('Part', { code: i })
          done.push(i)
          if (i === 3) controller.abort(gone)
        }
      },
      false,
      undefined,
      undefined,
      { signal: controller.signal },
    )
    await expect(running).rejects.toBe(gone)
    expect(done).toEqual([1, 2, 3])
    expect(await fd.detailedStatistics()).toMatchObject({ classes: [{ objects: 0 }] })
  }))

it('a transaction that takes longer than transactionMsMax is refused by that name, and nothing of it is done', () =>
  withFd(
    classes,
    async (fd) => {
      let late = 0
      const { now } = performance
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + late)
      const running = fd.transaction(async (step, _isRehearsal, between) => {
        for (let i = 1; i <= 10; i++) {
          await between()
          await step(i).createObject('Part', { code: i })
          if (i === 5) late = 2_000_000
        }
      }, false)
      await expect(running).rejects.toMatchObject({
        type: 'LimitExceeded',
        message: expect.stringContaining('1000 s (transactionMsMax)'),
      })
      clock.mockRestore()
      expect(await fd.detailedStatistics()).toMatchObject({ classes: [{ objects: 0 }] })
    },
    { transactionMsMax: 1_000_000 },
  ))

it('the time of a transaction is that of all its attempts together', () =>
  withFd(
    classes,
    async (fd) => {
      const oid = await fd.createObject('Part', { code: 0 })
      let late = 0
      let attempts = 0
      const { now } = performance
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + late)
      const running = fd.transaction(async (step, _isRehearsal, between) => {
        attempts += 1
        await between()
        await step(1).updateObject(oid, { code: attempts })
        // Somebody else is first, each time.
        await fd.updateObject(oid, { code: -attempts })
        late += 400_000
      }, false)
      await expect(running).rejects.toMatchObject({ type: 'LimitExceeded' })
      clock.mockRestore()
      expect(attempts).toBe(4)
    },
    { transactionMsMax: 1_000_000 },
  ))
