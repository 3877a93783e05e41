/** Plans without the values that the text has: which index, which condition, how many rows, and not of whom. */
import { withoutLiterals } from './parse/without-literals.ts'

/** What is a name, and not a part of the text. */
const names: ReadonlySet<string> = new Set(['operator', 'class', 'classes', 'index', 'attribute', 'attributes'])
/** What was counted or estimated. */
const counts: ReadonlySet<string> = new Set([
  'estimatedRows',
  'examined',
  'returned',
  'loops',
  'entriesCounted',
  'inputsOmitted',
])
const textCharactersMax = 2_000

/** `plan`: JSON, as EXPLAIN replies it. */
export function planWithoutValues(plan: unknown, field = ''): unknown {
  if (typeof plan === 'string') return names.has(field) ? plan : withoutLiterals(plan, textCharactersMax)
  if (typeof plan === 'number') return counts.has(field) ? plan : '?'
  if (typeof plan !== 'object' || plan === null) return plan
  if (Array.isArray(plan)) return plan.map((part) => planWithoutValues(part, field))
  return Object.fromEntries(Object.entries(plan).map(([name, part]) => [name, planWithoutValues(part, name)]))
}
