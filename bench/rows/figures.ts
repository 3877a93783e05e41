/** What is measured of a row, the median of its runs, and the ratio of two. */

export interface Figures {
  readonly perSecond: number
  /** Of all threads of the server's processes, for one request or object. */
  readonly cpuMicroseconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Requests that were not answered with 2xx. */
  readonly refused: number
  /** How busy the generator's core was, from 0 to 1; undefined where it has none to itself. */
  readonly generatorBusy?: number | undefined
}

/** Above this the generator may be what bounds requests per second. */
const busyMax = 0.9

export function isGeneratorBound(...figures: readonly Figures[]): boolean {
  return figures.some(({ generatorBusy = 0 }) => generatorBusy > busyMax)
}

/** How many times as fast: by requests per second, or by CPU where the generator's core was too busy to tell. */
export function ratioOf(one: Figures, other: Figures): number {
  if (isGeneratorBound(one, other)) return other.cpuMicroseconds / one.cpuMicroseconds
  return one.perSecond / other.perSecond
}

/** Of each figure by itself. */
export function medianOf(runs: readonly Figures[]): Figures {
  const of = (name: keyof Figures): number => median(runs.map((run) => run[name] ?? Number.NaN))
  const busy = of('generatorBusy')
  return {
    perSecond: of('perSecond'),
    cpuMicroseconds: of('cpuMicroseconds'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    refused: runs.reduce((sum, { refused }) => sum + refused, 0),
    ...(Number.isNaN(busy) ? {} : { generatorBusy: busy }),
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
