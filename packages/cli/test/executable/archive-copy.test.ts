/** An archive of `ashlar export` becomes a federated database again, on LMDB and on PostgreSQL, or nothing at all. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { checkStore, FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, inject, test } from 'vitest'
import { archiveChunks } from '../../../server/src/operations/export/archive.ts'
import { ashlar, type Ended, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { readTar } from '../../../server/test/tar-files.ts'

const runs = Number(process.env.ASHLAR_RUNS ?? 1)
const kills = Math.max(2, Math.ceil(4 * runs))

const list = (referencedClass: string, inverseAttribute: string) => ({
  logicalType: 'list',
  elementSpecification: { logicalType: 'reference', referencedClass, inverseAttribute },
})

const classes = [
  { className: 'Gone', isReferenceable: true, attributes: [] },
  {
    className: 'Depot',
    isReferenceable: true,
    attributes: [
      { attributeName: 'name', logicalType: 'string' },
      { attributeName: 'cars', ...list('Car', 'depot') },
    ],
  },
  {
    className: 'Car',
    isReferenceable: true,
    attributes: [
      { attributeName: 'plate', logicalType: 'string' },
      { attributeName: 'serial', logicalType: 'integer', storage: 'b64' },
      { attributeName: 'depot', logicalType: 'reference', referencedClass: 'Depot', inverseAttribute: 'cars' },
      { attributeName: 'last', logicalType: 'reference', referencedClass: 'Car' },
    ],
  },
]

/** Depots with cars, in an order of their own; a class that is gone, so that the numbers have a gap; a unique index. */
async function fill(fd: FederatedDatabase, cars: number): Promise<void> {
  await fd.defineClasses(classes, 'create')
  await fd.deleteClass('Gone')
  await fd.createIndex({
    name: 'byPlate',
    indexedClass: 'Car',
    isUnique: true,
    keyAttributes: [{ attributeName: 'plate' }],
  })
  const depots: string[] = []
  for (const name of ['north', 'south', 'east']) depots.push(await fd.createObject('Depot', { name }))
  const made: string[] = []
  for (let at = 0; at < cars; at += 500) {
    const part = Array.from({ length: Math.min(500, cars - at) }, (_, i) => {
      const number = at + i
      const serial = 9_007_199_254_740_993n + BigInt(number)
      return {
        class: 'Car',
        attributes: { plate: `P ${number}`, serial, depot: depots[number % 3], last: made[number % 400] ?? null },
      }
    })
    made.push(...(await fd.createObjects(part)))
  }
  await fd.updateObject(depots[0] as string, { cars: made.filter((_, i) => i % 3 === 0).reverse() })
  const text = "CREATE SEQUENCE serial START 9007199254740993 STEP -3; SHOW NEXT('serial'); CREATE SEQUENCE 'a-b'"
  for await (const chunk of (await fd.query({ text })).chunks) void chunk
}

async function openFd(address: string): Promise<FederatedDatabase> {
  return FederatedDatabase.open({ alias: 'cars', store: await openStore(address) })
}

async function archiveOf(fd: FederatedDatabase): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const { bytes } of archiveChunks(await fd.export({}), 'cars')) pieces.push(bytes.subarray(1))
  return Buffer.concat(pieces)
}

/** What is in an archive but for its time, and the numbers of shapes, which count changes of the classes. */
function contentOf(archive: Buffer): Record<string, string> {
  const files = Object.fromEntries([...readTar(gunzipSync(archive))].map(([name, bytes]) => [name, bytes.toString()]))
  const { 'archive.json': _, 'end.json': __, 'schema.json': schema = '', ...others } = files
  return { ...others, schema: schema.replaceAll(/"shapeNumber": "\d+"/g, '') }
}

async function withArchive(cars: number): Promise<{ directory: string; archive: Buffer; file: string }> {
  const directory = temporaryDirectory()
  const fd = await openFd('memory:')
  await fill(fd, cars)
  const archive = await archiveOf(fd)
  await fd.close()
  const file = join(directory, 'cars.tar.gz')
  writeFileSync(file, archive)
  return { directory, archive, file }
}

async function archiveIn(address: string): Promise<Buffer> {
  const { problems } = await checkStore(address)
  expect(problems).toEqual([])
  const fd = await openFd(address)
  try {
    return await archiveOf(fd)
  } finally {
    await fd.close()
  }
}

function done({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0)
  return stdout
}

const embedded = (directory: string, name: string): string => `lmdb:${join(directory, name)}`
const onPostgres = (): string => `${inject('postgres')}?schema=test_${randomBytes(8).toString('hex')}`

