/**
 * Estimates the number of entries between two keys from the pages on the paths to them, which takes the same few reads whatever the number of
 * entries.
 */

/** A page on the path to a key: its number of children (or entries, for a leaf), and how many of these precede the key. */
export interface PathPage {
  readonly before: number
  readonly count: number
}

/**
 * `from`, `to`: pages from the root to the leaf of each key. Exact within the leaves of the two keys; in between, pages are assumed to have the
 * average fanout of those on the two paths.
 */
export function estimateEntries(from: readonly PathPage[], to: readonly PathPage[]): number {
  const depth = from.length - 1
  let level = 0
  while (level < depth && beforeAt(from, level) === beforeAt(to, level)) level++
  if (level === depth) return Math.max(0, beforeAt(to, depth) - beforeAt(from, depth))
  let below = 0
  // The estimated entries below each child of the pages at the level: right of one path, left of the other.
  let each = 1
  for (let at = depth; at > level; at--) {
    const [own, other] = [from[at] as PathPage, to[at] as PathPage]
    const behind = own.count - own.before - (at < depth ? 1 : 0)
    below += (behind + other.before) * each
    each *= Math.max(1, (own.count + other.count) / 2)
  }
  return Math.round(below + (beforeAt(to, level) - beforeAt(from, level) - 1) * each)
}

function beforeAt(way: readonly PathPage[], level: number): number {
  return (way[level] as PathPage).before
}
