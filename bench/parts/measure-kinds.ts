/** The measurement of several contenders in one run: bulk, footprint, scan and rows. */
import type { Contender, ContenderKind } from '../contenders/contender.ts'
import { type Figures, medianOf } from '../rows/figures.ts'
import { type Bench, measure } from '../rows/measure.ts'
import { rows } from '../rows/rows.ts'
import { discard, fill, fillByLines } from './fill.ts'
import { type Footprint, measureFootprints, measureVariant, watchPeaks } from './footprint.ts'
import { type Pace, type RowFigures, runRow } from './run-rows.ts'

export interface KindsOptions extends Pace {
  /** How many scans count; as many runs as of other rows, unless it is said. */
  readonly scanObjects: number
  readonly idleSeconds: number
  /** The names of the rows that are wanted; all where there are none. */
  readonly only: readonly string[]
}

/** A contender, and how many objects it is filled with. */
export interface Entrant {
  readonly kind: ContenderKind
  readonly objects: number
  /** Other ways to serve its store, of which only the footprint is measured. */
  readonly variants?: readonly ContenderKind[]
}

export interface Measured {
  readonly rows: Record<string, RowFigures>
  readonly footprints: Record<string, Partial<Footprint>>
}

const scanSecondsMax = 300

/** `beside`: further rows, measured while the contenders run. */
export async function measureKinds(
  bench: Bench,
  entrants: readonly Entrant[],
  options: KindsOptions,
  beside: (contenders: readonly Contender[]) => Promise<Record<string, RowFigures>> = async () => ({}),
): Promise<Measured> {
  const wanted = (name: string): boolean => options.only.length === 0 || options.only.includes(name)
  const measured: Record<string, RowFigures> = {}
  const contenders: Contender[] = []
  const peaks = watchPeaks(() => contenders.map(({ kind, server }) => [kind.name, server] as const))
  try {
    measured.bulk = await fillAll(bench, entrants, contenders, wanted('bulk') ? options.rounds : 1)
    if (wanted('bulk-ndjson')) measured['bulk-ndjson'] = await fillAllByLines(bench, entrants, options.rounds)
    const footprints: Map<string, Partial<Footprint>> = await measureFootprints(bench, contenders, options)
    for (const [at, { variants = [] }] of entrants.entries()) {
      for (const variant of variants)
        footprints.set(variant.name, await measureVariant(bench, contenders[at] as Contender, variant, options))
    }
    if (wanted('scan')) measured.scan = await scan(bench, contenders, options)
    for (const row of rows) {
      if (wanted(row.name)) measured[row.name] = await runRow(bench, row, contenders, options)
    }
    Object.assign(measured, await beside(contenders))
    for (const [name, peakOwn] of peaks.end()) Object.assign(footprints.get(name) ?? {}, { peakOwn })
    return { rows: measured, footprints: Object.fromEntries(footprints) }
  } finally {
    peaks.end()
    for (const contender of contenders) await discard(contender)
  }
}

/** Without those that cannot be started here, of which `skipped` tells why. */
export async function startable(
  bench: Bench,
  kinds: readonly ContenderKind[],
  skipped: Record<string, string>,
): Promise<ContenderKind[]> {
  const found: ContenderKind[] = []
  for (const kind of kinds) {
    const place = await kind.freshPlace()
    try {
      await (await kind.start(place, bench.cores?.server)).stop()
      found.push(kind)
    } catch (error) {
      if (kind.name.startsWith('Ashlar')) throw error
      skipped[kind.name] = (error as Error).message
    } finally {
      await place.remove()
    }
  }
  return found
}

/** Each round fills fresh stores; those of the last are kept in `contenders`. */
async function fillAll(
  bench: Bench,
  entrants: readonly Entrant[],
  contenders: Contender[],
  rounds: number,
): Promise<RowFigures> {
  const runs = new Map<string, Figures[]>()
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders.splice(0)) await discard(contender)
    for (const { kind, objects } of entrants) {
      const filled = await fill(bench, kind, objects)
      process.stderr.write('.')
      contenders.push(filled.contender)
      runs.set(kind.name, [...(runs.get(kind.name) ?? []), filled.bulk])
    }
  }
  return Object.fromEntries([...runs].map(([name, figures]) => [name, medianOf(figures)]))
}

async function fillAllByLines(bench: Bench, entrants: readonly Entrant[], rounds: number): Promise<RowFigures> {
  const found: Record<string, Figures> = {}
  for (const { kind, objects } of entrants) {
    const runs: Figures[] = []
    for (let round = 0; round < rounds; round++) {
      const figures = await fillByLines(bench, kind, objects)
      if (figures === undefined) break
      runs.push(figures)
      process.stderr.write('.')
    }
    if (runs.length > 0) found[kind.name] = medianOf(runs)
  }
  return found
}

/** All objects as NDJSON: of fresh stores where more objects are wanted than there are; figures of objects. */
async function scan(bench: Bench, contenders: readonly Contender[], options: KindsOptions): Promise<RowFigures> {
  const found: Record<string, Figures> = {}
  for (const one of contenders) {
    const isFresh = options.scanObjects > one.objects
    const contender = isFresh ? (await fill(bench, one.kind, options.scanObjects)).contender : one
    try {
      found[one.kind.name] = await scanAll(bench, contender, options.rounds)
    } finally {
      if (isFresh) await discard(contender)
    }
  }
  return found
}

export async function scanAll(bench: Bench, { server, forms, objects }: Contender, rounds: number): Promise<Figures> {
  const figures: Figures[] = []
  const load = { connections: 1, requests: [forms.everything], isOnce: true, seconds: scanSecondsMax }
  // What has filled the store has read all of it once, so that nothing has to warm up.
  for (let round = 0; round < rounds; round++) {
    figures.push(await measure(bench, server, load, objects))
    process.stderr.write('.')
  }
  return medianOf(figures)
}
