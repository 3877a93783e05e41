/**
 * What one writes by hand with Fastify and PostgreSQL: a pool of connections and prepared statements, a statement a request, bulk by
 * arrays. The first argument is the address. Commits are on the disk before they are answered, which is PostgreSQL's default.
 */
import { Readable } from 'node:stream'
import { fastify } from 'fastify'
import pg from 'pg'
import { makerCount, modelCount, rangeRows, type Vehicle } from '../vehicles.ts'
import { tellAddress } from './listening.ts'
import {
  createManySchema,
  createSchema,
  listSchema,
  readSchema,
  updateSchema,
  withMakersSchema,
} from './vehicle-schemas.ts'

const connections = 20

const pool = new pg.Pool({ connectionString: process.argv[2], max: connections })
await pool.query(`
  CREATE TABLE IF NOT EXISTS maker (id int PRIMARY KEY, name text NOT NULL);
  CREATE TABLE IF NOT EXISTS model (id int PRIMARY KEY, name text NOT NULL, maker int NOT NULL REFERENCES maker);
  CREATE TABLE IF NOT EXISTS vehicle (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, license text NOT NULL UNIQUE, make text NOT NULL, year int NOT NULL,
    available boolean NOT NULL, mileage int NOT NULL, model int NOT NULL REFERENCES model
  );
  CREATE INDEX IF NOT EXISTS vehicle_year ON vehicle (year);
  INSERT INTO maker SELECT i, 'maker ' || i FROM generate_series(0, ${makerCount - 1}) i ON CONFLICT DO NOTHING;
  INSERT INTO model SELECT i, 'model ' || i, i % ${makerCount} FROM generate_series(0, ${modelCount - 1}) i ON CONFLICT DO NOTHING;
`)

const columns = 'id, license, make, year, available, mileage, model'
const texts = {
  byId: `SELECT ${columns} FROM vehicle WHERE id = $1`,
  byLicense: `SELECT ${columns} FROM vehicle WHERE license = $1`,
  byYear: `SELECT ${columns} FROM vehicle WHERE year = $1 LIMIT ${rangeRows}`,
  makers: `SELECT v.license, m.name AS model, k.name AS maker FROM vehicle v
    JOIN model m ON m.id = v.model JOIN maker k ON k.id = m.maker WHERE v.year = $1 LIMIT ${rangeRows}`,
  insert: `INSERT INTO vehicle (license, make, year, available, mileage, model) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
  insertMany: `INSERT INTO vehicle (license, make, year, available, mileage, model)
    SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::boolean[], $5::int[], $6::int[]) RETURNING id`,
  remove: 'DELETE FROM vehicle WHERE id = $1',
}

function ask(name: keyof typeof texts, ...values: unknown[]): Promise<pg.QueryResult> {
  return pool.query({ name, text: texts[name], values })
}

const app = fastify({ bodyLimit: 16 * 1024 * 1024 })
app.get<{ Params: { id: string } }>('/vehicle/:id', { schema: readSchema }, async (request, reply) => {
  const { rows } = await ask('byId', request.params.id)
  return reply.code(rows.length === 0 ? 404 : 200).send(rows[0])
})
app.get<{ Params: { license: string } }>('/license/:license', { schema: listSchema }, async (request) => {
  return (await ask('byLicense', request.params.license)).rows
})
app.get<{ Params: { year: string } }>('/year/:year', { schema: listSchema }, async (request) => {
  return (await ask('byYear', request.params.year)).rows
})
app.get<{ Params: { year: string } }>('/makers/:year', { schema: withMakersSchema }, async (request) => {
  return (await ask('makers', request.params.year)).rows
})
app.post<{ Body: Vehicle }>('/vehicle', { schema: createSchema }, async ({ body }, reply) => {
  const { license, make, year, available, mileage, model } = body
  const { rows } = await ask('insert', license, make, year, available, mileage, model)
  return reply.code(201).send(rows[0])
})
app.post<{ Body: Vehicle[] }>('/vehicles', { schema: createManySchema }, async ({ body }, reply) => {
  const column = (name: keyof Vehicle): unknown[] => body.map((one) => one[name])
  const names = ['license', 'make', 'year', 'available', 'mileage', 'model'] as const
  const { rows } = await ask('insertMany', ...names.map(column))
  return reply.code(201).send(rows.map(({ id }) => id))
})
app.put<{ Params: { id: string }; Body: Partial<Vehicle> }>(
  '/vehicle/:id',
  { schema: updateSchema },
  async (request, reply) => {
    const names = Object.keys(request.body)
    const set = names.map((name, nth) => `${name} = $${nth + 2}`).join(', ')
    const text = `UPDATE vehicle SET ${set} WHERE id = $1`
    const values = [request.params.id, ...Object.values(request.body)]
    const { rowCount } = await pool.query({ name: `update ${names.join()}`, text, values })
    return reply.code(rowCount ? 204 : 404).send()
  },
)
app.delete<{ Params: { id: string } }>('/vehicle/:id', async (request, reply) => {
  return reply.code((await ask('remove', request.params.id)).rowCount ? 204 : 404).send()
})
// Every row, in pages by key, so that neither side holds all of them.
app.get('/vehicles', async (_request, reply) =>
  reply.type('application/x-ndjson').send(Readable.from(pages(), { objectMode: false })),
)
async function* pages(): AsyncIterable<string> {
  const text = `SELECT ${columns} FROM vehicle WHERE id > $1 ORDER BY id LIMIT 1000`
  for (let last = 0; ; ) {
    const { rows } = await pool.query({ name: 'page', text, values: [last] })
    if (rows.length === 0) return
    last = rows.at(-1).id
    yield rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  }
}
await app.listen({ host: '127.0.0.1', port: 0 })
tellAddress(app.server, () => pool.end())
