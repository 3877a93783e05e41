/** The loaded flights in SQLite: a table for each class, its indexes, and an index for each list of links. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import type { ChildServer } from '../child-server.ts'
import { openSqlite, type Sqlite } from '../servers/sqlite-driver.ts'

const tables: Readonly<Record<string, readonly string[]>> = {
  Airline: ['airlineId', 'name', 'iata', 'country'],
  Airport: ['airportId', 'name', 'city', 'country', 'iata', 'icao'],
  Flight: [
    ...['rowId', 'date', 'carrier', 'flightNumber', 'departure', 'arrival', 'elapsedMinutes', 'airMinutes', 'distance'],
    ...['airline', 'origin', 'destination'],
  ],
  Route: ['airlineCode', 'stops', 'equipment', 'airline', 'source', 'destination'],
}

const indexes: readonly string[] = [
  'CREATE UNIQUE INDEX flightByRow ON flight (rowId)',
  'CREATE INDEX flightByDateAndCarrier ON flight (date, carrier)',
  'CREATE INDEX flightByDistance ON flight (distance)',
  'CREATE UNIQUE INDEX airlineById ON airline (airlineId)',
  'CREATE INDEX airlineByIata ON airline (iata)',
  'CREATE UNIQUE INDEX airportById ON airport (airportId)',
  'CREATE INDEX airportByIata ON airport (iata)',
  'CREATE INDEX departures ON flight (origin)',
  'CREATE INDEX arrivals ON flight (destination)',
  'CREATE INDEX flightsOfAirline ON flight (airline)',
  'CREATE INDEX routesOut ON route (source)',
  'CREATE INDEX routesIn ON route (destination)',
  'CREATE INDEX routesOfAirline ON route (airline)',
]

/** Of the type of the keys that they are compared with: an index on others would not be used. */
const references: ReadonlySet<string> = new Set(['origin', 'source', 'destination', 'airline'])

/** Opens it, filled from the server unless it is there. */
export async function sqliteOf(server: ChildServer, file: string): Promise<Sqlite> {
  if (!existsSync(file)) {
    const unfinished = `${file}.loading`
    rmSync(unfinished, { force: true })
    await fill(server, await openSqlite(unfinished))
    renameSync(unfinished, file)
  }
  return openSqlite(file)
}

async function fill(server: ChildServer, sqlite: Sqlite): Promise<void> {
  const ids = new Map<string, number>([['0-0-0-0', 0]])
  const idOf = (oid: string): number => {
    const known = ids.get(oid)
    if (known !== undefined) return known
    ids.set(oid, ids.size)
    return ids.size - 1
  }
  for (const [name, attributes] of Object.entries(tables)) {
    const columns = [...attributes]
    const typed = columns.map((column) => (references.has(column) ? `${column} INTEGER` : column))
    sqlite.exec(`CREATE TABLE ${name} (id INTEGER PRIMARY KEY, ${typed.join(', ')})`)
    const insert = sqlite.prepare(`INSERT INTO ${name} VALUES (?${', ?'.repeat(columns.length)})`)
    sqlite.exec('BEGIN')
    for await (const row of rowsOf(server, `FROM ${name} RETURN $$ID AS id, ${columns.join(', ')}`)) {
      const values = Object.values(row).map((value, i) => {
        const isReference = typeof value === 'string' && (i === 0 || /^\d+-\d+-\d+-\d+$/.test(value))
        return isReference ? idOf(value) || null : value
      })
      // A stream that fails ends with its error as a line.
      if (values.length !== columns.length + 1) throw new Error(JSON.stringify(row))
      insert.run(...values)
    }
    sqlite.exec('COMMIT')
  }
  for (const index of indexes) sqlite.exec(index)
  sqlite.exec('ANALYZE')
  sqlite.close()
}

type Row = Readonly<Record<string, string | number | null>>

async function* rowsOf({ url }: ChildServer, body: string): AsyncGenerator<Row> {
  const headers = { accept: 'application/x-ndjson', 'content-type': 'text/plain', 'accept-encoding': 'identity' }
  const reply = await fetch(`${url}/v1/query`, { method: 'POST', headers, body })
  if (!reply.ok || reply.body === null) throw new Error(`${body}: ${await reply.text()}`)
  let rest = ''
  for await (const text of reply.body.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Row
  }
  if (rest !== '') yield JSON.parse(rest) as Row
}
