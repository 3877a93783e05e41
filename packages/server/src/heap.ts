/** Configures the heap of V8 for a serving process: its growth before garbage collection, and where objects are allocated. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** Growth of the heap until the next garbage collection, in percent of its use after the last collection of the old generation. 0: chosen by V8. */
const growthPercent = {
  /**
   * The maximum of V8's own choices. Without a minimum, V8 lets a small heap grow by some megabytes and counts buffers outside of it: during bulk
   * loads it collected 15 MiB of objects again and again, for 40 % of the process's CPU.
   */
  small: 300,
  large: 0,
  sooner: 20,
}

/** A heap is small below this use, including garbage. */
const smallHeapBytes = 192 * 2 ** 20
const checkIntervalMs = 1_000

let isSooner = false
let percent = growthPercent.large

/**
 * Makes V8 collect garbage sooner. Memory limits (contract 1.5.14) bound the live data of requests, but a heap of some hundred megabytes may double
 * before V8 frees garbage, so that the process uses twice as much. Sooner collection makes short queries a third slower, so it is enabled only while
 * requests use much memory.
 */
export function collectSooner(isEnabled: boolean): void {
  isSooner = isEnabled
  chooseGrowth()
}

function chooseGrowth(): void {
  const { small, large, sooner } = growthPercent
  const next = isSooner ? sooner : getHeapStatistics().used_heap_size < smallHeapBytes ? small : large
  if (next === percent) return
  percent = next
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

/**
 * Call at the start of a serving process. V8 allocates objects in the old generation if many objects from the same allocation site have lived long,
 * as with bodies of a thousand objects until their commit. The objects of small changes, from the same sites, would then remain until a full
 * collection, although their requests end within milliseconds.
 */
export function prepareHeap(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
  chooseGrowth()
}

/** Checks regularly whether the heap is large or small. Returns a function that stops the checks. */
export function watchHeap(): () => void {
  const timer = setInterval(chooseGrowth, checkIntervalMs).unref()
  return () => clearInterval(timer)
}
