/** Tests whether a value survives JSON serialization; numbers beyond a double do not. */
export function isPlainJson(value: unknown): boolean {
  if (typeof value === 'number') return !Object.is(value, -0) && Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint' && typeof value !== 'symbol'
  if (Array.isArray(value)) return value.every(isPlainJson)
  for (const name in value) if (!isPlainJson((value as Record<string, unknown>)[name])) return false
  return true
}
