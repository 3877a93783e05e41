/** Records the allocations of one transaction, such as OIDs, for reuse by later attempts. */
import type { Awaitable } from '../store/store.ts'

interface AllocationScope {
  readonly made: unknown[]
  /** Number of allocations that this attempt has reused or made. */
  position: number
}

/** The allocations of each step, in order by scope, over all attempts of a transaction. */
export class AllocationLog {
  /** Created by the first allocation: most transactions allocate nothing. */
  private scopes: Map<string, AllocationScope> | undefined
  /** The scope used last, which many consecutive creations share. */
  private last: { readonly step: number; readonly number: number; readonly scope: AllocationScope } | undefined
  /** The current step; 0 if there is only one. */
  private step = 0

  restart(): void {
    if (this.scopes !== undefined) for (const scope of this.scopes.values()) scope.position = 0
    this.step = 0
  }

  beginStep(number: number): void {
    this.step = number
  }

  /** Like `restart`, for the current step only. */
  restartStep(): void {
    for (const [name, scope] of this.scopes ?? []) if (name.startsWith(`${this.step} `)) scope.position = 0
  }

  /** `number`: of the scope, within the step. */
  replayOrRecord<S extends number, T>(number: S, make: (number: S) => Awaitable<T>): Awaitable<T> {
    const scope = this.scopeOf(number)
    const { made } = scope
    const position = scope.position++
    if (position < made.length) return made[position] as T
    const value = make(number)
    if (value instanceof Promise) return recordAsync(made, position, value)
    made[position] = value
    return value
  }

  private scopeOf(number: number): AllocationScope {
    const { last, step } = this
    if (last !== undefined && last.step === step && last.number === number) return last.scope
    this.scopes ??= new Map()
    const name = `${step} ${number}`
    let scope = this.scopes.get(name)
    if (scope === undefined) {
      scope = { made: [], position: 0 }
      this.scopes.set(name, scope)
    }
    this.last = { step, number, scope }
    return scope
  }
}

async function recordAsync<T>(made: unknown[], position: number, value: Promise<T>): Promise<T> {
  const resolved = await value
  made[position] = resolved
  return resolved
}
