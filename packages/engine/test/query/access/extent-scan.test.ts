/** The objects of a class one after the other, and how many there are. */
import { expect } from 'vitest'
import { airlineTests } from './airline.ts'

const flights = 40
const plannerTest = airlineTests(flights)

plannerTest('COUNT() of all reads no record', async (db) => {
  const plan = await db.analyze('FROM Flight RETURN COUNT()')
  expect(await db.rows('FROM Flight RETURN COUNT() AS n')).toEqual([{ n: flights + 3 }])
  expect(plan.objectsRead).toBe(0)
})
