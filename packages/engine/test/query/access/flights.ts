/** A small month of flights with the classes and indexes of the demo, for tests of what each kind of question touches. */
import { afterAll, beforeAll, it } from 'vitest'
import {
  kindNames,
  type OpenQueryDatabase,
  openQueryDatabase,
  type QueryDatabase,
  storeKinds,
} from '../query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
    CREATE CLASS Airport {
      airportId: Integer, iata: String, city: String, country: String,
      departures: List{Element: Reference{Referenced: Flight, Inverse: origin}},
      arrivals: List{Element: Reference{Referenced: Flight, Inverse: destination}}
    }
    CREATE CLASS Flight {
      rowId: Integer, date: Date, carrier: String, elapsedMinutes: Integer, distance: Integer,
      origin: Reference{Referenced: Airport, Inverse: departures},
      destination: Reference{Referenced: Airport, Inverse: arrivals}
    }
  }`,
  'CREATE UNIQUE INDEX airportById ON Airport (airportId)',
  'CREATE INDEX airportByIata ON Airport (iata)',
  'CREATE UNIQUE INDEX flightByRow ON Flight (rowId)',
  'CREATE INDEX flightByDateAndCarrier ON Flight (date, carrier)',
  'CREATE INDEX flightByDistance ON Flight (distance)',
]

/** Those of which flights leave; the others have none. */
const cities: readonly (readonly [iata: string, city: string, country: string])[] = [
  ['LAX', 'Los Angeles', 'United States'],
  ['LAS', 'Las Vegas', 'United States'],
  ['SEA', 'Seattle', 'United States'],
  ['ANC', 'Anchorage', 'United States'],
  ['JFK', 'New York', 'United States'],
  ['HNL', 'Honolulu', 'United States'],
  ['GUM', 'Agana', 'Guam'],
]
export const airports = 400
export const days = 31

export interface FlightValues {
  readonly rowId: number
  readonly date: string
  readonly carrier: string
  readonly elapsedMinutes: number
  readonly distance: number
  readonly from: string
  readonly to: string
}

function flight(i: number): FlightValues {
  const carriers = ['AA', 'DL', 'UA', 'WN']
  return {
    rowId: i + 1,
    date: `2012-01-${String((i % days) + 1).padStart(2, '0')}`,
    carrier: i % 40 === 7 ? 'HA' : (carriers[i % carriers.length] as string),
    elapsedMinutes: 20 + ((i * 13) % 300),
    distance: 31 + ((i * 37) % 1_990),
    from: i % 400 === 0 ? 'GUM' : i % 50 === 1 ? 'HNL' : (cities[i % 5]?.[0] as string),
    to: cities[(i * 3 + 1) % 5]?.[0] as string,
  }
}

export const flights: readonly FlightValues[] = Array.from({ length: 4_000 }, (_, i) => flight(i))

async function fill({ fd }: QueryDatabase): Promise<void> {
  const named = Array.from({ length: airports }, (_, i) => {
    const [iata, city, country] = cities[i] ?? [`X${i}`, `city ${i}`, 'Elsewhere']
    return { airportId: i + 1, iata, city, country }
  })
  const oids = await fd.createObjects(named.map((attributes) => ({ class: 'Airport', attributes })))
  const oidOf = new Map(named.map(({ iata }, i) => [iata, oids[i] as string]))
  const requests = flights.map(({ from, to, ...values }) => {
    return { class: 'Flight', attributes: { ...values, origin: oidOf.get(from), destination: oidOf.get(to) } }
  })
  await fd.createObjects(requests)
}

/** Tests that only read: all of them do so in the same data. */
export function flightsTests(): (name: string, test: (db: QueryDatabase) => Promise<void>) => void {
  const opened: OpenQueryDatabase[] = []
  beforeAll(async () => {
    for (const wrap of storeKinds) {
      const database = await openQueryDatabase(setUp, {}, wrap)
      opened.push(database)
      await fill(database.db)
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
