/** Redacts literals in plans for logs: the indexes, conditions and row counts remain, the values don't. */
import { cutSign, withoutLiterals } from './parse/without-literals.ts'

/** Fields with names of the schema or of operators. */
const names: ReadonlySet<string> = new Set(['operator', 'class', 'classes', 'index', 'attribute', 'attributes'])
/** Fields with counts or estimates. */
const counts: ReadonlySet<string> = new Set([
  'estimatedRows',
  'examined',
  'returned',
  'loops',
  'entriesCounted',
  'inputsOmitted',
])
const textCharactersMax = 2_000
/** Limit for all distinct texts of one plan: scanning that many characters takes about 20 ms. */
const planTextsCharactersMax = 65_536

/** `plan`: JSON, as EXPLAIN replies it. */
export function planWithoutValues(plan: unknown): unknown {
  return withoutValues(plan, '', new PlanTexts())
}

/** Redacts the texts of one plan. Its nodes repeat the statement's predicates, so results are cached. */
class PlanTexts {
  private readonly redactions = new Map<string, string>()
  private charactersLeft = planTextsCharactersMax

  withoutValues(text: string): string {
    const cached = this.redactions.get(text)
    if (cached !== undefined) return cached
    this.charactersLeft -= Math.min(text.length, textCharactersMax)
    const redacted = this.charactersLeft < 0 ? cutSign : withoutLiterals(text, textCharactersMax)
    this.redactions.set(text, redacted)
    return redacted
  }
}

function withoutValues(plan: unknown, field: string, texts: PlanTexts): unknown {
  if (typeof plan === 'string') return names.has(field) ? plan : texts.withoutValues(plan)
  if (typeof plan === 'number') return counts.has(field) ? plan : '?'
  if (typeof plan !== 'object' || plan === null) return plan
  if (Array.isArray(plan)) return plan.map((part) => withoutValues(part, field, texts))
  return Object.fromEntries(Object.entries(plan).map(([name, part]) => [name, withoutValues(part, name, texts)]))
}
