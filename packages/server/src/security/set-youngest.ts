/** Maps of bounded size, which drop their oldest entry for a new one. */

/** The entry becomes the youngest. */
export function setYoungest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key)
  const [eldest] = map.keys()
  if (map.size >= max && eldest !== undefined) map.delete(eldest)
  map.set(key, value)
}
