/** Counts values, which decide how and in which thread work on them is done. */

/** Whether there are more values than `max`, within collections and objects. */
export function areMoreValues(values: unknown, max: number): boolean {
  const open: unknown[] = [values]
  for (let count = 0; open.length > 0; count++) {
    if (count + open.length > max) return true
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (inner.length > max) return true
    for (const one of inner) open.push(one)
  }
  return false
}
