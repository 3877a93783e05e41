/** How V8 manages the heap of a serving process: how far it lets it grow before it collects garbage, and where it makes objects. */
import { setFlagsFromString } from 'node:v8'

/** Percent of what was in use after the last collection of the old generation; 0 leaves it to V8. */
const growthPercent = 20

/**
 * The limits of memory (contract 1.5.14) bound what requests hold. By default V8 lets a heap of some hundred megabytes double before it
 * collects what they have let go of, so that the process takes twice as much. Collecting sooner costs short queries a third more time:
 * it is done only while requests hold much.
 */
export function collectSooner(isSooner: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${isSooner ? growthPercent : 0}`)
}

/**
 * To be called as soon as a serving process begins. V8 makes objects in the old generation at once where many that were made at the same place of
 * the program have lived long: as those of bodies of a thousand objects have, until their commit. Those of small changes, made at the same
 * places, would then stay until a full collection, though their requests have ended within milliseconds.
 */
export function makeAllYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
