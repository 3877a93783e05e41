/** `npm run bench:scale`: how the cost of each operation grows with data, schema, clients and workers; bench/README.md describes it. */
import { execFileSync } from 'node:child_process'
import { Command } from 'commander'
import { openGenerator } from './load/generators.ts'
import { busyElsewhere, machineName, takeCores } from './machine.ts'
import { readScaleReport, scaleSection, writeScaleReport } from './report/scale-report.ts'
import type { Bench } from './rows/measure.ts'
import { classes } from './scale/classes.ts'
import { clients } from './scale/clients.ts'
import { compact } from './scale/compact.ts'
import type { Curve, MeasuredCurve, ScaleOptions } from './scale/curve.ts'
import { hubs } from './scale/hubs.ts'
import { indexes } from './scale/indexes.ts'
import { objects } from './scale/objects.ts'
import { start } from './scale/start.ts'
import { Stores } from './scale/stores.ts'
import { workers } from './scale/workers.ts'

interface Words {
  readonly only?: string
  readonly largest: string
  readonly rounds: string
  readonly seconds: string
  readonly stores?: string
  readonly print?: true
}

/** In this order: the compaction, last, writes the largest store anew. */
const curves: readonly Curve[] = [classes, indexes, workers, objects, clients, hubs, start, compact]

const command = new Command('npm run bench:scale --')
  .description(
    'How the cost of each operation grows. All of it takes at most an hour on two quiet cores, and 8 GB of disk.',
  )
  .option('--only <curves>', `some of ${curves.map(({ name }) => name).join(', ')}, with commas`)
  .option('--largest <number>', 'of objects and links in a store', '10000000')
  .option('--rounds <number>', 'runs of which the median counts', '3')
  .option('--seconds <number>', 'of a run of clients or workers; the others have a number of requests', '2')
  .option('--stores <folder>', 'where filled stores are kept, and taken from if they are there')
  .option('--print', 'prints, and writes nothing')
const words = command.parse().opts<Words>()
const options: ScaleOptions = {
  largest: Number(words.largest),
  rounds: Number(words.rounds),
  seconds: Number(words.seconds),
}
const wanted = wantedCurves(words.only)
const others = await busyElsewhere()
const cores = takeCores()
const bench: Bench = { generator: openGenerator(options.seconds), cores }
const stores = new Stores(bench, words.stores)
const measured: MeasuredCurve[] = []
try {
  for (const curve of wanted) {
    process.stderr.write(`\n${curve.name} `)
    measured.push({ ...(await curve.measure(bench, stores, options)), ...about(curve) })
    if (words.print !== true) writeScaleReport([measured.at(-1) as MeasuredCurve])
  }
} finally {
  await stores.close()
  await bench.generator.close()
}
process.stdout.write(`\n${scaleSection(words.print === true ? measured : readScaleReport())}\n`)

function about({ name, title }: Curve) {
  const date = new Date().toISOString().slice(0, 10)
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const { rounds, seconds } = options
  return { name, title, date, commit, machine: machineName(), rounds, seconds, othersBusy: others }
}

function wantedCurves(list: string | undefined): readonly Curve[] {
  if (list === undefined) return curves
  const names = list.split(',')
  const unknown = names.find((name) => !curves.some((curve) => curve.name === name))
  if (unknown !== undefined)
    throw new Error(`there is no curve "${unknown}", but ${curves.map(({ name }) => name).join(', ')}`)
  return curves.filter(({ name }) => names.includes(name))
}
