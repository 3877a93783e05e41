/**
 * Measures the engine on PostgreSQL against SQL written by hand for the same work, side by side in one run: same server, same
 * number of connections, same concurrency, JSON text as the result of each read. Run: node --import tsx bench/postgres.ts
 */
import pg from 'pg'
import { openStore } from '../packages/engine/src/storage/open-store.ts'
import { startPostgres } from '../tools/temporary-postgres.ts'
import {
  anyOf,
  bulkObjects,
  type Contender,
  engineContender,
  filled,
  inFlight,
  license,
  measureMs,
  rate,
  yearOf,
} from './engine-contender.ts'

const connections = 20
const rounds = 3
const rangeRows = 100

async function sqlContender(address: string): Promise<Contender & { close(): Promise<void> }> {
  const pool = new pg.Pool({ connectionString: address, max: connections })
  pool.on('error', () => undefined)
  await pool.query(`
    CREATE TABLE vehicle (id bigserial PRIMARY KEY, license text UNIQUE NOT NULL, year int, mileage int);
    CREATE INDEX ON vehicle (year);
  `)
  const known: { id: string; license: string }[] = []
  const insertMany = `INSERT INTO vehicle (license, year, mileage)
    SELECT * FROM unnest($1::text[], $2::int[], $3::int[]) RETURNING id, license`
  const many = (nth: number, year: (i: number) => number): Promise<pg.QueryResult> => {
    const numbers = Array.from({ length: bulkObjects }, (_, i) => nth + i)
    return pool.query({ name: 'bulk', text: insertMany, values: [numbers.map(license), numbers.map(year), numbers] })
  }
  for (let nth = 0; nth < filled; nth += bulkObjects) known.push(...(await many(nth, (i) => yearOf(i, rangeRows))).rows)
  const query = (name: string, text: string, ...values: unknown[]) =>
    pool.query({ name, text, values, rowMode: 'array' })
  const insert = 'INSERT INTO vehicle (license, year, mileage) VALUES ($1, $2, $3) RETURNING id'
  return {
    create: async (nth) => (await query('create', insert, license(), -1, nth)).rowCount ?? 0,
    read: async () =>
      (await query('read', 'SELECT row_to_json(v) FROM vehicle v WHERE id = $1', anyOf(known).id)).rowCount ?? 0,
    update: async (nth) =>
      (await query('update', 'UPDATE vehicle SET mileage = $2 WHERE id = $1', anyOf(known).id, nth)).rowCount ?? 0,
    equality: async () =>
      (await query('equality', 'SELECT row_to_json(v) FROM vehicle v WHERE license = $1', anyOf(known).license))
        .rowCount ?? 0,
    range: async (nth) =>
      (await query('range', 'SELECT row_to_json(v) FROM vehicle v WHERE year = $1', yearOf(nth % filled, rangeRows)))
        .rowCount === rangeRows
        ? 1
        : 0,
    bulk: async (nth) => (await many(nth * bulkObjects, () => -1)).rowCount ?? 0,
    close: () => pool.end(),
  }
}

const server = await startPostgres({ isDurable: true })
const engine = await engineContender(await openStore(`${server.address}?connections=${connections}`), rangeRows)
const sql = await sqlContender(server.address)
const figures: Record<string, { engine: number; sql: number; ratio: string }> = {}
for (const name of ['create', 'read', 'update', 'equality', 'range', 'bulk'] as const) {
  const pairs: { engine: number; sql: number }[] = []
  for (let round = 0; round < rounds; round++)
    pairs.push({ engine: await rate(engine[name]), sql: await rate(sql[name]) })
  const middle = pairs.sort((one, other) => one.engine / one.sql - other.engine / other.sql)[Math.floor(rounds / 2)]
  if (middle === undefined) continue
  const ratio = (middle.engine / middle.sql).toFixed(2)
  figures[name] = { engine: Math.round(middle.engine), sql: Math.round(middle.sql), ratio }
}
process.stdout.write(
  `${inFlight} in flight, ${connections} connections, ${measureMs / 1_000} s each, the middle of ${rounds} pairs\n`,
)
console.table(figures)
await engine.fd.close()
await sql.close()
await server.stop()
