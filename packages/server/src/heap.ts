/** Configures the heap of V8 for a serving process: its growth before garbage collection, and where objects are allocated. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** Percent of what was in use after the last collection of the old generation, by which the heap may grow before the next. 0: as V8 chooses. */
const growthPercent = {
  /**
   * The maximum that V8 would choose by itself. Without a minimum, V8 lets a small heap grow by some megabytes and counts buffers outside of it:
   * during bulk loads it collected 15 MiB of objects again and again, for 40 % of the process's CPU.
   */
  small: 300,
  large: 0,
  sooner: 20,
}

/** A heap with less in use, garbage included, is a small one. */
const smallHeapBytes = 192 * 2 ** 20
const checkIntervalMs = 1_000

let isSooner = false
let percent = growthPercent.large

/**
 * Lets V8 collect garbage sooner. The limits of memory (contract 1.5.14) bound what requests hold, but a heap of some hundred megabytes may double
 * before V8 frees garbage, so that the process takes twice as much. Collecting sooner makes short queries a third slower, so it is done only while
 * requests hold much.
 */
export function collectSooner(isWanted: boolean): void {
  isSooner = isWanted
  chooseGrowth()
}

function chooseGrowth(): void {
  const { small, large, sooner } = growthPercent
  const wanted = isSooner ? sooner : getHeapStatistics().used_heap_size < smallHeapBytes ? small : large
  if (wanted === percent) return
  percent = wanted
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

/**
 * To be called as soon as a serving process begins. V8 allocates objects in the old generation if many that were allocated at the same place of the
 * program have lived long, as those of bodies of a thousand objects do until their commit. The objects of small changes, allocated at the same
 * places, would then remain until a full collection, although their requests end within milliseconds.
 */
export function prepareHeap(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
  chooseGrowth()
}

/** Looks from now on whether the heap has become large, or small again. Returns what ends that. */
export function watchHeap(): () => void {
  const timer = setInterval(chooseGrowth, checkIntervalMs).unref()
  return () => clearInterval(timer)
}