test('there and back: to LMDB, from there to PostgreSQL, and to LMDB again', async () => {
  const { directory, archive, file } = await withArchive(2_500)
  for (const address of [embedded(directory, 'one'), onPostgres(), embedded(directory, 'two')]) {
    expect(done(await ashlar(['copy', `archive:${file}`, address]))).toContain('2,503 objects')
    const again = await archiveIn(address)
    expect(contentOf(again)).toEqual(contentOf(archive))
    writeFileSync(file, again)
  }
  expect(readdirSync(directory).sort()).toEqual(['cars.tar.gz', 'one', 'two'])
})

test('what was made on PostgreSQL goes to LMDB, and to PostgreSQL again', async () => {
  const directory = temporaryDirectory()
  const first = onPostgres()
  const fd = await openFd(first)
  await fill(fd, 1_000)
  await fd.close()
  const file = join(directory, 'cars.tar.gz')
  const archive = await archiveIn(first)
  for (const address of [embedded(directory, 'one'), onPostgres()]) {
    writeFileSync(file, archive)
    expect(done(await ashlar(['copy', `archive:${file}`, address]))).toContain('1,003 objects')
    expect(sumsOf(await archiveIn(address))).toEqual(sumsOf(archive))
  }
})

/** Flights between airports, each with three links; the lists of the airports and airlines are in an order of their own. */
async function fillFlights(fd: FederatedDatabase, flights: number, remark: string): Promise<void> {
  const toOne = (referencedClass: string, inverseAttribute: string) => ({
    logicalType: 'reference',
    referencedClass,
    inverseAttribute,
  })
  const hub = (className: string, lists: Record<string, string>) => ({
    className,
    isReferenceable: true,
    attributes: [
      { attributeName: 'code', logicalType: 'string' },
      ...Object.entries(lists).map(([attributeName, inverse]) => ({ attributeName, ...list('Flight', inverse) })),
    ],
  })
  const flight = {
    className: 'Flight',
    isReferenceable: true,
    attributes: [
      { attributeName: 'number', logicalType: 'integer' },
      { attributeName: 'date', logicalType: 'date' },
      { attributeName: 'remark', logicalType: 'string' },
      { attributeName: 'origin', ...toOne('Airport', 'departures') },
      { attributeName: 'destination', ...toOne('Airport', 'arrivals') },
      { attributeName: 'airline', ...toOne('Airline', 'flights') },
    ],
  }
  const hubs = [
    hub('Airport', { departures: 'origin', arrivals: 'destination' }),
    hub('Airline', { flights: 'airline' }),
  ]
  await fd.defineClasses([...hubs, flight], 'create')
  const indexed: readonly (readonly [string, boolean, readonly string[]])[] = [
    ['byNumber', true, ['number']],
    ['byDate', false, ['date', 'airline']],
  ]
  for (const [name, isUnique, names] of indexed) {
    const keyAttributes = names.map((attributeName) => ({ attributeName }))
    await fd.createIndex({ name, indexedClass: 'Flight', isUnique, keyAttributes })
  }
  const many = (className: string, count: number): Promise<string[]> =>
    fd.createObjects(
      Array.from({ length: count }, (_, i) => ({ class: className, attributes: { code: `${className} ${i}` } })),
    )
  const [airports, airlines] = [await many('Airport', 300), await many('Airline', 20)]
  for (let at = 0; at < flights; at += 1_000) {
    const part = Array.from({ length: Math.min(1_000, flights - at) }, (_, i) => {
      const number = ((at + i) * 7_919) % flights
      return {
        class: 'Flight',
        attributes: {
          number,
          date: `2012-01-${String((number % 31) + 1).padStart(2, '0')}`,
          remark,
          origin: airports[number % 300],
          destination: airports[(number * 7 + 1) % 300],
          airline: number % 50 === 0 ? null : airlines[number % 20],
        },
      }
    })
    await fd.createObjects(part)
  }
}

/** SHA-256 of the classes and indexes, and of all objects: stores part them at different ones. */
function sumsOf(archive: Buffer): Record<string, string> {
  const sums = { schema: createHash('sha256'), objects: createHash('sha256') }
  for (const [name, text] of Object.entries(contentOf(archive)))
    sums[name.startsWith('objects/') ? 'objects' : 'schema'].update(text)
  return { schema: sums.schema.digest('hex'), objects: sums.objects.digest('hex') }
}

/** Few with long texts where there is no time for all runs: more than one part of an archive has room for. */
const [flights, remark] = runs < 1 ? [1_500, 'late '.repeat(700)] : [100_000, '']

