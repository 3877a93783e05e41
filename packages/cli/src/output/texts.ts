/** Formats numbers, times and names for people and for statements. */

export function numberText(value: number): string {
  return value.toLocaleString('en')
}

/** `2 pages`, `1 entry`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`
}

/** Quotes the name of a class or an attribute, so that keywords can be names; dots separate namespaces and embedded objects. */
export function quotedPath(path: string): string {
  return path
    .split('.')
    .map((part) => `\`${part}\``)
    .join('.')
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

/** Uses the two largest units: `3 d 4 h`, `2 min 5 s`, `0.4 s`. */
export function durationText(ms: number): string {
  const at = units.findIndex(([, unitMs]) => ms >= unitMs)
  const unit = units[at]
  if (unit === undefined) return `${(Math.max(0, ms) / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const [name, unitMs] = unit
  const [lesser, lesserMs] = units[at + 1] ?? (['s', 1_000] as const)
  return `${Math.floor(ms / unitMs)} ${name} ${Math.floor((ms % unitMs) / lesserMs)} ${lesser}`
}
