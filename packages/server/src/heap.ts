/** How V8 manages the heap of a serving process: how far it lets it grow before it collects garbage, and where it makes objects. */
import { setFlagsFromString } from 'node:v8'

/** Percent of what was in use after the last collection of the old generation, by which the heap may grow before the next. */
const growthPercent = {
  /**
   * The most that V8 would choose by itself. Left alone, it lets a small heap, such as that of a server without much to do, grow by some megabytes, and
   * counts buffers outside of it: the bodies of bulk then had it collect 15 MiB of objects again and again, for 40 % of the process's CPU.
   */
  usual: 300,
  sooner: 20,
}

/**
 * The limits of memory (contract 1.5.14) bound what requests hold. A heap of some hundred megabytes may double before V8
 * collects what they have let go of, so that the process takes twice as much. Collecting sooner costs short queries a third more time:
 * it is done only while requests hold much.
 */
export function collectSooner(isSooner: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${isSooner ? growthPercent.sooner : growthPercent.usual}`)
}

/**
 * To be called as soon as a serving process begins. V8 makes objects in the old generation at once where many that were made at the same place of
 * the program have lived long: as those of bodies of a thousand objects have, until their commit. Those of small changes, made at the same
 * places, would then stay until a full collection, though their requests have ended within milliseconds.
 */
export function prepareHeap(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
  collectSooner(false)
}