test(`${flights.toLocaleString('en')} flights with their links go from LMDB to PostgreSQL, and to LMDB again`, {
  timeout: 900_000,
}, async () => {
  const directory = temporaryDirectory()
  const file = join(directory, 'flights.tar.gz')
  const first = embedded(directory, 'one')
  const fd = await openFd(first)
  await fillFlights(fd, flights, remark)
  await fd.close()
  let archive = await archiveIn(first)
  const parts = Object.keys(contentOf(archive)).filter((name) => name.startsWith('objects/'))
  expect(parts.length).toBeGreaterThan(1)
  const sums = sumsOf(archive)
  for (const address of [onPostgres(), embedded(directory, 'two')]) {
    writeFileSync(file, archive)
    expect(done(await ashlar(['copy', `archive:${file}`, address]))).toContain(
      `${(flights + 320).toLocaleString('en')} objects`,
    )
    archive = await archiveIn(address)
    expect(sumsOf(archive)).toEqual(sums)
  }
})

test('an archive that is damaged, cut, or none is refused, and so is a store that holds something', async () => {
  const { directory, archive, file } = await withArchive(50)
  const tar = gunzipSync(archive)
  const wrong = (change: (bytes: Buffer) => Buffer): Buffer => gzipSync(change(Buffer.from(tar)))
  const flipped = (bytes: Buffer): Buffer => {
    bytes[bytes.indexOf('P 17')] = 0x51
    return bytes
  }
  const bad: readonly (readonly [Buffer, RegExp])[] = [
    [wrong(flipped), /damaged or not whole: .*SHA-256/],
    [wrong((bytes) => bytes.subarray(0, bytes.indexOf('end.json'))), /ends before end\.json/],
    [archive.subarray(0, archive.length - 40), /damaged or not whole/],
    [gzipSync(Buffer.from('a,b\n1,2\n')), /not a tar archive|not an archive/],
    [Buffer.from('a,b\n1,2\n'), /damaged or not whole: gzip/],
  ]
  for (const [bytes, message] of bad) {
    const name = join(directory, 'bad.tar.gz')
    writeFileSync(name, bytes)
    const { code, stderr } = await ashlar(['copy', `archive:${name}`, `lmdb:${join(directory, 'never')}`])
    expect(stderr).toMatch(message)
    expect(code).toBe(7)
  }
  expect(existsSync(join(directory, 'never'))).toBe(false)
  const missing = await ashlar(['copy', `archive:${join(directory, 'no.tar.gz')}`, `lmdb:${join(directory, 'never')}`])
  expect(missing.stderr).toMatch(/cannot be read/)
  const one = `lmdb:${join(directory, 'one')}`
  done(await ashlar(['copy', `archive:${file}`, one]))
  const second = await ashlar(['copy', `archive:${file}`, one])
  expect(second.stderr).toMatch(/is not empty/)
  expect(second.code).toBe(5)
  const told = await ashlar(['import', file, '--class', 'Car'])
  expect(told.stderr).toMatch(/is an archive: .*ashlar copy archive:/)
})

test('killed at any moment, it is run again: nothing is doubled, and half of it is never served', async () => {
  const { directory, archive, file } = await withArchive(3_000)
  const target = join(directory, 'target')
  const words = ['copy', `archive:${file}`, `lmdb:${target}`]
  const begun = performance.now()
  done(await ashlar(['copy', `archive:${file}`, `lmdb:${join(directory, 'whole')}`]))
  const usual = performance.now() - begun
  for (let kill = 1; kill <= kills; kill++) {
    const { child, ended } = start(words, {}, directory)
    const timer = setTimeout(() => child.kill('SIGKILL'), (usual * kill) / (kills + 0.5))
    await ended
    clearTimeout(timer)
    if (!existsSync(target)) continue
    const { isUnfinishedCopy, content } = await checkStore(`lmdb:${target}`)
    if (isUnfinishedCopy || content === undefined) continue
    expect(content.objects === 0 || content.objects === 3_003).toBe(true)
  }
  const last = await ashlar(words)
  // A slow copy reports its progress.
  expect(last.code === 0 || last.stderr.includes('is not empty'), last.stderr).toBe(true)
  expect(contentOf(await archiveIn(`lmdb:${target}`))).toEqual(contentOf(archive))
  // The child of a command that was killed ends a moment later. What it leaves is gone with the next that begins.
  expect((await ashlar(words)).stderr).toMatch(/is not empty/)
  expect(readdirSync(directory).filter((name) => name.includes('.importing-'))).toEqual([])
})
