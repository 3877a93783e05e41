/** The same requests from one client to a thousand at once. */
import { runRow } from '../parts/run-rows.ts'
import type { Figures } from '../rows/figures.ts'
import { rows } from '../rows/rows.ts'
import { type Curve, upTo } from './curve.ts'

const objects = 100_000
const columns = [1, 10, 64, 250, 1_000]

export const clients: Curve = {
  name: 'clients',
  title: 'Clients',
  async measure(bench, stores, { largest, rounds, seconds }) {
    const { contender } = await stores.of(upTo(largest, [objects])[0] ?? largest)
    const lines = []
    for (const row of rows.filter(({ name }) => ['read', 'equality', 'update', 'create'].includes(name))) {
      const figures: (Figures | undefined)[] = []
      for (const connections of columns) {
        const found = await runRow(bench, { ...row, connections }, [contender], { rounds, seconds, warmSeconds: 1 })
        figures.push(found[contender.kind.name])
      }
      lines.push({ name: row.name, figures })
    }
    const notes = [
      'A write of a single client waits for the disk alone; the writes of many share a commit.',
      'Beyond the number of clients that keep the server busy, latency grows with their number: each waits for all others.',
    ]
    return { axis: 'clients', columns, reference: 2, lines, notes, hasLatencies: true }
  },
}
