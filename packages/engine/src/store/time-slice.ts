/** Gives the event loop its turn during long synchronous work. */

/** How long a scan works before it lets others have their turn. */
const scanSliceMs = 5

export interface TimeSlice {
  /** Undefined while the slice lasts, else a promise that resolves after one turn of the event loop. */
  breath(): Promise<void> | undefined
}

export function openTimeSlice(): TimeSlice {
  let end = performance.now() + scanSliceMs
  async function turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    end = performance.now() + scanSliceMs
  }
  return { breath: () => (performance.now() < end ? undefined : turn()) }
}
