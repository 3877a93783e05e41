/** Counts the values of parameters, which decide in which thread a statement runs. */

/** More values do not fit into a slice, since an expression converts a whole list in one step. */
export const sliceValuesMax = 5_000
/** Copying more values to a thread would block the event loop: 0.1 to 0.4 µs each. */
export const copiedValuesMax = 200_000

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
