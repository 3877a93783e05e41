/** The data of `ashlar demo`: airports, flights of 2001 and routes of 2008 in the US, as a part of the program. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'

const folder = fileURLToPath(new URL('../node_modules/vega-datasets/data', import.meta.url))

/** What NOTICES.txt says of it. */
export const demoNotice = `The data of \`ashlar demo\` (demo/*.csv): airports of Data.gov (https://catalog.data.gov/dataset/airports-5e97a), flights and routes of the
US Bureau of Transportation Statistics (https://www.transtats.bts.gov). Works of the US government, in the public domain; by way of the
package vega-datasets, BSD-3-Clause.
`

/** Files of CSV by name: their columns are the attributes of the classes in packages/server/src/cli/client/load-demo.ts. */
export function demoFiles() {
  /** @type {{ date: string, delay: number, distance: number, origin: string, destination: string }[]} */
  const all = JSON.parse(readFileSync(join(folder, 'flights-2k.json'), 'utf8'))
  const known = new Map(csv('airports.csv').map((row) => [row.iata ?? '', row]))
  const isKnown = (/** @type {{ origin?: string, destination?: string }} */ { origin = '', destination = '' }) =>
    known.has(origin) && known.has(destination)
  const flights = all.filter(isKnown)
  const routes = csv('flights-airport.csv').filter(isKnown)
  const used = new Set([...flights, ...routes].flatMap(({ origin = '', destination = '' }) => [origin, destination]))
  const airports = [...used].sort().map((iata) => {
    const { name, city, state, latitude, longitude } = known.get(iata) ?? {}
    return [iata, name, city, state, latitude, longitude]
  })
  return {
    'airports.csv': csvOf(['iata', 'name', 'city', 'state', 'latitude', 'longitude'], airports),
    'flights.csv': csvOf(
      ['date', 'departure', 'delayMinutes', 'miles', 'origin', 'destination'],
      flights.map(({ date, delay, distance, origin, destination }) => {
        const [day = '', time] = date.split(' ')
        return [day.replaceAll('/', '-'), time, delay, distance, origin, destination]
      }),
    ),
    'routes.csv': csvOf(
      ['flightsInYear', 'origin', 'destination'],
      routes.map(({ origin, destination, count }) => [count, origin, destination]),
    ),
  }
}

/**
 * @param {readonly string[]} columns
 * @param {readonly (readonly (string | number | undefined)[])[]} rows
 */
function csvOf(columns, rows) {
  const cell = (/** @type {string | number | undefined} */ value) => {
    const text = String(value ?? '')
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return [columns, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('')
}

/**
 * @param {string} file
 * @returns {Record<string, string | undefined>[]}
 */
function csv(file) {
  return parse(readFileSync(join(folder, file)), { columns: true })
}
