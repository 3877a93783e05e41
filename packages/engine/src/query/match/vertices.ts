/** Vertices operator: extends each row by each object that an access path finds for one vertex of the patterns. */
import { assert } from '../../errors.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { referenceableClasses, withSubclasses } from '../../schema/class-set.ts'
import type { ChosenAccessPath } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import { planObjects, type SourcePlan } from '../access/source-plan.ts'
import type { BoundPattern, BoundVertex } from '../bind/bind-match.ts'
import { noClauses } from '../bind/bind-select.ts'
import type { BoundSource } from '../bind/bound.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { addCounts, type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import type { Planning } from '../operators/planning.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import type { MatchBatches, MatchRow } from './match-row.ts'
import { type NarrowedEdge, planNarrowedEdges } from './narrowed-edges.ts'
import { withVertex } from './path-modes.ts'
import { conjunction, dependsOnlyOn, type PredicatePlan, predicateTexts, qualifiedRows } from './predicates.ts'

export interface VertexPlan {
  readonly slot: number
  readonly name: string | undefined
  readonly cls: SchemaClass | null
  /** Undefined for any class. */
  readonly source: BoundSource | undefined
  /** Finds its objects if the vertex is not reached by an edge. */
  readonly objects: SourcePlan
  /** Conditions that are always checked, even if an index answers them. */
  readonly checked: ReadonlySet<PredicatePlan>
  /** Indexes by which edges lead only to objects that satisfy conditions. */
  readonly narrowed: readonly NarrowedEdge[]
}

/** `predicates` are known to apply before paths are selected; those on the vertex alone become conditions of its access paths. */
export function planVertex(vertex: BoundVertex, predicates: readonly PredicatePlan[], planning: Planning): VertexPlan {
  const { slot, name, cls } = vertex
  const checked = new Set(predicates.filter((predicate) => dependsOnlyOn(predicate, slot)))
  const where = conjunction([...checked].map(({ bound }) => bound))
  if (cls !== null) {
    const source = { kind: 'class', cls, classes: withSubclasses(cls) } as const
    const objects = planObjects(source, slot, { ...noClauses, where }, planning)
    return { slot, name, cls, source, objects, checked, narrowed: planNarrowedEdges(vertex, where, planning) }
  }
  const classes = referenceableClasses(planning.formats.catalog)
  const [first] = classes.classes
  assert(first !== undefined, 'a pattern with edges is over classes')
  const source = { kind: 'class', cls: first, classes } as const
  const objects = planObjects(source, slot, { ...noClauses, where }, planning)
  const anyClassObjects = { ...objects, className: 'any', accesses: [] }
  return { slot, name, cls, source: undefined, objects: anyClassObjects, checked, narrowed: [] }
}

/** A vertex to bind, and the access path to its objects. */
export interface VertexStep {
  readonly vertex: VertexPlan
  readonly position: number
  readonly patterns: readonly BoundPattern[]
  readonly chosen: ChosenAccessPath
  /** Predicates that can now be evaluated, without predicates of the access path. */
  readonly predicates: readonly PredicatePlan[]
}

export function vertices(step: VertexStep): MatchOperator {
  return {
    run(input, flow) {
      const { vertex, chosen, predicates } = step
      const { evaluation, context } = flow
      const first = objectRows(vertex.objects, chosen, evaluation, context, undefined)
      const operator = rowOperatorPlan(
        'vertices',
        { name: vertex.name ?? null, ...predicateTexts(predicates) },
        inputsOf(input.operator, first.operator),
      )
      return qualifiedRows(rowsWithVertex(step, input.rows, first, flow), predicates, operator, flow)
    },
    first({ evaluation, context }, node) {
      const { vertex, chosen, predicates } = step
      const conditions = predicates.map(({ evaluate }) => evaluate)
      async function* objects(): AsyncGenerator<readonly ObjectView[]> {
        const { rows, operator } = objectRows(vertex.objects, chosen, evaluation, context, undefined)
        try {
          yield* rows
        } finally {
          addCounts(node.inputs.at(-1) as ExplainNode, operator)
        }
      }
      return { slot: vertex.slot, conditions, objects }
    },
  }
}

/** Looks the objects up again for each row. `first` are those for the first row. */
async function* rowsWithVertex(
  { vertex, position, patterns, chosen }: VertexStep,
  input: MatchBatches,
  first: ReturnType<typeof objectRows>,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  let isFirst = true
  for await (const batch of input) {
    for (const row of batch) {
      const source = isFirst ? first : objectRows(vertex.objects, chosen, flow.evaluation, flow.context, undefined)
      isFirst = false
      for await (const views of source.rows)
        yield views.flatMap((view) => withVertex(patterns, row, position, vertex.slot, view) ?? [])
      if (source !== first) addCounts(first.operator, source.operator)
    }
  }
}
