/** How often properties run: ASHLAR_RUNS multiplies, ASHLAR_SEED replays. */
const multiplier = Number(process.env.ASHLAR_RUNS ?? 1)
const seed = process.env.ASHLAR_SEED === undefined ? {} : { seed: Number(process.env.ASHLAR_SEED) }

/** A property that is asked for a part of a run never ends. */
export function runs(count: number): { numRuns: number; seed?: number } {
  return { numRuns: Math.max(1, Math.round(count * multiplier)), ...seed }
}
