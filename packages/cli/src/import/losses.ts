/** Counts values that their types cannot represent, reported once per attribute at the end of the import. */
import { numberText } from '../output/texts.ts'

/** `path`: of the attribute. */
export interface ImportLosses {
  /** Counts digits of a datetime or time that are not stored. */
  truncated(path: string, text: string): void
  /** Counts NaN and infinite numbers, which are stored as null. */
  notFinite(path: string, value: number): void
  /** Returns sentences for the user. */
  notes(): string[]
}

export function countedLosses(): ImportLosses {
  const truncations = new Map<string, Loss>()
  const notNumbers = new Map<string, Loss>()
  return {
    truncated: (path, text) => count(truncations, path, text),
    notFinite: (path, value) => count(notNumbers, path, String(value)),
    notes: () => [
      ...[...truncations].map(([path, { count: times, first }]) => {
        return `Attribute ${path}: ${values(times)} truncated to 100 µs, such as '${first}'; a string keeps all digits ("type" in a mapping).`
      }),
      ...[...notNumbers].map(([path, { count: times, first }]) => {
        return `Attribute ${path}: ${values(times)} stored as null, since ${first} is not a number that can be stored.`
      }),
    ],
  }
}

interface Loss {
  count: number
  readonly first: string
}

const pathsMax = 1_000

function count(losses: Map<string, Loss>, path: string, first: string): void {
  const entry = losses.get(path)
  if (entry !== undefined) entry.count++
  else if (losses.size < pathsMax) losses.set(path, { count: 1, first })
}

function values(times: number): string {
  return times === 1 ? '1 value was' : `${numberText(times)} values were`
}
