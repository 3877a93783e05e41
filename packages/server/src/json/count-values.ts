/** Counts the values of what has been parsed, as `JsonLayout` counts those of a text. */

/** Whether it has more values than that: numbers, texts, literals, arrays, objects, and names of fields. Recurses as deep as it is nested. */
export function hasMoreValuesThan(max: number, parsed: unknown): boolean {
  return valuesLeft(max, parsed) < 0
}

/** Fewer than 0 once there are more; the rest is not looked at then. */
function valuesLeft(max: number, parsed: unknown): number {
  let left = max - 1
  if (typeof parsed !== 'object' || parsed === null) return left
  for (const name in parsed) {
    if (left < 0) return left
    if (!Array.isArray(parsed)) left--
    left = valuesLeft(left, (parsed as Readonly<Record<string, unknown>>)[name])
  }
  return left
}
