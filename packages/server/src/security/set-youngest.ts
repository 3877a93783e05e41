/** Maps of bounded size that evict the oldest entry. */

/** Sets an entry and makes it the newest. */
export function setYoungest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key)
  const [oldest] = map.keys()
  if (map.size >= max && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}
