/**
 * What one writes by hand with Fastify and SQLite: prepared statements, WAL, and every commit on the disk before it is answered
 * (`synchronous = FULL`). The first argument is the directory. A request is a transaction: the driver is synchronous.
 */
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fastify } from 'fastify'
import { makerCount, modelCount, rangeRows, type Vehicle } from '../vehicles.ts'
import { tellAddress } from './listening.ts'
import { openSqlite } from './sqlite-driver.ts'
import {
  createManySchema,
  createSchema,
  listSchema,
  readSchema,
  updateSchema,
  withMakersSchema,
} from './vehicle-schemas.ts'

/** As SQLite has it: booleans are numbers. */
type Row = Omit<Vehicle, 'available'> & { readonly available: number; readonly id: number }

const db = await openSqlite(join(process.argv[2] as string, 'vehicles.db'))
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA mmap_size = 1073741824;
  CREATE TABLE IF NOT EXISTS maker (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS model (id INTEGER PRIMARY KEY, name TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES maker) STRICT;
  CREATE TABLE IF NOT EXISTS vehicle (
    id INTEGER PRIMARY KEY, license TEXT NOT NULL UNIQUE, make TEXT NOT NULL, year INTEGER NOT NULL,
    available INTEGER NOT NULL, mileage INTEGER NOT NULL, model INTEGER NOT NULL REFERENCES model
  ) STRICT;
  CREATE INDEX IF NOT EXISTS vehicle_year ON vehicle (year);
  BEGIN;
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${makerCount - 1})
    INSERT OR IGNORE INTO maker SELECT i, 'maker ' || i FROM n;
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${modelCount - 1})
    INSERT OR IGNORE INTO model SELECT i, 'model ' || i, i % ${makerCount} FROM n;
  COMMIT;
`)
const columns = 'id, license, make, year, available, mileage, model'
const byId = db.prepare(`SELECT ${columns} FROM vehicle WHERE id = ?`)
const byLicense = db.prepare(`SELECT ${columns} FROM vehicle WHERE license = ?`)
const byYear = db.prepare(`SELECT ${columns} FROM vehicle WHERE year = ? LIMIT ${rangeRows}`)
const everything = db.prepare(`SELECT ${columns} FROM vehicle`)
const makers = db.prepare(`
  SELECT v.license, m.name AS model, k.name AS maker FROM vehicle v
    JOIN model m ON m.id = v.model JOIN maker k ON k.id = m.maker WHERE v.year = ? LIMIT ${rangeRows}`)
const inserting = db.prepare(
  'INSERT INTO vehicle (license, make, year, available, mileage, model) VALUES (?, ?, ?, ?, ?, ?)',
)
const deleting = db.prepare('DELETE FROM vehicle WHERE id = ?')
const updates = new Map<string, ReturnType<typeof db.prepare>>()

function insert({ license, make, year, available, mileage, model }: Vehicle): number {
  return Number(inserting.run(license, make, year, available ? 1 : 0, mileage, model).lastInsertRowid)
}

/** The statement that sets these columns, whose names the schema of the route has checked. */
function updating(names: readonly string[]): ReturnType<typeof db.prepare> {
  const key = names.join()
  const known = updates.get(key)
  if (known !== undefined) return known
  const made = db.prepare(`UPDATE vehicle SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`)
  updates.set(key, made)
  return made
}

function* lines(): Iterable<string> {
  let text = ''
  for (const row of everything.iterate() as Iterable<Row>) {
    text += `${JSON.stringify({ ...row, available: row.available === 1 })}\n`
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield text
}

const app = fastify({ bodyLimit: 16 * 1024 * 1024 })
app.get<{ Params: { id: string } }>('/vehicle/:id', { schema: readSchema }, (request, reply) => {
  const found = byId.get(Number(request.params.id))
  return reply.code(found === undefined ? 404 : 200).send(found)
})
app.get<{ Params: { license: string } }>('/license/:license', { schema: listSchema }, (request, reply) => {
  return reply.send(byLicense.all(request.params.license))
})
app.get<{ Params: { year: string } }>('/year/:year', { schema: listSchema }, (request, reply) => {
  return reply.send(byYear.all(Number(request.params.year)))
})
app.get<{ Params: { year: string } }>('/makers/:year', { schema: withMakersSchema }, (request, reply) => {
  return reply.send(makers.all(Number(request.params.year)))
})
app.get('/vehicles', (_request, reply) =>
  reply.type('application/x-ndjson').send(Readable.from(lines(), { objectMode: false })),
)
app.post<{ Body: Vehicle }>('/vehicle', { schema: createSchema }, (request, reply) => {
  return reply.code(201).send({ id: insert(request.body) })
})
app.post<{ Body: Vehicle[] }>('/vehicles', { schema: createManySchema }, (request, reply) => {
  db.exec('BEGIN IMMEDIATE')
  try {
    const ids = request.body.map(insert)
    db.exec('COMMIT')
    return reply.code(201).send(ids)
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
})
app.put<{ Params: { id: string }; Body: Partial<Vehicle> }>(
  '/vehicle/:id',
  { schema: updateSchema },
  (request, reply) => {
    const values = Object.values(request.body).map((value) => (typeof value === 'boolean' ? Number(value) : value))
    const { changes } = updating(Object.keys(request.body)).run(...values, Number(request.params.id))
    return reply.code(changes ? 204 : 404).send()
  },
)
app.delete<{ Params: { id: string } }>('/vehicle/:id', (request, reply) => {
  return reply.code(deleting.run(Number(request.params.id)).changes ? 204 : 404).send()
})
await app.listen({ host: '127.0.0.1', port: 0 })
tellAddress(app.server, () => db.close())
