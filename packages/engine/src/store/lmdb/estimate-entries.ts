/** About how many entries are between two keys: from the pages that lead to them, of which there are a few, however many entries there are. */

/** Of a page on the way to a key: how many children it has, or a leaf entries, and how many of them are before the key, or lead to what is. */
export interface PageOnWay {
  readonly before: number
  readonly count: number
}

/**
 * `from`, `to`: from the root to the leaf of each key. Within the leaves of the two keys it is exact, and in between as if pages had as many children
 * and entries as those on the two ways have.
 */
export function estimateEntries(from: readonly PageOnWay[], to: readonly PageOnWay[]): number {
  const depth = from.length - 1
  let level = 0
  while (level < depth && beforeAt(from, level) === beforeAt(to, level)) level++
  if (level === depth) return Math.max(0, beforeAt(to, depth) - beforeAt(from, depth))
  let below = 0
  // As many as are below each child of the pages at the level; behind the one way, and before the other.
  let each = 1
  for (let at = depth; at > level; at--) {
    const [own, other] = [from[at] as PageOnWay, to[at] as PageOnWay]
    const behind = own.count - own.before - (at < depth ? 1 : 0)
    below += (behind + other.before) * each
    each *= Math.max(1, (own.count + other.count) / 2)
  }
  return Math.round(below + (beforeAt(to, level) - beforeAt(from, level) - 1) * each)
}

function beforeAt(way: readonly PageOnWay[], level: number): number {
  return (way[level] as PageOnWay).before
}
