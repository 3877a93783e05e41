/** Matches the elements of a list with the elements of its replacement, by their values as the caller sees them. */
import type { ElementOrigins } from '../records/attribute-change.ts'

/**
 * Where elements have hidden parts, the match must be exact: hidden data must not move to another element. It is exact where one list is a prefix
 * of the other; where a single element differs; and where each value occurs as often as before, so that equal elements kept their order. Elements
 * that remain are new, removed, or one element that changed in place. Undefined otherwise.
 */
export function exactOrigins(before: readonly string[], after: readonly string[]): ElementOrigins | undefined {
  const least = Math.min(before.length, after.length)
  let start = 0
  while (start < least && before[start] === after[start]) start++
  if (start === least) return after.map((_value, i) => (i < start ? i : undefined))
  if (before.length === after.length) {
    let end = least - 1
    while (before[end] === after[end]) end--
    if (end === start) return after.map((_value, i) => i)
  }
  return originsByValue(before, after)
}

function originsByValue(before: readonly string[], after: readonly string[]): ElementOrigins | undefined {
  const [oldPositions, newPositions] = [positionsByValue(before), positionsByValue(after)]
  const origins: (number | undefined)[] = after.map(() => undefined)
  const left: number[] = []
  for (const [value, positions] of oldPositions) {
    const found = newPositions.get(value)
    if (found === undefined) {
      for (const position of positions) left.push(position)
      continue
    }
    if (found.length !== positions.length) return undefined
    for (const [i, position] of found.entries()) origins[position] = positions[i]
    newPositions.delete(value)
  }
  const added = [...newPositions.values()].flat()
  if (left.length === 0 || added.length === 0) return origins
  const [position] = added
  if (left.length > 1 || added.length > 1 || position === undefined || position !== left[0]) return undefined
  origins[position] = position
  return origins
}

function positionsByValue(values: readonly string[]): Map<string, number[]> {
  const positions = new Map<string, number[]>()
  for (const [i, value] of values.entries()) {
    const existing = positions.get(value)
    if (existing === undefined) positions.set(value, [i])
    else existing.push(i)
  }
  return positions
}

/**
 * For elements without hidden parts, but with read-only attributes: matches the common prefix and suffix; of the rest, equal elements if the
 * shorter rest is a subsequence of the longer, else elements at the same position.
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
  const found =
    left.length > right.length ? subsequencePositions(right, left) : invert(subsequencePositions(left, right))
  for (const [i] of right.entries()) {
    const position = found === undefined ? i : found.get(i)
    if (position !== undefined && position < left.length) origins[start + i] = start + position
  }
  return origins
}

/** Positions of the elements within a longer list, as a subsequence; undefined where one is missing. */
function subsequencePositions(elements: readonly string[], within: readonly string[]): Map<number, number> | undefined {
  const positions = new Map<number, number>()
  let at = 0
  for (const [i, element] of elements.entries()) {
    while (at < within.length && within[at] !== element) at++
    if (at === within.length) return undefined
    positions.set(i, at++)
  }
  return positions
}

function invert(positions: ReadonlyMap<number, number> | undefined): Map<number, number> | undefined {
  return positions && new Map([...positions].map(([from, to]) => [to, from]))
}
