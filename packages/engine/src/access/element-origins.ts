/** Which elements of a list those of the list that replaces it are, by how they look to whoever replaces it. */
import type { ElementOrigins } from '../records/attribute-change.ts'

/**
 * Where something of the elements is hidden, each has to be known exactly: what is hidden must not come to another element. They are known
 * - where one list begins with the other: elements were added to the end, or taken away from it;
 * - where one element has changed, and all others are at their places;
 * - where as many look the same as before: these are in the order that they had. What is left then is new, or was taken away, or is one element that
 *   was changed at its place.
 * Undefined for all others.
 */
export function exactOrigins(before: readonly string[], after: readonly string[]): ElementOrigins | undefined {
  const least = Math.min(before.length, after.length)
  let start = 0
  while (start < least && before[start] === after[start]) start++
  if (start === least) return after.map((_look, i) => (i < start ? i : undefined))
  if (before.length === after.length) {
    let end = least - 1
    while (before[end] === after[end]) end--
    if (end === start) return after.map((_look, i) => i)
  }
  return originsByLook(before, after)
}

function originsByLook(before: readonly string[], after: readonly string[]): ElementOrigins | undefined {
  const [were, are] = [placesByLook(before), placesByLook(after)]
  const origins: (number | undefined)[] = after.map(() => undefined)
  const left: number[] = []
  for (const [look, places] of were) {
    const found = are.get(look)
    if (found === undefined) {
      for (const place of places) left.push(place)
      continue
    }
    if (found.length !== places.length) return undefined
    for (const [i, place] of found.entries()) origins[place] = places[i]
    are.delete(look)
  }
  const others = [...are.values()].flat()
  if (left.length === 0 || others.length === 0) return origins
  const [place] = others
  if (left.length > 1 || others.length > 1 || place === undefined || place !== left[0]) return undefined
  origins[place] = place
  return origins
}

function placesByLook(looks: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  for (const [i, look] of looks.entries()) {
    const known = places.get(look)
    if (known === undefined) places.set(look, [i])
    else known.push(i)
  }
  return places
}

/**
 * Where nothing of them is hidden, and some attributes are read-only: those at the beginning and at the end that look the same; of the rest, where all that is left of
 * the one list is in the other in the same order, those that look the same; else those at the same place.
 */
export function likelyOrigins(before: readonly string[], after: readonly string[]): ElementOrigins {
  const least = Math.min(before.length, after.length)
  let start = 0
  while (start < least && before[start] === after[start]) start++
  let end = 0
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const origins: (number | undefined)[] = after.map((_element, i) => {
    return i < start ? i : i >= after.length - end ? i + before.length - after.length : undefined
  })
  const [left, right] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const found = left.length > right.length ? placesOf(right, left) : invert(placesOf(left, right))
  for (const [i] of right.entries()) {
    const place = found === undefined ? i : found.get(i)
    if (place !== undefined && place < left.length) origins[start + i] = start + place
  }
  return origins
}

/** Where each of the elements is found in a longer list, in the same order; undefined where one is not. */
function placesOf(elements: readonly string[], within: readonly string[]): Map<number, number> | undefined {
  const places = new Map<number, number>()
  let at = 0
  for (const [i, element] of elements.entries()) {
    while (at < within.length && within[at] !== element) at++
    if (at === within.length) return undefined
    places.set(i, at++)
  }
  return places
}

function invert(places: ReadonlyMap<number, number> | undefined): Map<number, number> | undefined {
  return places && new Map([...places].map(([from, to]) => [to, from]))
}
