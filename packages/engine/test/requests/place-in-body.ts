/** Whether a place in a command is one of the body that the command was read from. */
import type { CommandPlace } from '../../src/errors.ts'

/** A field that is missing is named where it would be. */
export function isPlaceIn(body: unknown, place: CommandPlace): boolean {
  let at = body
  for (const [i, step] of place.entries()) {
    if (typeof at !== 'object' || at === null) return false
    if (!Object.hasOwn(at, step)) return i === place.length - 1 && !Array.isArray(at)
    at = (at as Record<string | number, unknown>)[step]
  }
  return true
}
