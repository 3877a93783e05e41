/**
 * `node --import tsx bench/in-process.ts`: a database in process (`open` of the built package `ashlar`) beside lmdb-js used by hand, each in a process of its own, which
 * alternate: start, reads, searches, and durable creations. BENCH_ROUNDS and BENCH_SECONDS set the number of runs of which the median counts, and their length.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { buildPackage } from '../tools/build-package.mjs'

const run = promisify(execFile)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const starts = 4 * rounds
const runMsMax = 120_000
/** BENCH_BEFORE is put before each command, such as `chrt -r 1` on a machine that does other work. */
const [first = process.execPath, ...rest] = [...(process.env.BENCH_BEFORE?.split(' ') ?? []), process.execPath]
const root = join(import.meta.dirname, '..')
const library = pathToFileURL(join(root, 'packages/ashlar/lib/index.js')).href
const lmdb = pathToFileURL(join(root, 'node_modules/lmdb/node-index.js')).href

const schema =
  'UPDATE SCHEMA { CREATE CLASS Vehicle {license: String{Unique}, year: Integer, mileage: Integer, color: String} }; CREATE INDEX byYear ON Vehicle (year)'

/** Programs whose last line is JSON. They run without the compiler of TypeScript, which would count as theirs. */
const openByHand = `
  import { open } from ${JSON.stringify(lmdb)}
  const root = open({ path: process.argv[1], overlappingSync: false, noSubdir: false })
  const vehicles = root.openDB('vehicles', { keyEncoding: 'uint32', encoding: 'json' })
  const byLicense = root.openDB('byLicense', { encoding: 'ordered-binary' })
  const byYear = root.openDB('byYear', { dupSort: true, encoding: 'ordered-binary' })
  let last = [...vehicles.getKeys({ reverse: true, limit: 1 })][0] ?? 0
  const insert = (vehicle) => {
    if (byLicense.doesExist(vehicle.license)) throw new Error('The license is taken.')
    const id = ++last
    vehicles.put(id, { id, ...vehicle })
    byLicense.put(vehicle.license, id)
    byYear.put(vehicle.year, id)
    return id
  }
  const contender = {
    create: (vehicle) => root.transaction(() => insert(vehicle)),
    createMany: (all) => root.transaction(() => all.map(insert)),
    get: async (id) => vehicles.get(id),
    byLicense: async (license) => [vehicles.get(byLicense.get(license))],
    byYear: async (year) => byYear.getValues(year).map((id) => vehicles.get(id)).asArray,
    close: () => root.close(),
  }`

const openAshlar = `
  import { open } from ${JSON.stringify(library)}
  const db = await open(process.argv[1])
  const contender = {
    create: (vehicle) => db.create('Vehicle', vehicle),
    createMany: (all) => db.createMany('Vehicle', all),
    get: (id) => db.get('Vehicle', id),
    readObject: (id) => db.client.readObject(id),
    byLicense: (license) => db.find('Vehicle', { where: { license } }),
    byYear: (year) => db.find('Vehicle', { where: { year } }),
    close: () => db.close(),
  }
  if (process.argv[2] === 'new') await db.client.query(${JSON.stringify(schema)})`

const start = `
  const id = await contender.create({ license: String(process.hrtime.bigint()), year: 1, mileage: 7, color: 'red' })
  if ((await contender.get(id)).mileage !== 7) throw new Error('not read')
  const ms = performance.now()
  const { user, system } = process.cpuUsage()
  console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, mib: process.resourceUsage().maxRSS / 1024 }))
  process.exit()`

const measure = `
  const seconds = Number(process.env.BENCH_SECONDS ?? 1)
  const vehicle = (n) => ({ license: 'L' + n, year: Math.trunc(n / 100), mileage: n, color: 'red' })
  const ids = []
  for (let n = 0; n < 20000; n += 500) ids.push(...(await contender.createMany(Array.from({ length: 500 }, (_, i) => vehicle(n + i)))))
  let made = 20000
  const any = () => Math.trunc(Math.random() * 20000)
  const works = {
    get: () => contender.get(ids[any()]),
    ...(contender.readObject && { readObject: () => contender.readObject(ids[any()]) }),
    byLicense: () => contender.byLicense('L' + any()),
    byYear: () => contender.byYear(any() % 200),
    create: () => contender.create(vehicle(made++)),
  }
  const rate = async (work, inFlight) => {
    let count = 0
    const began = performance.now()
    const end = began + seconds * 1000
    await Promise.all(Array.from({ length: inFlight }, async () => {
      while (performance.now() < end) for (let i = 0; i < (inFlight > 1 ? 1 : 8); i++) { await work(); count++ }
    }))
    return (1000 * (performance.now() - began)) / count
  }
  const us = {}
  for (const [name, work] of Object.entries(works)) {
    await rate(work, 1)
    us[name] = await rate(work, 1)
  }
  await rate(works.create, 64)
  us['create, 64 at once'] = await rate(works.create, 64)
  console.log(JSON.stringify(us))
  await contender.close()
  process.exit()`

type Figures = Readonly<Record<string, number>>

async function figuresOf(program: string, ...words: readonly string[]): Promise<Figures> {
  const { stdout } = await run(first, [...rest, '--input-type=module', '--eval', program, ...words], {
    timeout: runMsMax,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Figures
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN
}

/** Runs the programs in turn, and returns the median of each figure. */
async function medians(
  count: number,
  programs: Readonly<Record<string, () => Promise<Figures>>>,
): Promise<Record<string, Figures>> {
  const all = new Map<string, Figures[]>(Object.keys(programs).map((name) => [name, []]))
  for (let nth = 0; nth < count; nth++)
    for (const [name, one] of Object.entries(programs)) all.get(name)?.push(await one())
  return Object.fromEntries(
    [...all].map(([name, found]) => {
      const names = Object.keys(found[0] ?? {})
      return [
        name,
        Object.fromEntries(names.map((figure) => [figure, median(found.map((one) => one[figure] ?? Number.NaN))])),
      ]
    }),
  )
}

const folder = mkdtempSync(join(tmpdir(), 'ashlar-bench-'))
try {
  await buildPackage()
  const [own, byHand] = [join(folder, 'own'), join(folder, 'by-hand')]
  const empty =
    'const { user, system } = process.cpuUsage(); console.log(JSON.stringify({ ms: performance.now(), cpuMs: (user + system) / 1000, mib: process.resourceUsage().maxRSS / 1024 }))'
  await figuresOf(openAshlar + start, own, 'new')
  await figuresOf(openByHand + start, byHand)
  const started = await medians(starts, {
    ashlar: () => figuresOf(openAshlar + start, own),
    'lmdb by hand': () => figuresOf(openByHand + start, byHand),
    'an empty program': () => figuresOf(empty),
  })
  console.table(started)
  let nth = 0
  const fresh = (): string => join(folder, String(nth++))
  const { ashlar, 'lmdb by hand': hand } = await medians(rounds, {
    ashlar: () => figuresOf(openAshlar + measure, fresh(), 'new'),
    'lmdb by hand': () => figuresOf(openByHand + measure, fresh()),
  })
  console.table(
    Object.fromEntries(
      Object.entries(ashlar ?? {}).map(([name, us]) => {
        const other = hand?.[name]
        return [
          name,
          {
            'ashlar µs': us.toFixed(1),
            'by hand µs': other?.toFixed(1),
            'by hand ÷ ashlar': other && (other / us).toFixed(2),
          },
        ]
      }),
    ),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
