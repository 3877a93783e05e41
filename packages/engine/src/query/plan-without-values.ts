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
export function planWithoutValues(plan: unknown): unknown {
  return withoutValues(plan, '', new Map())
}

/** `known`: texts without their values, by the texts: the nodes of a plan repeat the predicates of a statement. */
function withoutValues(plan: unknown, field: string, known: Map<string, string>): unknown {
  if (typeof plan === 'string') {
    if (names.has(field)) return plan
    const text = known.get(plan) ?? withoutLiterals(plan, textCharactersMax)
    known.set(plan, text)
    return text
  }
  if (typeof plan === 'number') return counts.has(field) ? plan : '?'
  if (typeof plan !== 'object' || plan === null) return plan
  if (Array.isArray(plan)) return plan.map((part) => withoutValues(part, field, known))
  return Object.fromEntries(Object.entries(plan).map(([name, part]) => [name, withoutValues(part, name, known)]))
}
