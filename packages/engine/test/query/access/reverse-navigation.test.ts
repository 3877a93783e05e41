/** Paths through references, from the end that has an index. */
import { describe, expect } from 'vitest'
import { find, touched } from '../plans.ts'
import { airlineTests, changingTest } from './airline.ts'

const flights = 400
const plannerTest = airlineTests(flights)

describe('paths through references', () => {
  plannerTest('with an indexed end go back over the inverse', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE origin.code = 'a7' RETURN number")
    const back = find(plan, 'reverseNavigation')
    expect([back.inverse, find(back, 'indexScan').index]).toEqual(['departures', 'airportCode'])
    expect([touched(plan), plan.returned]).toEqual([flights / 50, flights / 50])
  })

  plannerTest('with an indexed end go back over an index on the reference', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE destination.code = 'a7' RETURN number")
    const back = find(plan, 'reverseNavigation')
    expect([back.index, find(back, 'indexScan').index]).toEqual(['flightDestination', 'airportCode'])
    expect([touched(plan), plan.returned]).toEqual([flights / 40, flights / 40])
  })

  changingTest('go back over an index on the reference and what else is asked of its keys', async (db) => {
    await db.rows('CREATE INDEX flightDestinationSeats ON Air.Flight (destination, seats)')
    const cases: [predicate: string, conditions: unknown, entryFilter: unknown][] = [
      ["destination.code = 'a7' AND seats = 61", ['seats = 61'], undefined],
      ["destination.code = 'a7' AND seats >= 41 AND seats < 81", ['seats >= 41', 'seats < 81'], undefined],
      ["destination.code = 'a7' AND seats IN (21, 61, 62)", undefined, ['seats IN (21, 61, 62)']],
    ]
    const some = await db.rows("FROM Flight WHERE destination.code = 'a7' RETURN seats")
    expect(new Set(some.map(({ seats }) => seats))).toEqual(new Set([1, 41, 81, 21, 61]))
    for (const [predicate, conditions, entryFilter] of cases) {
      const text = `FROM Flight WHERE ${predicate} ORDER BY number RETURN number`
      const plan = await db.analyze(text)
      const back = find(plan, 'reverseNavigation')
      expect([back.index, back.conditions, back.entryFilter]).toEqual([
        'flightDestinationSeats',
        conditions,
        entryFilter,
      ])
      expect([predicate, find(plan, 'filter').examined]).toEqual([predicate, plan.returned])
    }
  })

  plannerTest('without an index at their end go back from the few objects that are there', async (db) => {
    for (const condition of [
      "origin.name = 'a7'",
      "origin.name > 'a69' AND origin.name < 'a8'",
      "origin.name IN ('a7', 'x')",
    ]) {
      const plan = await db.analyze(`FROM Flight WHERE ${condition} RETURN number`)
      const back = find(plan, 'reverseNavigation')
      expect([back.inverse, find(back, 'extentScan').examined]).toEqual(['departures', 50])
      expect([touched(plan), plan.returned]).toEqual([50, flights / 50])
    }
    const none = await db.rows('FROM Flight WHERE origin.name = $name RETURN number', { name: null })
    expect(none).toEqual([])
    const either = await db.rows("FROM Flight WHERE origin.name = 'a7' OR destination.name = 'a7' RETURN number")
    expect(either).toHaveLength(flights / 50 + flights / 40)
  })

  plannerTest('to a known object go over the inverse', async (db) => {
    const [airport] = await db.rows("FROM Airport WHERE code = 'a7' RETURN *")
    const plan = await db.analyze('FROM Flight WHERE origin = $o RETURN number', { o: airport?.__identifier__ })
    expect([find(plan, 'reverseNavigation').inverse, touched(plan), plan.returned]).toEqual([
      'departures',
      flights / 50,
      flights / 50,
    ])
  })

  plannerTest('to a known object give the first rows without counting the others', async (db) => {
    const [airport] = await db.rows("FROM Airport WHERE code = 'a7' RETURN *")
    const o = airport?.__identifier__
    const plan = await db.analyze('FROM Flight WHERE origin = $o TAKE 2 RETURN number', { o })
    expect([find(plan, 'reverseNavigation').inverse, plan.entriesCounted ?? 0, plan.returned]).toEqual([
      'departures',
      0,
      2,
    ])
    // Few of them may be of a subclass, or fulfil another condition: these are counted.
    for (const text of ['FROM Charter WHERE origin = $o', 'FROM Flight WHERE origin = $o AND plain >= 0']) {
      expect((await db.analyze(`${text} TAKE 2 RETURN number`, { o })).entriesCounted, text).toBeGreaterThan(0)
    }
  })
})
