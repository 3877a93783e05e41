/** Chooses at run time the order of the sources of a join and the method: an index lookup per row, or a hash table. */

import { assert } from '../../errors.ts'
import { chooseAccess } from '../access/choose-access.ts'
import type { SourcePlan } from '../access/source-plan.ts'
import type { Bound, BoundSource } from '../bind/bound.ts'
import { type Evaluate, unknownValue } from '../evaluate/evaluation-context.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { BufferedValues } from '../operators/buffered-values.ts'
import type { Planning } from '../operators/planning.ts'
import { type NestedRowPlans, statementsOfRows } from '../operators/row-statements.ts'
import { isNumeric, isReference, isText, type ValueType } from '../values/value-type.ts'
import { firstSource } from './first-source.ts'
import { hashJoin } from './hash-join.ts'
import { lookupJoin } from './lookup-join.ts'
import { dependsOn, planLookup, planningOfRun } from './lookup-plan.ts'
import type { MatchFlow, MatchOperator, MatchPipeline } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import type { PredicatePlan } from './predicates.ts'
import type { JoinKey, LookupPlan, SourceRows } from './source-rows.ts'

export type JoinSource = { readonly slot: number; readonly name: string } & (
  | { readonly kind: 'objects'; readonly source: BoundSource; readonly objects: SourcePlan }
  | {
      readonly kind: 'rows'
      readonly rows: Evaluate
      readonly isMany: boolean
      readonly isWrapped: boolean
      readonly statements: NestedRowPlans | undefined
    }
)

export interface JoinedPlan {
  readonly sources: readonly JoinSource[]
  readonly predicates: readonly PredicatePlan[]
  readonly planning: Planning
  readonly slots: number
}

interface Candidate {
  readonly source: JoinSource
  readonly rows: SourceRows
  readonly estimated: number
}

export async function joinRows(
  plan: JoinedPlan,
  flow: MatchFlow,
): Promise<{ readonly rows: MatchBatches; readonly operator: ExplainNode; readonly isOrdered: boolean }> {
  let pipeline: MatchPipeline = { rows: once(plan), operator: undefined }
  for (const operator of await operatorsInOrder(plan, flow)) pipeline = operator.run(pipeline, flow)
  const { rows, operator } = pipeline
  assert(operator !== undefined, 'there is a source')
  return { rows, operator, isOrdered: false }
}

async function* once({ slots }: JoinedPlan): AsyncGenerator<readonly MatchRow[]> {
  yield [{ slots: new Array(slots).fill(undefined), visited: [], edges: [] }]
}

async function operatorsInOrder(planned: JoinedPlan, flow: MatchFlow): Promise<MatchOperator[]> {
  const plan: JoinedPlan = { ...planned, planning: planningOfRun(planned.planning) }
  const left: Candidate[] = []
  for (const source of plan.sources) left.push(await candidate(source, plan.sources.length === 1, flow))
  left.sort((one, other) => one.estimated - other.estimated)
  const first = cheapestFirst(plan, left)
  left.splice(left.indexOf(first), 1)
  const filled = new Set([first.source.slot])
  const predicatesLeft = new Set(plan.predicates)
  const operators = [firstSource(first.source, first.rows, decidable(predicatesLeft, filled))]
  let rowsBefore = first.estimated
  while (left.length > 0) {
    const next = nextOf(plan, left, filled, rowsBefore, flow.context.isRemote)
    left.splice(left.indexOf(next.candidate), 1)
    const { source, rows } = next.candidate
    filled.add(source.slot)
    const predicates = decidable(predicatesLeft, filled)
    operators.push(
      next.lookup === undefined
        ? hashJoin(source, rows, next.keys, predicates)
        : lookupJoin(source, next.lookup, predicates),
    )
    // The number of joined rows is unknown.
    rowsBefore = Math.max(rowsBefore, next.candidate.estimated)
  }
  return operators
}

/** Approximate number of rows read in the time of one lookup. */
const rowsOfLookup = 8

/** Chooses the first source by the cost of joining the rest; among equal costs the largest one, which then needs no hash table. */
function cheapestFirst(plan: JoinedPlan, candidates: readonly Candidate[]): Candidate {
  let best: { readonly candidate: Candidate; readonly cost: number } | undefined
  for (const candidate of candidates) {
    const { estimated, source } = candidate
    const filled = new Set([source.slot])
    let cost = estimated
    for (const other of candidates) {
      if (other === candidate) continue
      const lookups = estimated * rowsOfLookup
      const isLookedUp = lookups < other.estimated && lookupPlanOf(plan, other.source, filled) !== undefined
      cost += isLookedUp ? lookups : other.estimated
    }
    if (best === undefined || cost <= best.cost) best = { candidate, cost }
  }
  assert(best !== undefined, 'there is a source')
  return best.candidate
}

