/** The objects of a class one after the other, and how many there are. */
import { expect, it } from 'vitest'
import { classOf, withFd } from '../../engine/open-fd.ts'
import { turnsDuring } from '../../work/count-work.ts'
import { airlineTests } from './airline.ts'

const flights = 40
const plannerTest = airlineTests(flights)

plannerTest('COUNT() of all reads no record', async (db) => {
  const plan = await db.analyze('FROM Flight RETURN COUNT()')
  expect(await db.rows('FROM Flight RETURN COUNT() AS n')).toEqual([{ n: flights + 3 }])
  expect(plan.objectsRead).toBe(0)
})

it('a scan asks whether it may go on also while it finds nothing', () =>
  withFd(
    [classOf('Part', { code: 'integer' })],
    async (fd) => {
      await fd.createObjects(Array.from({ length: 20_000 }, (_, i) => ({ class: 'Part', attributes: { code: i } })))
      const texts = ['WHERE code < 0 RETURN code', 'WHERE code < 0 RETURN COUNT() AS n', 'RETURN COUNT() AS n']
      for (const text of texts.map((rest) => `FROM Part ${rest}`)) {
        let asked = 0
        const mayContinue = (): undefined => {
          asked++
        }
        // Each look at the clock is a millisecond later.
        await turnsDuring(async () => {
          const { chunks } = await fd.query({ text, watch: { mayContinue } })
          for await (const _ of chunks);
        })
        expect(asked, text).toBeGreaterThan(0)
      }
    },
    { statementThreadsMax: 0 },
  ))
