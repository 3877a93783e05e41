/** Expressions that may take long: they are done in parts, between which others have their turn. */
import type { Evaluate, Run } from '../execute/run.ts'
import { type Kept, turnDue } from '../execute/work.ts'

/** Gives out the places under which results are kept; see `Work`. */
export interface Places {
  places: number
}

/** Of a text that is worked on or looked at. */
export function textSteps(characters: number): number {
  return characters >> 2
}
const elementSteps = 16

/** An expression that says what it spends, and whose result is kept when that was much. */
export function inParts(places: Places, evaluate: Evaluate): Evaluate {
  const place = places.places++
  return (run) => {
    const { work } = run
    if (work.isInterrupted) {
      const kept = work.of(place)
      if (kept !== undefined) return kept.value
    }
    const value = evaluate(run)
    if (!work.isDue && !work.isInterrupted) return value
    work.keep(place, { value })
    if (work.isDue) throw turnDue
    return value
  }
}

export interface Loop<S> {
  /** What is gone through, and what it comes to so far; null = the loop gives null. */
  start(run: Run): { readonly elements: readonly unknown[]; readonly state: S } | null
  /** True = no further element changes the result. */
  step(run: Run, state: S, element: unknown): boolean
  end(run: Run, state: S): unknown
}

interface Progress<S> extends Kept {
  readonly elements: readonly unknown[]
  readonly state: S
  readonly next: number
}

/** `inner`: makes what is evaluated for each element. */
export function compileLoop<S, I>(places: Places, inner: () => I, loopOf: (inner: I) => Loop<S>): Evaluate {
  const first = places.places
  const { start, step, end } = loopOf(inner())
  const place = places.places++
  const goThrough = (run: Run, elements: readonly unknown[], state: S, from: number): unknown => {
    const { work } = run
    let at = from
    try {
      while (at < elements.length) {
        work.spend(elementSteps)
        const isDecided = step(run, state, elements[at])
        at = isDecided ? elements.length : at + 1
        if (work.isInterrupted) work.forget(first, place)
        // Afterwards, so that each part comes further by one element at least.
        if (work.isDue) throw turnDue
      }
    } catch (error) {
      const progress: Progress<S> = { value: undefined, elements, state, next: at }
      if (error === turnDue) work.keep(place, progress)
      throw error
    }
    const value = end(run, state)
    if (work.isInterrupted) work.keep(place, { value })
    return value
  }
  return (run) => {
    const kept = run.work.isInterrupted ? run.work.of(place) : undefined
    if (kept === undefined) {
      const started = start(run)
      return started === null ? null : goThrough(run, started.elements, started.state, 0)
    }
    if (!('next' in kept)) return kept.value
    const { elements, state, next } = kept as Progress<S>
    return goThrough(run, elements, state, next)
  }
}
