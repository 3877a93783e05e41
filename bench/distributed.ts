/**
 * Measures the engine on a plain PostgreSQL against the same on Citus, alternating in one run. The addresses are in
 * ASHLAR_POSTGRES_URL and ASHLAR_CITUS_URL; schemas are made there, and dropped at the end.
 * Run: node --import tsx bench/distributed.ts
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { copyStore } from '../packages/engine/src/storage/copy-store.ts'
import { openStore } from '../packages/engine/src/storage/open-store.ts'
import { openMemoryStore } from '../packages/engine/src/store/memory/memory-store.ts'
import type { Store } from '../packages/engine/src/store/store.ts'
import { type EngineContender, engineContender, filled, inFlight, rate } from './engine-contender.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const rangeRows = 20

interface Side {
  readonly store: Store
  readonly engine: EngineContender
  /** The address of a further store, in a schema of its own. */
  freshAddress(): string
  close(): Promise<void>
}

async function side(variable: string): Promise<Side> {
  const base = process.env[variable]
  if (base === undefined) throw new Error(`${variable} holds no address.`)
  const schemas: string[] = []
  function freshAddress(): string {
    const schema = `bench_${randomBytes(6).toString('hex')}`
    schemas.push(schema)
    const url = new URL(base as string)
    url.searchParams.set('schema', schema)
    return url.href
  }
  async function close(): Promise<void> {
    await engine.fd.close()
    const url = new URL(base as string)
    url.search = ''
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
  }
  const store = await openStore(freshAddress())
  const engine = await engineContender(store, rangeRows)
  return { store, engine, freshAddress, close }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1_000
}

async function scan({ engine }: Side): Promise<void> {
  const { chunks } = await engine.fd.query({ text: 'FROM Vehicle WHERE mileage < 0 RETURN *' })
  for await (const _chunk of chunks);
}

/** Into a memory store, and from there into a new schema. */
async function copyThereAndBack({ store, freshAddress }: Side): Promise<{ from: number; to: number }> {
  const memory = await openMemoryStore()
  const from = await seconds(() => copyStore(store, memory))
  const target = await openStore(freshAddress())
  const to = await seconds(() => copyStore(memory, target))
  await Promise.all([memory.close(), target.close()])
  return { from, to }
}

interface Pair {
  readonly plain: number
  readonly citus: number
}

const figures: Record<string, Pair & { readonly ratio: string }> = {}

/** Of the pairs the one whose ratio is in the middle. */
function note(name: string, pairs: readonly Pair[]): void {
  const middle = [...pairs].sort((one, other) => one.citus / one.plain - other.citus / other.plain)[pairs.length >> 1]
  if (middle === undefined) return
  const rounded = (figure: number): number => Number(figure.toPrecision(3))
  figures[name] = {
    plain: rounded(middle.plain),
    citus: rounded(middle.citus),
    ratio: (middle.citus / middle.plain).toFixed(2),
  }
}

async function alternating(name: string, measure: (side: Side) => Promise<number>): Promise<void> {
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) pairs.push({ plain: await measure(plain), citus: await measure(citus) })
  note(name, pairs)
}

const plain = await side('ASHLAR_POSTGRES_URL')
const citus = await side('ASHLAR_CITUS_URL')
for (const name of ['create', 'read', 'update', 'equality', 'range', 'bulk'] as const)
  await alternating(`${name}, operations/s`, ({ engine }) => rate(engine[name]))
await alternating('scan of the class, s', (measured) => seconds(() => scan(measured)))
await alternating('Verify, s', ({ engine }) => seconds(() => engine.fd.verify()))
const copies = { plain: await copyThereAndBack(plain), citus: await copyThereAndBack(citus) }
note('copy from it, s', [{ plain: copies.plain.from, citus: copies.citus.from }])
note('copy into it, s', [{ plain: copies.plain.to, citus: copies.citus.to }])
const { entries } = await plain.store.stats()
process.stdout.write(
  `${inFlight} in flight, ${filled} objects and more, ${entries} entries; the middle of ${rounds} pairs\n`,
)
console.table(figures)
await plain.close()
await citus.close()
