/** The operations of `npm run bench` on stores of very different sizes, in turns. */
import type { Contender } from '../contenders/contender.ts'
import { scanAll } from '../parts/measure-kinds.ts'
import { type Figures, medianOf } from '../rows/figures.ts'
import { type Bench, measure } from '../rows/measure.ts'
import { type Row, rows } from '../rows/rows.ts'
import { type Curve, type Line, upTo } from './curve.ts'

/** Of a run: as many on a busy machine as on a quiet one, so that a process is as warm. About two seconds at 100,000 objects. */
const requestsOf: Record<string, number> = {
  read: 60_000,
  equality: 40_000,
  'equality-in-text': 40_000,
  range: 6_000,
  'two-hops': 6_000,
  delete: 8_000,
}
const requestsOtherwise = 20_000
const secondsMax = 300
const mostOfReads = 1.3
const mostOfWrites = 1.6
const writes = ['bulk', 'update', 'create', 'delete']

export const objects: Curve = {
  name: 'objects',
  title: 'Objects',
  async measure(bench, stores, { largest, rounds }) {
    const columns = upTo(largest, [1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000])
    const reference = columns.indexOf(100_000)
    const filled = []
    for (const size of columns) filled.push(await stores.of(size))
    const contenders = filled.map(({ contender }) => contender)
    const lines: Line[] = [
      lineOf(
        'bulk',
        filled.map(({ bulk }) => bulk),
      ),
    ]
    const scans: Figures[] = []
    for (const contender of contenders) scans.push(await scanAll(bench, contender, 1))
    lines.push(lineOf('scan', scans))
    for (const row of rows) lines.push(lineOf(row.name, await runYielding(bench, row, contenders, rounds)))
    const notes = [
      'Bulk and scan count objects. Bulk is the last 100,000 objects of the filling, the first 1,000 or 10,000 of a new process where there are no more.',
      'A year of 1,000 objects has 22 and not 100 of them (range, two-hops). A store of 1,000 or 10,000 objects grows by what is created.',
    ]
    return { axis: 'objects', columns, ...(reference < 0 ? {} : { reference }), lines, notes }
  },
}

/** The median of each after a round that does not count. */
async function runYielding(
  bench: Bench,
  row: Row,
  contenders: readonly Contender[],
  rounds: number,
): Promise<Figures[]> {
  const runs = contenders.map((): Figures[] => [])
  for (const contender of contenders) await row.prepare?.(contender, rounds + 1)
  for (let round = 0; round <= rounds; round++) {
    for (const [nth, contender] of contenders.entries()) {
      const requests = row.requests(contender, requestsOf[row.name] ?? requestsOtherwise) ?? []
      const load = { connections: row.connections, requests, isOnce: true, seconds: secondsMax }
      const figures = await measure(bench, contender.server, load)
      if (round > 0) runs[nth]?.push(figures)
      process.stderr.write('.')
    }
  }
  return runs.map(medianOf)
}

function lineOf(name: string, figures: readonly (Figures | undefined)[]): Line {
  return { name, figures, most: writes.includes(name) ? mostOfWrites : mostOfReads }
}
