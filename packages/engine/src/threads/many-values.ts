/** Copying more values to a thread would block the event loop: about 1 µs each. */
const copiedValuesMax = 20_000

export function areManyValues(values: unknown): boolean {
  const open: unknown[] = [values]
  for (let count = 0; open.length > 0; count++) {
    if (count + open.length > copiedValuesMax) return true
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (inner.length > copiedValuesMax) return true
    for (const one of inner) open.push(one)
  }
  return false
}
