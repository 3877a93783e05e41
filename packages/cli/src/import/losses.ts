/** Counts values that their types cannot represent, reported once per attribute at the end of the import. */
import { numberText } from '../output/texts.ts'
import type { Losses } from './stored-values.ts'

interface Loss {
  count: number
  readonly first: string
}

export class CountedLosses implements Losses {
  private readonly truncations = new Map<string, Loss>()
  private readonly notNumbers = new Map<string, Loss>()

  truncated(path: string, text: string): void {
    count(this.truncations, path, text)
  }

  notFinite(path: string, value: number): void {
    count(this.notNumbers, path, String(value))
  }

  /** Returns sentences for the user. */
  notes(): string[] {
    const truncations = [...this.truncations].map(([path, { count: times, first }]) => {
      return `Attribute ${path}: ${values(times)} truncated to 100 µs, such as '${first}'; a string keeps all digits ("type" in a mapping).`
    })
    const notNumbers = [...this.notNumbers].map(([path, { count: times, first }]) => {
      return `Attribute ${path}: ${values(times)} stored as null, since ${first} is not a number that can be stored.`
    })
    return [...truncations, ...notNumbers]
  }
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
