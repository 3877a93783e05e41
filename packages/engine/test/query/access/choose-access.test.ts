/** Which access path is taken where there are several, or none but the extent. */
import { describe, expect } from 'vitest'
import { find, touched } from '../plans.ts'
import { airlineTests, changingTest, ownFlights } from './airline.ts'

const flights = 1200
const plannerTest = airlineTests(flights)

describe('several predicates', () => {
  plannerTest('AND with two sides indexed reads the one with fewer entries', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrierCode = 'c7' AND route.gate = 7 RETURN *")
    expect([find(plan, 'indexScan').index, touched(plan)]).toEqual(['flightGate', 8])
    const other = await db.analyze("FROM Flight WHERE route.gate >= 0 AND carrierCode = 'c7' AND seats = 7 RETURN *")
    expect([find(other, 'indexScan').index, touched(other)]).toEqual(['flightCarrierSeats', flights / 100])
  })

  plannerTest('OR with one side that no index has reads the extent', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number = 7 OR plain = 7 RETURN *')
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, flights / 100])
  })
})

describe('ranges', () => {
  plannerTest('that most objects are in read the extent', async (db) => {
    const plan = await db.analyze('FROM Flight WHERE number > 3 RETURN number')
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, flights - 1])
  })
})

describe('ORDER BY', () => {
  plannerTest('without an index sorts, and holds only the rows taken', async (db) => {
    const plan = await db.analyze('FROM Flight ORDER BY plain TAKE 4 RETURN plain')
    expect([find(plan, 'sort').first, find(plan, 'extentScan').examined, plan.returned]).toEqual([4, flights + 3, 4])
  })
})

describe('paths through references', () => {
  plannerTest('without a way back read the extent', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE carrier.code = 'x' RETURN number")
    expect([find(plan, 'extentScan').examined, plan.returned]).toEqual([flights + 3, 0])
  })
})

describe('plans', () => {
  plannerTest('follow the data: the same text, other values', async (db) => {
    const text = 'FROM Flight WHERE number >= $from RETURN number'
    expect(find(await db.analyze(text, { from: 5000 }), 'indexScan').index).toBe('flightNumber')
    expect(find(await db.analyze(text, { from: 0 }), 'extentScan').examined).toBe(flights + 3)
  })

  changingTest('follow the schema: an index comes and goes', async (db) => {
    const text = 'FROM Flight WHERE plain = 7 RETURN number'
    expect(find(await db.analyze(text), 'extentScan').examined).toBe(ownFlights + 3)
    await db.rows('CREATE INDEX flightPlain ON Flight (plain)')
    expect(find(await db.analyze(text), 'indexScan').examined).toBe(ownFlights / 100)
    await db.rows('DROP INDEX flightPlain')
    expect(find(await db.analyze(text), 'extentScan').examined).toBe(ownFlights + 3)
  })

  plannerTest('EXPLAIN alone estimates and reads no rows', async (db) => {
    const [plan] = await db.rows("EXPLAIN FROM Flight WHERE carrierCode = 'c7' RETURN *")
    const text = JSON.stringify(plan)
    expect(text).toContain('"estimatedRows":')
    expect(text).not.toContain('"examined"')
  })
})
