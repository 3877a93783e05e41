/** The plan for looking up the objects of a source that match a row. */
import type { SchemaClass } from '../../schema/catalog.ts'
import { accessesFor } from '../access/access-kinds.ts'
import { bestOf, type OidAccess } from '../access/access-path.ts'
import { IndexScan, planIndexScans } from '../access/index-scan.ts'
import { directConditions, sargablePredicates } from '../access/sargable-predicates.ts'
import { planObjects } from '../access/source-plan.ts'
import { noClauses } from '../bind/bind-select.ts'
import { type Bound, type BoundSource, isConstant, operandsOf } from '../bind/bound.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { Planning } from '../operators/planning.ts'
import { conjunction, dependsOnlyOn, type PredicatePlan } from './predicates.ts'
import type { LookupPlan } from './source-rows.ts'

/** Constants compiled for a single run are numbered after the constants of the plan. */
export function planningOfRun(planning: Planning): Planning {
  const compiler = new Compiler(planning.formats)
  compiler.constants = planning.compiler.constants
  return { ...planning, compiler }
}

/** Returns the access path to the source's objects by a join condition, preferably an equality; other conditions narrow keys and filter entries. */
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
  const needed = equal.length > 0 ? equal : joining
  if (needed.length === 0) return undefined
  const joinConditions = needed.map(({ bound }) => withRowConstants(bound, slot))
  const others = joining.filter((one) => !needed.includes(one)).map(({ bound }) => withRowConstants(bound, slot))
  const own = predicates.filter((predicate) => dependsOnlyOn(predicate, slot)).map(({ bound }) => bound)
  const { compiler } = planning
  const start = compiler.constants
  const best = bestLookup(source.cls, slot, joinConditions, [...own, ...others], planning)
  if (best === undefined) return undefined
  const objects = planObjects(source, slot, { ...noClauses, where: conjunction([...joinConditions, ...own]) }, planning)
  return { objects: { ...objects, accesses: [best] }, start, end: compiler.constants }
}

/** Chooses among accesses that use a join condition; other conditions select the same entries for every row. */
function bestLookup(
  cls: SchemaClass,
  slot: number,
  joining: readonly Bound[],
  others: readonly Bound[],
  planning: Planning,
): OidAccess | undefined {
  const joined = sargablePredicates(conjunction(joining), slot)
  // An IN would give a range per value for each row, so it is checked on the entries.
  const narrowing = sargablePredicates(conjunction(others), slot).filter(({ kind }) => kind !== 'anyOf')
  const conditions = [...joined, ...narrowing]
  const predicate = { where: conjunction([...joining, ...others]), slot }
  const keys = new Set(directConditions(joined).map(({ path }) => path.key.map(({ number }) => number).join('.')))
  const scans = planIndexScans({ cls, conditions, planning, predicate, accessesFor }).filter((scan) => {
    return scan.keyPaths.some((path) => keys.has(path.join('.')))
  })
  const ways = accessesFor(cls, joined, planning, predicate).filter((access) => !(access instanceof IndexScan))
  const all = [...ways, ...scans]
  return all.find(({ isAtMostOne }) => isAtMostOne) ?? bestOf(all)
}

/** The predicate with the values of bound rows as constants. */
function withRowConstants(bound: Bound, slot: number): Bound {
  if (bound.kind === 'compare')
    return { ...bound, left: asRowConstant(bound.left, slot), right: asRowConstant(bound.right, slot) }
  if (bound.kind === 'quantifier' && bound.test.kind === 'equal') {
    const test = { ...bound.test, value: asRowConstant(bound.test.value, slot) }
    return { ...bound, collection: asRowConstant(bound.collection, slot), test }
  }
  return bound
}

function asRowConstant(bound: Bound, slot: number): Bound {
  if (isConstant(bound) || dependsOn(bound, slot)) return bound
  const { type, start, end } = bound
  return { kind: 'given', operand: bound, type, start, end }
}

export function dependsOn(bound: Bound, slot: number): boolean {
  return ('slot' in bound && bound.slot === slot) || operandsOf(bound).some((part) => dependsOn(part, slot))
}
