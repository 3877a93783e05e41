/**
 * `npm run consistency [-- --store lmdb --transactions 10000 …]`: random transactions of many clients against the built server, and a check of what they have seen
 * for anomalies (`tools/consistency`); or directed races, with `--races <rounds>`. The exit code is 1 if there is any.
 */
import { randomInt } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import pg from 'pg'
import { startEngineProcess } from '../tools/consistency/engine-processes.ts'
import { runRaces } from '../tools/consistency/races.ts'
import { describeReport, runWorkload } from '../tools/consistency/run-workload.ts'
import { removeFolder, type Server, startServer } from '../tools/consistency/servers.ts'
import { anyOf, type FaultName, processesTarget, serversTarget, type Target } from '../tools/consistency/targets.ts'
import { startPostgres } from '../tools/temporary-postgres.ts'

const program = fileURLToPath(new URL('../packages/cli/dist/bin/ashlar.cjs', import.meta.url))
const child = fileURLToPath(new URL('../packages/engine/test/store/children/answer-requests.ts', import.meta.url))

interface Options {
  readonly store: 'lmdb' | 'processes' | 'postgres' | 'citus'
  readonly transactions: number
  readonly epoch: number
  readonly clients: number
  readonly servers?: number
  readonly workers?: number
  readonly seed: number
  readonly faults?: readonly FaultName[]
  readonly faultMs: number
  readonly races?: number
  readonly strict: boolean
  readonly isolation?: 'snapshot'
}

const faultNames: readonly FaultName[] = ['worker', 'crash', 'connections', 'backends']

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}

function faultsOf(text: string): FaultName[] {
  if (text === 'all') return [...faultNames]
  return text.split(',').map((name) => {
    const known = faultNames.find((one) => one === name)
    if (known === undefined) throw new InvalidArgumentError(`It must be all, or some of ${faultNames.join(',')}.`)
    return known
  })
}

const options = new Command('consistency')
  .description('run random transactions, or races, and look for anomalies')
  .addOption(
    new Option('--store <store>', 'citus needs ASHLAR_CITUS_URL; processes embed the engine, several on one LMDB')
      .choices(['lmdb', 'processes', 'postgres', 'citus'])
      .default('lmdb'),
  )
  .option('--transactions <count>', 'how many in all', count, 10_000)
  .option('--epoch <count>', 'how many of them on the same objects', count, 2_000)
  .option('--clients <count>', 'how many at once', count, 16)
  .option('--servers <count>', 'on LMDB 1, otherwise 2', count)
  .option('--workers <count>', 'of a server: on LMDB 2, otherwise 1', count)
  .option('--seed <number>', 'of what is random', count, randomInt(1_000_000))
  .option('--faults <names>', `all, or some of ${faultNames.join(',')}`, faultsOf)
  .option('--fault-ms <ms>', 'between faults, about', count, 3_000)
  .option('--races <rounds>', 'instead: directed races of two requests each', count)
  .addOption(new Option('--isolation <level>', 'of the servers: less than they have otherwise').choices(['snapshot']))
  .option('--no-strict', 'the order in real time counts only within single objects')
  .parse()
  .opts<Options>()

const folder = mkdtempSync(join(tmpdir(), 'ashlar-consistency-'))
process.on('exit', () => removeFolder(folder))

async function startServers(store: string | undefined): Promise<Server[]> {
  const { servers = store === undefined ? 1 : 2, workers = store === undefined ? 2 : 1 } = options
  const started: Server[] = []
  for (let nth = 0; nth < servers; nth++) {
    const place = join(folder, `server${nth}`)
    started.push(
      await startServer({
        program,
        folder: place,
        workers,
        isolation: options.isolation,
        ...(store !== undefined && { store }),
      }),
    )
  }
  return started
}

/** Of the database of that address, at most half of them. */
async function endBackends(address: string, random: () => number): Promise<void> {
  const client = new pg.Client({ connectionString: address })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()',
  )
  for (const { pid } of rows) if (random() < 0.5) await client.query('SELECT pg_terminate_backend($1::int)', [pid])
  await client.end()
}

async function startTarget(): Promise<Target> {
  const { store, clients, servers = 2 } = options
  switch (store) {
    case 'lmdb':
      return serversTarget(await startServers(undefined), clients)
    case 'processes': {
      const command = ['--import', 'tsx', child]
      const start = () => startEngineProcess(command, `lmdb:${join(folder, 'store')}`)
      const first = await start()
      return processesTarget([first, ...(await Promise.all(Array.from({ length: servers - 1 }, start)))], clients)
    }
    case 'postgres': {
      const postgres = await startPostgres()
      const target = serversTarget(await startServers(`${postgres.address}?schema=history`), clients, (random) =>
        endBackends(postgres.address, random),
      )
      return {
        ...target,
        async stop() {
          await target.stop()
          await postgres.stop()
        },
      }
    }
    case 'citus': {
      const url = process.env.ASHLAR_CITUS_URL
      if (url === undefined) throw new Error('set ASHLAR_CITUS_URL to the address of a coordinator')
      const address = new URL(url)
      address.searchParams.set('schema', `history_${process.pid}`)
      address.searchParams.set('distribute', 'citus')
      const plain = new URL(url)
      plain.search = ''
      const target = serversTarget(await startServers(address.href), clients, (random) =>
        endBackends(plain.href, random),
      )
      return {
        ...target,
        async stop() {
          await target.stop()
          const client = new pg.Client({ connectionString: plain.href })
          await client.connect()
          await client.query(`DROP SCHEMA IF EXISTS history_${process.pid} CASCADE`)
          await client.end()
        },
      }
    }
  }
}

async function race(target: Target, rounds: number): Promise<number> {
  const { connections } = target
  const pairs = Array.from({ length: 2 }, (_, i) => [connections[2 * i]!, connections[2 * i + 1]!] as const)
  const results = await runRaces(pairs, rounds, 1)
  for (const { name, anomalies, refused } of results)
    console.log(`${String(anomalies).padStart(6)} of ${rounds}${refused > 0 ? `, ${refused} refused` : ''}  ${name}`)
  return results.reduce((sum, { anomalies }) => sum + anomalies, 0)
}

async function work(target: Target): Promise<number> {
  const { transactions, epoch, seed, faults, faultMs, strict } = options
  console.log(`${transactions} transactions of ${options.clients} clients on ${options.store}, seed ${seed}`)
  let shownMs = performance.now()
  const report = await runWorkload({
    transactions,
    transactionsPerEpoch: epoch,
    seed,
    connections: target.connections,
    isStrict: strict,
    faultMs,
    fault: faults === undefined ? undefined : anyOf(target, faults),
    onEpoch(soFar) {
      if (performance.now() - shownMs < 60_000) return
      shownMs = performance.now()
      console.log(describeReport(soFar))
    },
  })
  const names = new Set<string>()
  for (const { name, text } of report.findings.anomalies) {
    if (names.has(name)) continue
    names.add(name)
    console.log(`\n${name}, for example:\n${text}`)
  }
  console.log(`\n${describeReport(report)}`)
  return report.findings.counts.size
}

// Whoever ends it before its time must not find its servers later.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

const target = await startTarget()
let found = 0
try {
  found = options.races === undefined ? await work(target) : await race(target, options.races)
} finally {
  await target.stop()
}
process.exit(found === 0 ? 0 : 1)
