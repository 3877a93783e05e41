/** Fills a contender's store with vehicles in bulk, and starts it again. */
import type { ChildServer } from '../child-server.ts'
import { type Contender, type ContenderKind, readIds } from '../contenders/contender.ts'
import type { BenchRequest } from '../load/load.ts'
import type { Figures } from '../rows/figures.ts'
import { type Bench, measure } from '../rows/measure.ts'
import { vehicle } from '../vehicles.ts'

const bodyObjects = 1_000
const connections = 4
/** Whose bodies are in memory at once. */
const loadObjects = 100_000
/** Of larger stores only some identities are kept. */
const idsMax = 200_000
const secondsMax = 1_200

export interface Filled {
  readonly contender: Contender
  /** Of objects; those of the last load where there are several. */
  readonly bulk: Figures
}

/** The contender is running afterwards, in the process that has filled it. */
export async function fill(bench: Bench, kind: ContenderKind, objects: number): Promise<Filled> {
  const place = await kind.freshPlace()
  let server: ChildServer | undefined
  try {
    server = await kind.start(place, bench.cores?.server)
    const forms = await kind.setUp(server.url)
    const empty: Contender = { kind, place, forms, server, objects, ids: [], next: objects }
    const bulk = await createAll(bench, empty)
    const every = Math.ceil(objects / idsMax)
    return { contender: { ...empty, ids: await readIds(empty, (nth) => nth < objects && nth % every === 0) }, bulk }
  } catch (error) {
    await server?.stop()
    await place.remove()
    throw error
  }
}

async function createAll(bench: Bench, { kind, server, forms, objects }: Contender): Promise<Figures> {
  let figures: Figures | undefined
  for (let from = 0; from < objects; from += loadObjects) {
    const requests: BenchRequest[] = []
    for (let at = from; at < Math.min(objects, from + loadObjects); at += bodyObjects) {
      const length = Math.min(bodyObjects, objects - at)
      requests.push(forms.createMany(Array.from({ length }, (_, i) => vehicle(at + i))))
    }
    figures = await measure(bench, server, { connections, requests, isOnce: true, seconds: secondsMax }, bodyObjects)
    if (figures.refused > 0) throw new Error(`${kind.name} has refused ${figures.refused} of ${requests.length} bodies`)
  }
  if (figures === undefined) throw new Error('there is nothing to fill with')
  return figures
}

/** The same objects as lines of one body, on a fresh store that is gone afterwards; undefined where the contender takes no lines. */
export async function fillByLines(bench: Bench, kind: ContenderKind, objects: number): Promise<Figures | undefined> {
  const place = await kind.freshPlace()
  const server = await kind.start(place, bench.cores?.server)
  try {
    const { createLines } = await kind.setUp(server.url)
    if (createLines === undefined) return undefined
    const requests = [createLines(Array.from({ length: objects }, (_, nth) => vehicle(nth)))]
    const figures = await measure(
      bench,
      server,
      { connections: 1, requests, isOnce: true, seconds: secondsMax },
      objects,
    )
    if (figures.refused > 0) throw new Error(`${kind.name} has refused the lines`)
    return figures
  } finally {
    await server.stop()
    await place.remove()
  }
}

/** In a new process. Returns the milliseconds that the old one took to end. */
export async function startAgain(bench: Bench, contender: Contender): Promise<number> {
  const beganAt = performance.now()
  await contender.server.stop()
  const stopMs = performance.now() - beganAt
  contender.server = await contender.kind.start(contender.place, bench.cores?.server)
  return stopMs
}

export async function discard({ server, place }: Contender): Promise<void> {
  await server.stop()
  await place.remove()
}