/** For this few rows, lookups are used even on a remote store. */
const fewRows = 16

interface Next {
  readonly candidate: Candidate
  readonly lookup: LookupPlan | undefined
  readonly keys: readonly JoinKey[]
}

/** Prefers a source with a lookup, then one with an equality, then the smallest. */
function nextOf(
  plan: JoinedPlan,
  left: readonly Candidate[],
  filled: ReadonlySet<number>,
  rowsBefore: number,
  isRemote: boolean,
): Next {
  const all = left.map((one): Next => {
    const keys = keysOf(plan, one.source, filled)
    const isWorthIt = rowsBefore * rowsOfLookup < one.estimated && (!isRemote || rowsBefore <= fewRows)
    const lookup = isWorthIt || keys.length === 0 ? lookupPlanOf(plan, one.source, filled) : undefined
    return { candidate: one, lookup, keys }
  })
  const next = all.find(({ lookup }) => lookup !== undefined) ?? all.find(({ keys }) => keys.length > 0) ?? all[0]
  assert(next !== undefined, 'a source is left')
  return next
}

async function candidate(source: JoinSource, isOnly: boolean, { evaluation, context }: MatchFlow): Promise<Candidate> {
  if (source.kind === 'objects') {
    const chosen = await chooseAccess(source.objects, evaluation, context, undefined)
    return { source, rows: { kind: 'objects', objects: source.objects, chosen }, estimated: chosen.estimated }
  }
  let values: readonly unknown[] = []
  try {
    const statements = statementsOfRows(source.statements, evaluation, context)
    if (statements !== undefined) return await statementCandidate(source, statements, isOnly, { evaluation, context })
    const value = await evaluateConstant(source.rows, evaluation, context)
    values = source.isMany ? ((value as readonly unknown[] | null) ?? []) : [value]
  } catch (error) {
    if (error !== unknownValue) throw error
  }
  const rows = source.isWrapped ? values.map((value) => [value]) : values
  return { source, rows: { kind: 'values', values: rows }, estimated: values.length }
}

/** A single source is streamed; several are counted first. */
async function statementCandidate(
  source: Extract<JoinSource, { kind: 'rows' }>,
  rows: (operator?: ExplainNode) => AsyncIterable<readonly unknown[]>,
  isOnly: boolean,
  { context }: MatchFlow,
): Promise<Candidate> {
  const { isWrapped } = source
  if (isOnly) return { source, rows: { kind: 'statements', rows, isWrapped, count: undefined }, estimated: 0 }
  const buffered = await BufferedValues.of(rows(), context)
  context.closeAtEnd(buffered)
  const { count } = buffered
  return { source, rows: { kind: 'statements', rows: () => buffered.batches(), isWrapped, count }, estimated: count }
}

/** Removes and returns the predicates whose slots are now all filled. */
function decidable(left: Set<PredicatePlan>, filled: ReadonlySet<number>): PredicatePlan[] {
  const now = [...left].filter(({ needs }) => [...needs].every((slot) => filled.has(slot)))
  for (const predicate of now) left.delete(predicate)
  return now
}

function lookupPlanOf(plan: JoinedPlan, source: JoinSource, filled: ReadonlySet<number>): LookupPlan | undefined {
  return source.kind === 'objects' ? planLookup(plan, source, filled) : undefined
}

/** Equalities between the source and bound slots. */
function keysOf(plan: JoinedPlan, { slot }: JoinSource, filled: ReadonlySet<number>): JoinKey[] {
  const { compiler } = plan.planning
  const all = plan.sources.map((source) => source.slot)
  return plan.predicates.flatMap(({ bound, needs, text }) => {
    if (bound.kind !== 'compare' || bound.operator !== 'equal' || !needs.has(slot) || needs.size < 2) return []
    if (![...needs].every((one) => one === slot || filled.has(one))) return []
    if (!areHashed(bound.left.type, bound.right.type)) return []
    const isOwn = (side: Bound): boolean =>
      dependsOn(side, slot) && !all.some((one) => one !== slot && dependsOn(side, one))
    const [own, other] = isOwn(bound.left) ? [bound.left, bound.right] : [bound.right, bound.left]
    if (!isOwn(own) || dependsOn(other, slot)) return []
    return [{ own: compiler.compile(own), other: compiler.compile(other), text }]
  })
}

const hashedKinds: readonly ValueType['kind'][] = ['boolean', 'date', 'time', 'datetime', 'interval', 'guid', 'bytes']

/** Whether equal values of the two types have the same hash key; see `hashKey`. */
function areHashed(one: ValueType, other: ValueType): boolean {
  if (isNumeric(one) || isText(one)) return isNumeric(one) ? isNumeric(other) : isText(other)
  if (isReference(one)) return isReference(other)
  return one.kind === other.kind && hashedKinds.includes(one.kind)
}
