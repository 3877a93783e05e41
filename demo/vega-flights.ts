/** What a fresh machine has: the airports and flights of the vega-datasets package. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FlightsDirectory } from './flights-objects.ts'
import type { RowFault, SourcePart } from './open-flights.ts'
import { readCsv } from './read-csv.ts'
import { numberOrNull, type SourceRow } from './row.ts'

interface VegaFlight {
  readonly date: string
  readonly delay: number
  readonly distance: number
  readonly origin: string
  readonly destination: string
}

export function vegaParts(): SourcePart[] {
  const folder = join(dirname(fileURLToPath(import.meta.resolve('vega-datasets'))), '../data')
  return [
    { name: 'airports', rows: () => airports(join(folder, 'airports.csv')) },
    { name: 'flights', rows: (directory) => flights(join(folder, 'flights-20k.json'), directory) },
    { name: 'routes', rows: (directory) => routes(join(folder, 'flights-airport.csv'), directory) },
  ]
}

async function* airports(file: string): AsyncGenerator<SourceRow> {
  let airportId = 0
  for await (const { place, fields } of readCsv(file, 2)) {
    const [iata, name, city, state, country, latitude, longitude] = fields
    const position = { latitude: numberOrNull(latitude, 'latitude'), longitude: numberOrNull(longitude, 'longitude') }
    const attributes = { airportId: ++airportId, iata, name, city: `${city}, ${state}`, country, position }
    yield { place, request: { class: 'Airport', attributes } }
  }
}

async function* flights(file: string, directory: FlightsDirectory): AsyncGenerator<SourceRow | RowFault> {
  const rows = JSON.parse(readFileSync(file, 'utf8')) as VegaFlight[]
  for (const [position, row] of rows.entries()) {
    const place = `flights, row ${position + 1}`
    const origin = directory.airport(null, row.origin)
    const destination = directory.airport(null, row.destination)
    if (origin === null || destination === null) {
      yield { place, fault: `there is no airport '${origin === null ? row.origin : row.destination}'` }
      continue
    }
    const [date, departure] = row.date.split(' ')
    const attributes = {
      rowId: position + 1,
      date: date?.replaceAll('/', '-'),
      departure,
      origin,
      destination,
      distance: row.distance,
      delayMinutes: row.delay,
    }
    yield { place, request: { class: 'Flight', attributes } }
  }
}

async function* routes(file: string, directory: FlightsDirectory): AsyncGenerator<SourceRow> {
  for await (const { place, fields } of readCsv(file, 2)) {
    const [source, destination, count] = fields
    const attributes = {
      source: directory.airport(null, source ?? null),
      destination: directory.airport(null, destination ?? null),
      flightsCounted: numberOrNull(count, 'count'),
    }
    yield { place, request: { class: 'Route', attributes } }
  }
}
