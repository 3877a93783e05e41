/** Plans without the values that the text has: which index, which condition, how many rows, and not of whom. */
import { inTurns } from '../store/time-slice.ts'
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

/** With turns for others in between: a plan may have hundreds of texts. `plan`: JSON, as EXPLAIN replies it. */
export function planWithoutValues(plan: unknown): Promise<unknown> {
  return inTurns(withoutValues(plan))
}

/** The same; yields behind each text. */
export function* withoutValues(plan: unknown, field = ''): Generator<undefined, unknown> {
  if (typeof plan === 'string') {
    const told = names.has(field) ? plan : withoutLiterals(plan, textCharactersMax)
    yield
    return told
  }
  if (typeof plan === 'number') return counts.has(field) ? plan : '?'
  if (typeof plan !== 'object' || plan === null) return plan
  if (Array.isArray(plan)) {
    const parts: unknown[] = []
    for (const part of plan) parts.push(yield* withoutValues(part, field))
    return parts
  }
  const fields: [string, unknown][] = []
  for (const [name, part] of Object.entries(plan)) fields.push([name, yield* withoutValues(part, name)])
  return Object.fromEntries(fields)
}
