/** What the attempts of one transaction allocate, such as OIDs: each further attempt takes it over. */
import type { Awaitable } from '../store/store.ts'

interface AllocationScope {
  readonly known: unknown[]
  /** How many of them this attempt has taken over or made. */
  position: number
}

/** The allocations of each step, in order by scope, kept over the attempts of a transaction. */
export class AllocationLog {
  /** Made when something is allocated: most transactions allocate nothing. */
  private scopes: Map<string, AllocationScope> | undefined
  /** The one asked for last, which many creations in a row share. */
  private last: { readonly step: number; readonly number: number; readonly scope: AllocationScope } | undefined
  /** Under way; 0 where there is but one. */
  private step = 0

  restart(): void {
    if (this.scopes !== undefined) for (const scope of this.scopes.values()) scope.position = 0
    this.step = 0
  }

  beginStep(number: number): void {
    this.step = number
  }

  /** The same for the step under way alone. */
  restartStep(): void {
    for (const [name, scope] of this.scopes ?? []) if (name.startsWith(`${this.step} `)) scope.position = 0
  }

  /** `number`: of the scope, within the step. */
  replayOrRecord<S extends number, T>(number: S, make: (number: S) => Awaitable<T>): Awaitable<T> {
    const scope = this.scopeOf(number)
    const { known } = scope
    const position = scope.position++
    if (position < known.length) return known[position] as T
    const made = make(number)
    if (made instanceof Promise) return recordLater(known, position, made)
    known[position] = made
    return made
  }

  private scopeOf(number: number): AllocationScope {
    const { last, step } = this
    if (last !== undefined && last.step === step && last.number === number) return last.scope
    this.scopes ??= new Map()
    const name = `${step} ${number}`
    let scope = this.scopes.get(name)
    if (scope === undefined) {
      scope = { known: [], position: 0 }
      this.scopes.set(name, scope)
    }
    this.last = { step, number, scope }
    return scope
  }
}

async function recordLater<T>(known: unknown[], position: number, made: Promise<T>): Promise<T> {
  const value = await made
  known[position] = value
  return value
}
