/** MATCH: the vertices with their access paths, the edges, and the predicates with what each of them needs. */
import { assert } from '../../errors.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { planObjects, type SourcePlan } from '../access/source-plan.ts'
import type { BoundEdge, BoundMatch, BoundPattern, BoundVertex } from '../bind/bind-match.ts'
import { noClauses } from '../bind/bind-select.ts'
import { type Bound, conjunctsOf, partsOf } from '../bind/bound.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import { type ClausesPlan, planClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import type { ValueType } from '../values/value-type.ts'

export interface VertexPlan {
  readonly slot: number
  readonly name: string | undefined
  readonly cls: SchemaClass | null
  /** Its objects, where the search begins with them. */
  readonly objects: SourcePlan
}

/** Worked out as soon as all that it needs is bound. */
export interface PredicatePlan {
  /** Slots of vertices, edges and walks. */
  readonly needs: ReadonlySet<number>
  readonly evaluate: Evaluate
  /** As written, for EXPLAIN. */
  readonly text: string
}

export interface MatchPlan {
  readonly vertices: readonly VertexPlan[]
  readonly patterns: readonly BoundPattern[]
  readonly predicates: readonly PredicatePlan[]
  readonly clauses: ClausesPlan
  readonly slots: number
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
}

export function planMatch(bound: BoundMatch, slots: number, formats: RecordFormats, text: string): MatchPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const { vertices, patterns, clauses, rowType, isSingle } = bound
  const patternSlots = new Set([
    ...vertices.map(({ slot }) => slot),
    ...patterns.flatMap(({ slot, edges }) => [slot, ...edges.map((edge: BoundEdge) => edge.slot)]),
  ])
  const pool = [...vertices.flatMap(({ where }) => where), ...conjunctsOf(clauses.where)].flatMap(conjunctsOf)
  const needed = pool.map((predicate) => ({ predicate, needs: slotsIn(predicate, patternSlots) }))
  const plans = vertices.map((vertex) => {
    const own = needed
      .filter(({ needs }) => needs.size === 1 && needs.has(vertex.slot))
      .map(({ predicate }) => predicate)
    return planVertex(vertex, own, planning)
  })
  const predicates = needed.map(({ predicate, needs }) => {
    return { needs, evaluate: planning.compiler.compile(predicate), text: text.slice(predicate.start, predicate.end) }
  })
  const clausesPlan = planClauses(clauses, planning)
  return {
    vertices: plans,
    patterns,
    predicates,
    clauses: clausesPlan,
    slots,
    constants: planning.compiler.constants,
    rowType,
    isSingle,
  }
}

function planVertex(vertex: BoundVertex, predicates: readonly Bound[], planning: Planning): VertexPlan {
  const { slot, name, cls } = vertex
  const where = conjunction(predicates)
  if (cls !== null) {
    const source = { kind: 'class', cls, classes: [cls, ...cls.subclasses] } as const
    return { slot, name, cls, objects: planObjects(source, slot, { ...noClauses, where }, planning) }
  }
  const classes = planning.formats.catalog.classes.filter(({ isReferenceable }) => isReferenceable)
  const [first] = classes
  assert(first !== undefined, 'a pattern with edges is over classes')
  const source = { kind: 'class', cls: first, classes } as const
  const objects = planObjects(source, slot, { ...noClauses, where }, planning)
  return { slot, name, cls, objects: { ...objects, className: 'any', accesses: [] } }
}

function conjunction(predicates: readonly Bound[]): Bound | undefined {
  const [first] = predicates
  if (first === undefined || predicates.length === 1) return first
  const { start } = first
  const { end } = predicates.at(-1) as Bound
  return { kind: 'logical', operator: 'and', operands: predicates, type: first.type, start, end }
}

function slotsIn(bound: Bound, patternSlots: ReadonlySet<number>): Set<number> {
  const slots = new Set<number>()
  const visit = (node: Bound): void => {
    if ('slot' in node && patternSlots.has(node.slot)) slots.add(node.slot)
    for (const part of partsOf(node)) visit(part)
  }
  visit(bound)
  return slots
}
