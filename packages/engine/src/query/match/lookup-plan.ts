/** The plan for looking up the objects of a source that match a row. */
import { bestOf } from '../access/access-path.ts'
import { planObjects } from '../access/source-plan.ts'
import { noClauses } from '../bind/bind-select.ts'
import { type Bound, type BoundSource, isConstant, partsOf } from '../bind/bound.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { Planning } from '../operators/planning.ts'
import { conjunction, isOfSlot, type PredicatePlan } from './predicates.ts'
import type { LookupPlan } from './source-rows.ts'

/** What is compiled for one run alone takes places behind those of the plan. */
export function planningOfRun(planning: Planning): Planning {
  const compiler = new Compiler(planning.formats)
  compiler.constants = planning.compiler.constants
  compiler.places = planning.compiler.places
  return { ...planning, compiler }
}

/** Access paths to the source's objects by what is known of a row; those for equality where there are any. */
export function planLookup(
  { predicates, planning }: { readonly predicates: readonly PredicatePlan[]; readonly planning: Planning },
  { source, slot }: { readonly source: BoundSource; readonly slot: number },
  filled: ReadonlySet<number>,
): LookupPlan | undefined {
  if (source.kind !== 'class') return undefined
  const joining = predicates.filter(({ needs }) => {
    return needs.size > 1 && needs.has(slot) && [...needs].every((one) => one === slot || filled.has(one))
  })
  const equal = joining.filter(({ bound }) => bound.kind === 'compare' && bound.operator === 'equal')
  const bound = equal.length > 0 ? equal : joining
  if (bound.length === 0) return undefined
  const asked = conjunction(bound.map((predicate) => withGiven(predicate.bound, slot)))
  const { compiler } = planning
  const start = compiler.constants
  // Of what the source asks by itself, the entries would be the same for each row.
  const alone = planObjects(source, slot, { ...noClauses, where: asked }, planning)
  const best = alone.exact ?? bestOf(alone.accesses)
  if (best === undefined) return undefined
  const own = predicates.filter((predicate) => isOfSlot(predicate, slot)).map((predicate) => predicate.bound)
  const where = conjunction([...bound.map((predicate) => withGiven(predicate.bound, slot)), ...own])
  const objects = planObjects(source, slot, { ...noClauses, where }, planning)
  return { objects: { ...objects, accesses: [best] }, start, end: compiler.constants }
}

/** The predicate with what other rows decide as values that are known by then. */
function withGiven(bound: Bound, slot: number): Bound {
  if (bound.kind === 'compare') return { ...bound, left: given(bound.left, slot), right: given(bound.right, slot) }
  if (bound.kind === 'quantifier' && bound.test.kind === 'equal') {
    const test = { ...bound.test, value: given(bound.test.value, slot) }
    return { ...bound, collection: given(bound.collection, slot), test }
  }
  return bound
}

function given(bound: Bound, slot: number): Bound {
  if (isConstant(bound) || asks(bound, slot)) return bound
  const { type, start, end } = bound
  return { kind: 'given', operand: bound, type, start, end }
}

export function asks(bound: Bound, slot: number): boolean {
  return ('slot' in bound && bound.slot === slot) || partsOf(bound).some((part) => asks(part, slot))
}
