/** Loads what `ashlar demo` serves, through the interface as any client does. */
import { readFileSync } from 'node:fs'
import { AshlarClient, type Attributes } from '@ashlar/client'
import { httpFetch } from '../http-fetch.ts'
import { Progress } from '../progress.ts'
import { numberText } from './texts.ts'

/** As `tools/demo-data.mjs` writes it. */
interface DemoData {
  /** IATA code, name, city, state, latitude, longitude. */
  readonly airports: readonly (readonly [string, string, string, string, number, number])[]
  /** Date, departure, minutes late, miles, origin, destination. */
  readonly flights: readonly (readonly [string, string, number, number, string, string])[]
  /** Origin, destination, flights in the year. */
  readonly routes: readonly (readonly [string, string, number])[]
}

const schema = `UPDATE SCHEMA {
  CREATE CLASS Airport { iata: String, name: String, city: String, state: String, latitude: Real, longitude: Real,
    departures: List{Element: Reference{Referenced: Flight, Inverse: origin}},
    arrivals: List{Element: Reference{Referenced: Flight, Inverse: destination}},
    routesOut: List{Element: Reference{Referenced: Route, Inverse: origin}},
    routesIn: List{Element: Reference{Referenced: Route, Inverse: destination}} }
  CREATE CLASS Flight { date: Date, departure: Time, delayMinutes: Integer, miles: Integer,
    origin: Reference{Referenced: Airport, Inverse: departures}, destination: Reference{Referenced: Airport, Inverse: arrivals} }
  CREATE CLASS Route { flightsInYear: Integer,
    origin: Reference{Referenced: Airport, Inverse: routesOut}, destination: Reference{Referenced: Airport, Inverse: routesIn} }
};
CREATE UNIQUE INDEX airportByIata ON Airport (iata);
CREATE INDEX flightByDelay ON Flight (delayMinutes)`

const objectsInCommit = 500

const examples = (alias: string, url: string): string => `Try:
  ashlar query --url ${url} --fd ${alias} 'FROM Airport WHERE state = "HI" RETURN iata, name'
  ashlar query --url ${url} --fd ${alias} 'FROM Flight WHERE delayMinutes > 120 RETURN date, origin.iata AS origin, destination.city AS city, delayMinutes'
  ashlar schema diagram --url ${url} --fd ${alias}
`

/**
 * What is there already is not loaded again: rows come in the same order each time, and a commit holds the next ones as a whole or not at all. Data of others
 * is left alone.
 */
export async function loadDemo(url: string, alias: string, signal: AbortSignal): Promise<void> {
  const client = new AshlarClient({ baseUrl: url, fdAlias: alias, fetch: httpFetch({ ca: undefined, signal }) })
  const classes = (await client.listClasses()).map(({ className }) => className)
  if (classes.length === 0) await client.query(schema)
  else if (!['Airport', 'Flight', 'Route'].every((name) => classes.includes(name))) {
    process.stderr.write(`The federated database ${alias} holds other data: nothing is loaded.\n`)
    return
  }
  const data = JSON.parse(readFileSync(new URL('./demo.json', import.meta.url), 'utf8')) as DemoData
  const total = data.airports.length + data.flights.length + data.routes.length
  const progress = new Progress({ unit: 'objects', isQuiet: false })
  let done = 0
  const load = async (className: string, rows: readonly Attributes[]): Promise<void> => {
    const counted = await client.query<{ readonly count: number }>(`FROM ${className} RETURN COUNT(*) AS count`)
    const there = counted[0]?.count ?? 0
    for (let from = there; from < rows.length; from += objectsInCommit) {
      const next = rows.slice(from, from + objectsInCommit)
      await client.createObjects(next.map((attributes) => ({ class: className, attributes })))
      progress.update(done + from + next.length, total)
    }
    done += rows.length
  }
  try {
    await load(
      'Airport',
      data.airports.map(([iata, name, city, state, latitude, longitude]) => ({
        iata,
        name,
        city,
        state,
        latitude,
        longitude,
      })),
    )
    const airports = await client.query<{ readonly iata: string; readonly oid: string }>(
      'FROM Airport RETURN iata, $$ID AS oid',
    )
    const oids = new Map(airports.map(({ iata, oid }) => [iata, oid]))
    const ends = (origin: string, destination: string): Attributes => ({
      origin: oids.get(origin),
      destination: oids.get(destination),
    })
    await load(
      'Flight',
      data.flights.map(([date, departure, delayMinutes, miles, origin, destination]) => ({
        date,
        departure,
        delayMinutes,
        miles,
        ...ends(origin, destination),
      })),
    )
    await load(
      'Route',
      data.routes.map(([origin, destination, flightsInYear]) => ({ flightsInYear, ...ends(origin, destination) })),
    )
  } finally {
    progress.stop()
  }
  process.stdout.write(`${numberText(total)} objects of the federated database ${alias}.\n${examples(alias, url)}`)
}
