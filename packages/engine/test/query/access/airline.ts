/** Flights, airports and carriers with indexes, for tests of which access path a predicate takes: told by rows and entries, never by time. */
import { afterAll, beforeAll, it } from 'vitest'
import {
  kindNames,
  type OpenQueryDatabase,
  openQueryDatabase,
  type QueryDatabase,
  queryTest,
  storeKinds,
} from '../query-database.ts'

/** Where a test changes them, and has its own. */
export const ownFlights = 200
/** Longer than the part of a text that an index entry holds: those with equal `i % 40` are alike up to there. */
export const remarkOf = (i: number): string => `remark ${pad(i % 40)}, which is long enough ${pad(i % 400)}`
const pad = (i: number): string => String(i).padStart(3, '0')

const schema = `UPDATE SCHEMA {
  CREATE CLASS Air.Route EMBEDDABLE { gate: Integer, zone: String }
  CREATE CLASS Air.Airport { code: String, name: String, departures: List{Element: Reference{Referenced: Air.Flight, Inverse: origin}} }
  CREATE CLASS Air.Carrier { code: String }
  CREATE CLASS Air.Flight {
    number: Integer, seats: Integer, day: Date, carrierCode: String, remark: String, plain: Integer, isLate: Boolean,
    route: Object{Class: Air.Route}, origin: Reference{Referenced: Air.Airport, Inverse: departures},
    destination: Reference{Referenced: Air.Airport}, carrier: Reference{Referenced: Air.Carrier}
  }
  CREATE CLASS Air.Charter SUPERCLASS Air.Flight { customer: String }
}`

const indexes = [
  'CREATE UNIQUE INDEX flightNumber ON Air.Flight (number)',
  'CREATE INDEX flightCarrierSeats ON Air.Flight (carrierCode, seats)',
  'CREATE INDEX flightDay ON Air.Flight (day)',
  'CREATE INDEX flightRemark ON Air.Flight (remark)',
  'CREATE INDEX flightGate ON Air.Flight (route.gate)',
  'CREATE INDEX flightDestination ON Air.Flight (destination)',
  'CREATE UNIQUE INDEX airportCode ON Air.Airport (code)',
]

const flightsOfGate = 8

async function fill({ fd }: QueryDatabase, count: number): Promise<void> {
  const codes = Array.from({ length: 50 }, (_, i) => `a${i}`)
  const airports = await fd.createObjects(
    codes.map((code) => ({ class: 'Air.Airport', attributes: { code, name: code } })),
  )
  const flights = Array.from({ length: count }, (_, i) => ({
    number: i,
    seats: i % 100,
    plain: i % 100,
    day: `2024-${String((i % 12) + 1).padStart(2, '0')}-01`,
    carrierCode: `c${i % 20}`,
    remark: remarkOf(i),
    isLate: i % 2 === 0,
    route: { gate: i % (count / flightsOfGate) },
    origin: airports[i % 50],
    destination: airports[(i * 7) % 40],
  }))
  await fd.createObjects(flights.map((attributes) => ({ class: 'Air.Flight', attributes })))
  const charters = [5001, 5002, 5003].map((number) => ({ number, seats: 7, day: '2030-01-01', carrierCode: 'c3' }))
  await fd.createObjects(charters.map((attributes) => ({ class: 'Air.Charter', attributes })))
}

type Test = (db: QueryDatabase) => Promise<void>

/** For a file of tests that only read: all of them do so in the same data, of so many flights and three charters. */
export function airlineTests(flights: number): (name: string, test: Test) => void {
  const opened: OpenQueryDatabase[] = []
  beforeAll(async () => {
    for (const wrap of storeKinds) {
      const database = await openQueryDatabase([schema, ...indexes], {}, wrap)
      opened.push(database)
      await fill(database.db, flights)
    }
  })
  afterAll(async () => {
    for (const database of opened) await database.close()
  })
  return (name, test) => {
    for (const [kind, suffix] of kindNames.entries()) {
      it(`${name}${suffix}`, async () => test((opened[kind] as OpenQueryDatabase).db))
    }
  }
}

/** A test that changes the data, and has its own. */
export function changingTest(name: string, test: Test): void {
  queryTest(name, [schema, ...indexes], async (db) => {
    await fill(db, ownFlights)
    await test(db)
  })
}
