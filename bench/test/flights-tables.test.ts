/** Tables of flights: which rows are loaded, which are not, and how that is told. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, it } from 'vitest'
import { openFlightsParts, type SourcePart } from '../flights/flights-tables.ts'
import { loadFlights } from '../flights/load-flights.ts'

async function load(parts: readonly SourcePart[]) {
  const fd = await FederatedDatabase.open({ alias: 'flights', store: await openStore('memory:') })
  const refused: string[] = []
  const created = await loadFlights(fd, parts, {
    row: (_part, place, why) => {
      if (why !== undefined) refused.push(`${place}: ${why}`)
    },
  })
  return { fd, created, refused }
}

const airports = [
  '1,"JFK Intl","New York","United States","JFK","KJFK",40.64,-73.78,13,-5,"A","America/New_York"',
  '2,"Cote D\\\\\'Azur","Nice","France","NCE",\\N,43.66,7.21,12,1,"E","Europe/Paris"',
  '3,"Short row","x"',
  'x,"No number","a","b","NON",\\N,0,0,0,0,"U",""',
].join('\n')
const flights = [
  '7,2012,1,2012/01/02,19805,AA,1,12478,JFK,New York, NY,NCE,Nice, FR,855,2400,347,330,4000',
  '8,2012,1,2012/01/02,19805,AA,1,12478,JFK,New York, NY,XXX,Nowhere, XX,855,1142,347,330,2475',
  '9,2012,1,2012/02/30,19805,AA,1,12478,JFK,New York, NY,NCE,Nice, FR,855,1142,347,330,2475',
  '7,2012,1,2012/01/03,19805,AA,1,12478,JFK,New York, NY,NCE,Nice, FR,855,1199,347,330,2475',
  '7,2012,1,2012/01/03,19805,AA,1,12478,JFK,New York, NY,NCE,Nice, FR,855,1142,347,330,2475',
].join('\n')

it('takes the OpenFlights files, gzipped too, and names each row that it cannot take', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-flights-'))
  writeFileSync(join(folder, 'airlines.csv'), '24,"American Airlines",\\N,"AA","AAL","AMERICAN","United States","Y"\n')
  writeFileSync(join(folder, 'airports.csv'), airports)
  writeFileSync(join(folder, 'routes.csv'), 'AA,24,JFK,1,NCE,2,,0,744\nAA,\\N,JFK,1,QQQ,\\N,Y,0,744\n')
  writeFileSync(join(folder, 'flights.csv.gz'), gzipSync(flights))
  const { fd, created, refused } = await load(openFlightsParts(folder))
  rmSync(folder, { recursive: true, force: true })
  expect(created).toBe(6)
  expect(refused).toEqual([
    'airports.csv, row 3: has 3 columns, not 12',
    "airports.csv, row 4: airport id 'x' is not a number",
    "flights.csv.gz, row 2: there is no airport 'XXX' (destination)",
    "flights.csv.gz, row 4: arrival '1199' is not a time of day (hhmm)",
    expect.stringContaining('flights.csv.gz, row 3: Class Flight, attribute date: "2012-02-30"'),
    expect.stringContaining('flights.csv.gz, row 5: Class Flight: rowId 7 is already held'),
  ])
  const nice = JSON.parse((await fd.readObject('3-4-1-2')).toString())
  expect(nice).toMatchObject({ name: "Cote D'Azur", icao: null, position: { latitude: 43.66 } })
  expect(nice.arrivals).toHaveLength(1)
  expect(JSON.parse((await fd.readObject(nice.arrivals[0])).toString())).toMatchObject({
    date: '2012-01-02',
    arrival: '00:00:00',
    airline: '3-3-1-1',
  })
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})
