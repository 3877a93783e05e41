/** `npm run demo`: a server with a federated database `flights`, loaded with real data when it is empty. */
import cluster from 'node:cluster'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { SingleBar } from 'cli-progress'
import { Command } from 'commander'
import { loadFlights } from './load.ts'
import { openFlightsParts } from './open-flights.ts'
import { vegaParts } from './vega-flights.ts'

const refusedShown = 20

interface DemoOptions {
  readonly data: string
  readonly from?: string
  readonly port: string
  readonly load: boolean
}

const command = new Command('demo')
  .description('Start a server with a federated database `flights`, loaded with real data when it is empty.')
  .option('--data <dir>', 'data directory', './data/demo')
  .option('--from <dir>', 'load airlines.csv, airports.csv, routes.csv and flights*.csv[.gz] from this folder')
  .option('--port <number>', 'port to listen on; 0 = any free one', '8185')
  .option('--no-load', 'serve only')
  .option('--load-only', 'load, print figures, and end')

async function load(options: DemoOptions): Promise<void> {
  const directory = join(options.data, 'flights')
  mkdirSync(directory, { recursive: true })
  const fd = await FederatedDatabase.open({ alias: 'flights', store: await openStore(`lmdb:${directory}`) })
  try {
    if ((await fd.listClasses()).length > 0) {
      process.stdout.write(`${directory} holds data already; delete the folder to load anew.\n`)
      return
    }
    await loadWithProgress(fd, options.from)
  } finally {
    await fd.close()
  }
}

async function loadWithProgress(fd: FederatedDatabase, from: string | undefined): Promise<void> {
  const bar = new SingleBar({
    format: '{part} {value} rows, {speed} rows/s, {refused} refused',
    clearOnComplete: false,
  })
  const refused: string[] = []
  const started = performance.now()
  let rows = 0
  let refusedCount = 0
  bar.start(1, 0, { part: '', speed: 0, refused: 0 })
  const created = await loadFlights(fd, from === undefined ? vegaParts() : openFlightsParts(resolve(from)), {
    row(part, place, why) {
      rows++
      if (why !== undefined && ++refusedCount <= refusedShown) refused.push(`${place}: ${why}`)
      if (rows % 1_000 !== 0) return
      bar.setTotal(rows)
      bar.update(rows, { part, speed: Math.round(rows / seconds(started)), refused: refusedCount })
    },
  })
  bar.stop()
  for (const line of refused) process.stdout.write(`not taken: ${line}\n`)
  if (refusedCount > refused.length) process.stdout.write(`… and ${refusedCount - refused.length} more\n`)
  const { storeBytes } = await fd.statistics()
  const memory = Math.round(process.memoryUsage.rss() / 2 ** 20)
  const speed = Math.round(rows / seconds(started))
  process.stdout.write(
    `${created} objects of ${rows} rows in ${seconds(started).toFixed(1)} s (${speed} rows/s), ` +
      `${Math.round(storeBytes / 2 ** 20)} MiB on disk, ${memory} MiB of memory\n`,
  )
}

function seconds(since: number): number {
  return (performance.now() - since) / 1_000
}

const options = command.parse().opts<DemoOptions & { loadOnly?: boolean }>()
// A worker runs this program again: what is to be loaded was loaded before there was one.
if (options.load && cluster.isPrimary) await load(options)
if (options.loadOnly !== true) {
  const { run } = await import('@ashlar/server')
  await run(['serve', '--data', options.data, '--port', options.port, '--fd', 'flights'])
}
