/** The OpenFlights tables and the on-time records: airlines.csv, airports.csv, routes.csv, flights*.csv[.gz]. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FlightsDirectory } from './flights-objects.ts'
import { type CsvRow, readCsv } from './read-csv.ts'
import { nullable, numberOrNull, RowError, type SourceRow, timeOfDay } from './row.ts'

/** A part of the data, loaded one after the other since later rows refer to earlier objects. */
export interface SourcePart {
  readonly name: string
  rows(directory: FlightsDirectory): AsyncIterable<SourceRow | RowFault>
}

export interface RowFault {
  readonly place: string
  readonly fault: string
}

/** The parts for which the folder has files. Throws where it has none. */
export function openFlightsParts(folder: string): SourcePart[] {
  const flights = readdirSync(folder).filter((name) => /^flights.*\.csv(\.gz)?$/.test(name))
  const files = [
    { file: 'airlines.csv', columns: 8, make: airline },
    { file: 'airports.csv', columns: 12, make: airport },
    { file: 'routes.csv', columns: 9, make: route },
    ...flights.map((file) => ({ file, columns: 19, make: flight })),
  ].filter(({ file }) => existsSync(join(folder, file)))
  if (files.length === 0)
    throw new Error(`There is no airlines.csv, airports.csv, routes.csv or flights*.csv in ${folder}.`)
  return files.map(({ file, columns, make }) => ({
    name: file,
    rows: (directory) => readRows(join(folder, file), columns, (fields) => make(fields, directory)),
  }))
}

type MakeRequest = (fields: readonly string[]) => SourceRow['request']

async function* readRows(file: string, columns: number, make: MakeRequest): AsyncGenerator<SourceRow | RowFault> {
  for await (const row of readCsv(file)) yield readRow(row, columns, make)
}

function readRow({ place, fields }: CsvRow, columns: number, make: MakeRequest): SourceRow | RowFault {
  if (fields.length !== columns) return { place, fault: `has ${fields.length} columns, not ${columns}` }
  try {
    return { place, request: make(fields) }
  } catch (error) {
    if (error instanceof RowError) return { place, fault: error.message }
    throw error
  }
}

function airline(fields: readonly string[]): SourceRow['request'] {
  const [id, name, alias, iata, icao, callsign, country, active] = fields
  return {
    class: 'Airline',
    attributes: {
      airlineId: numberOrNull(id, 'airline id'),
      name,
      alias: nullable(alias),
      iata: nullable(iata),
      icao: nullable(icao),
      callsign: nullable(callsign),
      country: nullable(country),
      isActive: active === 'Y',
    },
  }
}

function airport(fields: readonly string[]): SourceRow['request'] {
  const [id, name, city, country, iata, icao, latitude, longitude, altitude, offset, saving, zone] = fields
  return {
    class: 'Airport',
    attributes: {
      airportId: numberOrNull(id, 'airport id'),
      name,
      city: nullable(city),
      country: nullable(country),
      iata: nullable(iata),
      icao: nullable(icao),
      position: {
        latitude: numberOrNull(latitude, 'latitude'),
        longitude: numberOrNull(longitude, 'longitude'),
        altitudeFeet: numberOrNull(altitude, 'altitude'),
      },
      utcOffsetHours: numberOrNull(offset, 'UTC offset'),
      daylightSaving: nullable(saving),
      timeZone: nullable(zone),
    },
  }
}

/** A route may name airports that the tables do not have; it is kept without them. */
function route(fields: readonly string[], directory: FlightsDirectory): SourceRow['request'] {
  const [code, airlineId, source, sourceId, destination, destinationId, codeshare, stops, equipment] = fields
  const ids = {
    airline: numberOrNull(airlineId, 'airline id'),
    source: numberOrNull(sourceId, 'source airport id'),
    destination: numberOrNull(destinationId, 'destination airport id'),
  }
  return {
    class: 'Route',
    attributes: {
      airlineCode: nullable(code),
      airline: directory.airline(ids.airline, nullable(code)),
      source: directory.airport(ids.source, nullable(source)),
      destination: directory.airport(ids.destination, nullable(destination)),
      isCodeshare: codeshare === 'Y',
      stops: numberOrNull(stops, 'stops'),
      equipment: nullable(equipment),
    },
  }
}

function flight(fields: readonly string[], directory: FlightsDirectory): SourceRow['request'] {
  // `city, ST` stands unquoted in the files: city and state are two columns.
  const [rowId, , , date, , carrier, number, , origin, , , destination] = fields
  const [departure, arrival, elapsed, air, distance] = fields.slice(14)
  return {
    class: 'Flight',
    attributes: {
      rowId: numberOrNull(rowId, 'row id'),
      date: nullable(date)?.replaceAll('/', '-') ?? null,
      carrier: nullable(carrier),
      flightNumber: numberOrNull(number, 'flight number'),
      airline: directory.airline(null, nullable(carrier)),
      origin: known(directory, nullable(origin), 'origin'),
      destination: known(directory, nullable(destination), 'destination'),
      departure: timeOfDay(departure, 'departure'),
      arrival: timeOfDay(arrival, 'arrival'),
      elapsedMinutes: numberOrNull(elapsed, 'elapsed minutes'),
      airMinutes: numberOrNull(air, 'air minutes'),
      distance: numberOrNull(distance, 'distance'),
    },
  }
}

/** A flight that leaves or ends nowhere is no flight. */
function known(directory: FlightsDirectory, iata: string | null, name: string): string {
  const oid = directory.airport(null, iata)
  if (oid === null) throw new RowError(`there is no airport '${iata}' (${name})`)
  return oid
}
