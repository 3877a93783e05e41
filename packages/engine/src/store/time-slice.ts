/** Gives the event loop its turn during long synchronous work. */

import type { Awaitable } from './store.ts'

/** How long work goes on before others have their turn. */
const sliceMs = 5
/** Steps of a few microseconds between two looks at the clock. */
const stepsBetweenLooks = 32

export interface TimeSlice {
  /** Undefined while the slice lasts, else a promise that resolves after one turn of the event loop. */
  breath(): Promise<void> | undefined
}

export function openTimeSlice(): TimeSlice {
  let end = performance.now() + sliceMs
  async function turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    end = performance.now() + sliceMs
  }
  return { breath: () => (performance.now() < end ? undefined : turn()) }
}

/**
 * Takes a step for one after the other, with turns for others in between, until one returns false. A step takes some microseconds of its own;
 * where it waits, it is waited for.
 */
export async function inSlices<T>(
  all: Iterable<T>,
  step: (one: T) => Awaitable<unknown>,
  slice: TimeSlice = openTimeSlice(),
): Promise<void> {
  let steps = 0
  for (const one of all) {
    const stepped = step(one)
    if ((stepped instanceof Promise ? await stepped : stepped) === false) return
    if (++steps % stepsBetweenLooks !== 0) continue
    const breath = slice.breath()
    if (breath !== undefined) await breath
  }
}

/** The same in parts of so many, for steps that are of more use for several at once. */
export async function inParts<T>(
  all: readonly T[],
  partSize: number,
  step: (part: readonly T[]) => Awaitable<unknown>,
): Promise<void> {
  if (all.length <= partSize) {
    await step(all)
    return
  }
  const slice = openTimeSlice()
  for (let at = 0; at < all.length; at += partSize) {
    await step(all.slice(at, at + partSize))
    const breath = slice.breath()
    if (breath !== undefined) await breath
  }
}
