/** Measures rows: one after the other, the contenders of each in turn, as often as there are rounds. */
import type { ChildServer } from '../child-server.ts'
import type { Contender } from '../contenders/contender.ts'
import type { BenchRequest, Load } from '../load/load.ts'
import { type Figures, medianOf } from '../rows/figures.ts'
import { type Bench, measure } from '../rows/measure.ts'
import type { Row } from '../rows/rows.ts'

export interface Pace {
  readonly rounds: number
  /** Of a run. */
  readonly seconds: number
  /** Of the run before the first, which does not count. */
  readonly warmSeconds: number
}

/** By the name of the contender. */
export type RowFigures = Record<string, Figures>

/** Sent in a circle. */
const circleRequests = 20_000
/** No contender is asked for more of what can be sent once only. */
const onceRequestsPerSecond = 20_000

export async function runRow(
  bench: Bench,
  row: Row,
  contenders: readonly Contender[],
  pace: Pace,
): Promise<RowFigures> {
  for (const contender of contenders) await row.prepare?.(contender, pace.rounds + 1)
  return runYielding(
    contenders.map(({ kind }) => kind.name),
    pace,
    async (nth, seconds) => {
      const contender = contenders[nth] as Contender
      const requests = row.requests(contender, row.isOnce ? Math.ceil(seconds * onceRequestsPerSecond) : circleRequests)
      if (requests === undefined || requests.length === 0) return undefined
      const { connections, isOnce } = row
      return await measure(bench, contender.server, { connections, isOnce, requests, seconds })
    },
  )
}

/** A request that is always the same, to servers that answer it. */
export function runSame(
  bench: Bench,
  servers: Readonly<Record<string, ChildServer>>,
  request: BenchRequest,
  connections: number,
  pace: Pace,
): Promise<RowFigures> {
  const load: Omit<Load, 'url' | 'seconds'> = { connections, requests: [request], isOnce: false }
  return runYielding(Object.keys(servers), pace, (nth, seconds) => {
    return measure(bench, Object.values(servers)[nth] as ChildServer, { ...load, seconds })
  })
}

async function runYielding(
  names: readonly string[],
  { rounds, seconds, warmSeconds }: Pace,
  run: (nth: number, seconds: number) => Promise<Figures | undefined>,
): Promise<RowFigures> {
  const runs = names.map((): Figures[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const nth of names.keys()) {
      const figures = await run(nth, round === 0 ? warmSeconds : seconds)
      process.stderr.write('.')
      if (round > 0 && figures !== undefined) runs[nth]?.push(figures)
    }
  }
  const measured = names.map((name, nth) => [name, runs[nth] ?? []] as const).filter(([, list]) => list.length > 0)
  return Object.fromEntries(measured.map(([name, list]) => [name, medianOf(list)]))
}
