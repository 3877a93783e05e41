/** Start and stop of a server whose store is small or large. */
import { startAgain } from '../parts/fill.ts'
import { median } from '../rows/figures.ts'
import { type Curve, upTo } from './curve.ts'

const startSecondsMost = 0.5

export const start: Curve = {
  name: 'start',
  title: 'Start and stop',
  async measure(bench, stores, { largest, rounds }) {
    const columns = upTo(largest, [1_000, 100_000, 10_000_000])
    const values: { cpu: number; stopMs: number; own: number; resident: number; mebibytes: number }[] = []
    for (const size of columns) {
      const { contender } = await stores.of(size)
      const cpus: number[] = []
      const stops: number[] = []
      for (let round = 0; round <= rounds; round++) {
        stops.push(await startAgain(bench, contender))
        const { path } = contender.forms.read(contender.ids[0] as string)
        const reply = await fetch(contender.server.url + path)
        if (!reply.ok) throw new Error(`${path} is answered with ${reply.status}`)
        await reply.arrayBuffer()
        cpus.push(contender.server.cpuSeconds())
        process.stderr.write('.')
      }
      const { own, resident } = contender.server.memory()
      const mebibytes = (await contender.place.bytes()) / 2 ** 20
      values.push({ cpu: median(cpus.slice(1)), stopMs: median(stops.slice(1)), own, resident, mebibytes })
    }
    const lines = [
      {
        name: 'start to the first answer, CPU',
        unit: 's',
        values: values.map(({ cpu }) => cpu),
        most: startSecondsMost,
      },
      { name: 'stop', unit: 'ms', values: values.map(({ stopMs }) => stopMs) },
      { name: 'anonymous memory after the first answer', unit: 'MiB', values: values.map(({ own }) => own) },
      { name: 'resident memory after the first answer', unit: 'MiB', values: values.map(({ resident }) => resident) },
      { name: 'on the disk', unit: 'MiB', values: values.map(({ mebibytes }) => mebibytes) },
    ]
    return { axis: 'objects', columns, lines, notes: ['The files are in the page cache.'] }
  },
}
