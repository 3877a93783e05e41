/**
 * What lmdb-js can give at most behind `node:http`: objects as JSON bytes by number, the two indexes and the reference kept by hand, without
 * schema, validation or queries. The first argument is the directory. Writes that come together are one commit, as lmdb-js does by
 * itself; it is on the disk before any of them is answered, as with Ashlar.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Database, open as openLmdb } from 'lmdb'
import { makerCount, modelCount, rangeRows, type Vehicle } from '../vehicles.ts'
import { tellAddress } from './listening.ts'

interface Named {
  readonly name: string
  readonly maker?: number
}

const root = openLmdb({ path: process.argv[2] as string, overlappingSync: false, noSubdir: false })
const vehicles: Database<Buffer, number> = root.openDB('vehicles', { keyEncoding: 'uint32', encoding: 'binary' })
const byLicense: Database<number, string> = root.openDB('byLicense', { encoding: 'ordered-binary' })
const byYear: Database<number, number> = root.openDB('byYear', { dupSort: true, encoding: 'ordered-binary' })
const models: Database<Named, number> = root.openDB('models', { keyEncoding: 'uint32', encoding: 'json' })
const makers: Database<Named, number> = root.openDB('makers', { keyEncoding: 'uint32', encoding: 'json' })

if (models.getCount() === 0) {
  root.transactionSync(() => {
    for (let id = 0; id < makerCount; id++) makers.put(id, { name: `maker ${id}` })
    for (let id = 0; id < modelCount; id++) models.put(id, { name: `model ${id}`, maker: id % makerCount })
  })
}
let lastId = [...vehicles.getKeys({ reverse: true, limit: 1 })][0] ?? 0

/** Within a transaction: the number, or undefined where the license is taken or there is no such model. */
function insert(vehicle: Vehicle): number | undefined {
  if (byLicense.doesExist(vehicle.license) || !models.doesExist(vehicle.model)) return undefined
  const id = ++lastId
  vehicles.put(id, Buffer.from(JSON.stringify({ id, ...vehicle })))
  byLicense.put(vehicle.license, id)
  byYear.put(vehicle.year, id)
  return id
}

function update(id: number, changes: Partial<Vehicle>): boolean {
  const bytes = vehicles.get(id)
  if (bytes === undefined) return false
  const before = JSON.parse(bytes.toString()) as Vehicle
  const after = { ...before, ...changes }
  if (after.model !== before.model && !models.doesExist(after.model)) return false
  if (after.license !== before.license) {
    if (byLicense.doesExist(after.license)) return false
    byLicense.remove(before.license)
    byLicense.put(after.license, id)
  }
  if (after.year !== before.year) {
    byYear.remove(before.year, id)
    byYear.put(after.year, id)
  }
  vehicles.put(id, Buffer.from(JSON.stringify(after)))
  return true
}

function remove(id: number): boolean {
  const bytes = vehicles.get(id)
  if (bytes === undefined) return false
  const { license, year } = JSON.parse(bytes.toString()) as Vehicle
  vehicles.remove(id)
  byLicense.remove(license)
  byYear.remove(year, id)
  return true
}

function idsOfYear(year: number): Iterable<number> {
  return byYear.getValues(year, { limit: rangeRows })
}

/** Of one year, with the names of their models and the models' makers. */
function withMakers(year: number): string {
  const rows: object[] = []
  for (const id of idsOfYear(year)) {
    const { license, model } = JSON.parse(String(vehicles.get(id))) as Vehicle
    const known = models.get(model)
    rows.push({ license, model: known?.name, maker: makers.get(known?.maker ?? -1)?.name })
  }
  return JSON.stringify(rows)
}

const [opening, comma, closing] = Buffer.from('[,]') as unknown as [number, number, number]
/** Objects are put together here: more bytes than a hundred of them have. */
const assembled = Buffer.alloc(131_072)

/** A JSON array of these. Their bytes are borrowed from lmdb-js, and copied once. */
function list(ids: Iterable<number>): Buffer {
  let length = 0
  for (const id of ids) {
    const bytes = vehicles.getBinaryFast(id)
    if (bytes === undefined) continue
    assembled[length] = length === 0 ? opening : comma
    length++
    assembled.set(bytes.subarray(0, bytes.length), length)
    length += bytes.length
  }
  if (length === 0) assembled[length++] = opening
  assembled[length++] = closing
  return Buffer.from(assembled.subarray(0, length))
}

/** The body of the reply to a read; undefined where there is no such object, or no such path. */
function read(path: string): Buffer | undefined {
  const slash = path.indexOf('/', 1)
  const key = path.slice(slash + 1)
  switch (path.slice(1, slash)) {
    case 'vehicle':
      return vehicles.get(Number(key))
    case 'license':
      return list([byLicense.get(decodeURIComponent(key)) ?? 0])
    case 'year':
      return list(idsOfYear(Number(key)))
    case 'makers':
      return Buffer.from(withMakers(Number(key)))
    default:
      return undefined
  }
}

/** All of them, a line each. */
async function stream(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  let lines: string[] = []
  let characters = 0
  for (const { value } of vehicles.getRange({ snapshot: false })) {
    const line = `${value.toString('latin1')}\n`
    lines.push(line)
    characters += line.length
    if (characters < 65_536) continue
    if (!response.write(lines.join(''), 'latin1')) await new Promise((resolve) => response.once('drain', resolve))
    lines = []
    characters = 0
  }
  response.end(lines.join(''), 'latin1')
}

async function write(request: IncomingMessage, path: string, response: ServerResponse): Promise<void> {
  const id = Number(path.slice('/vehicle/'.length))
  if (request.method === 'DELETE') return send(response, (await root.transaction(() => remove(id))) ? 204 : 404)
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  const body: unknown = JSON.parse((pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).toString())
  if (request.method === 'PUT') {
    return send(response, (await root.transaction(() => update(id, body as Partial<Vehicle>))) ? 204 : 409)
  }
  if (path === '/vehicle') {
    const made = await root.transaction(() => insert(body as Vehicle))
    return made === undefined ? send(response, 409) : send(response, 201, Buffer.from(`{"id":${made}}`))
  }
  const ids = await root.transaction(() => (body as Vehicle[]).map(insert))
  send(response, 201, Buffer.from(JSON.stringify(ids)))
}

function send(response: ServerResponse, status: number, body?: Buffer): void {
  if (body === undefined) response.writeHead(status === 200 ? 404 : status).end()
  else response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '/'
  try {
    if (path === '/vehicles' && request.method === 'GET') await stream(response)
    else await write(request, path, response)
  } catch (error) {
    console.error(error)
    response.destroy()
  }
}

const server = createServer((request, response) => {
  const path = request.url ?? '/'
  if (request.method === 'GET' && path !== '/vehicles') send(response, 200, read(path))
  else void answer(request, response)
})
server.listen(0, '127.0.0.1', () => tellAddress(server, () => root.close()))
