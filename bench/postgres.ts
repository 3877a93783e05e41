/**
 * Measures the engine on PostgreSQL against SQL written by hand for the same work, side by side in one run: same server, same
 * number of connections, same concurrency, JSON text as the result of each read. Run: node --import tsx bench/postgres.ts
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { FederatedDatabase } from '../packages/engine/src/federated-database.ts'
import { openStore } from '../packages/engine/src/store/open-store.ts'
import { startPostgres } from '../tools/temporary-postgres.ts'

const inFlight = 32
const connections = 20
const measureMs = Number(process.env.BENCH_SECONDS ?? 3) * 1_000
const rounds = 3
const filled = 20_000
const bulkObjects = 500
const rangeRows = 100

/** Does the work once; returns how many operations that was. */
type Work = (nth: number) => Promise<number>

interface Contender {
  readonly create: Work
  readonly read: Work
  readonly update: Work
  readonly equality: Work
  readonly range: Work
  readonly bulk: Work
}

const license = (): string => randomBytes(6).toString('hex')
const anyOf = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T
const yearOf = (nth: number): number => Math.floor(nth / rangeRows)

async function engineContender(address: string): Promise<Contender & { close(): Promise<void> }> {
  const fd = await FederatedDatabase.open({
    alias: 'bench',
    store: await openStore(`${address}?connections=${connections}`),
  })
  const attributes = [
    { attributeName: 'license', logicalType: 'string' },
    { attributeName: 'year', logicalType: 'integer' },
    { attributeName: 'mileage', logicalType: 'integer' },
  ]
  await fd.defineClasses([{ className: 'Vehicle', isReferenceable: true, attributes }], 'create')
  for (const [attributeName, isUnique] of [
    ['license', true],
    ['year', false],
  ] as const) {
    const index = { name: attributeName, indexedClass: 'Vehicle', isUnique, keyAttributes: [{ attributeName }] }
    await fd.createIndex(index)
  }
  const known: { oid: string; license: string }[] = []
  const vehicle = (nth: number) => ({ license: license(), year: yearOf(nth), mileage: nth })
  for (let nth = 0; nth < filled; nth += bulkObjects) {
    const requests = Array.from({ length: bulkObjects }, (_, i) => ({ class: 'Vehicle', attributes: vehicle(nth + i) }))
    const oids = await fd.createObjects(requests)
    for (const [i, oid] of oids.entries()) known.push({ oid, license: requests[i]?.attributes.license ?? '' })
  }
  const rows = async (text: string, parameters: Record<string, unknown>): Promise<number> => {
    const { chunks } = await fd.query({ text, parameters })
    let bytes = 0
    for await (const chunk of chunks) bytes += chunk.length
    return bytes
  }
  return {
    create: async (nth) => (await fd.createObject('Vehicle', { ...vehicle(nth), year: -1 })).length && 1,
    read: async () => (await fd.readObject(anyOf(known).oid)).length && 1,
    update: async (nth) => fd.updateObject(anyOf(known).oid, { mileage: nth }).then(() => 1),
    equality: async () => (await rows('FROM Vehicle WHERE license = $l RETURN *', { l: anyOf(known).license })) && 1,
    range: async (nth) => (await rows('FROM Vehicle WHERE year = $y RETURN *', { y: yearOf(nth % filled) })) && 1,
    async bulk(nth) {
      const attributes = (i: number) => ({ ...vehicle(nth * bulkObjects + i), year: -1 })
      const requests = Array.from({ length: bulkObjects }, (_, i) => ({ class: 'Vehicle', attributes: attributes(i) }))
      return (await fd.createObjects(requests)).length
    },
    close: () => fd.close(),
  }
}

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
  for (let nth = 0; nth < filled; nth += bulkObjects) known.push(...(await many(nth, yearOf)).rows)
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
      (await query('range', 'SELECT row_to_json(v) FROM vehicle v WHERE year = $1', yearOf(nth % filled))).rowCount ===
      rangeRows
        ? 1
        : 0,
    bulk: async (nth) => (await many(nth * bulkObjects, () => -1)).rowCount ?? 0,
    close: () => pool.end(),
  }
}

async function rate(work: Work): Promise<number> {
  const start = performance.now()
  let [done, nth] = [0, 0]
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() - start < measureMs) {
        // The sum is read after the wait: others add to it meanwhile.
        const more = await work(nth++)
        done += more
      }
    }),
  )
  return (done / (performance.now() - start)) * 1_000
}

const server = await startPostgres({ isDurable: true })
const engine = await engineContender(server.address)
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
await engine.close()
await sql.close()
await server.stop()
