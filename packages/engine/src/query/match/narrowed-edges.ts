/** Finds edges to the objects of a vertex by an index on the reference and on attributes that the vertex restricts. */
import { type IndexKeyFormat, indexKeyFormat, type KeyCondition } from '../../indexes/index-key.ts'
import type { KeyRange } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import type { AttributeNumber } from '../../types/type-spec.ts'
import {
  conditionTexts,
  evaluatesOf,
  type KeyConditions,
  keyConditionOf,
  keyConditionsOf,
  soundRange,
} from '../access/index-scan.ts'
import { directConditions, sargablePredicates } from '../access/sargable-predicates.ts'
import type { BoundVertex } from '../bind/bind-match.ts'
import type { Bound } from '../bind/bound.ts'
import { evaluateConstants } from '../execute/evaluate-rows.ts'
import type { Planning } from '../operators/planning.ts'
import type { MatchFlow } from './match-operator.ts'

export interface NarrowedEdge {
  readonly attribute: AttributeNumber
  readonly format: IndexKeyFormat
  readonly conditions: KeyConditions
}

/** `where` holds the conditions on the vertex alone. */
export function planNarrowedEdges(
  { cls, slot }: BoundVertex,
  where: Bound | undefined,
  planning: Planning,
): NarrowedEdge[] {
  if (cls === null || where === undefined) return []
  const own = directConditions(sargablePredicates(where, slot))
  const edges = new Map<AttributeNumber, NarrowedEdge>()
  for (const index of cls.indexes) {
    const [first, ...next] = index.keyAttributes
    const [attribute, another] = first?.path ?? []
    if (index.state !== 'ready' || attribute === undefined || another !== undefined) continue
    const format = indexKeyFormat(index, planning.formats.of(cls))
    if (format.parts[0]?.format.attribute.spec.logicalType !== 'reference') continue
    const conditions = keyConditionsOf(next, own, planning, true)
    const width = widthOf(conditions)
    const previous = edges.get(attribute)
    if (width === 0 || (previous !== undefined && widthOf(previous.conditions) >= width)) continue
    edges.set(attribute, { attribute, format, conditions })
  }
  return [...edges.values()]
}

/** An equality is more selective than both ends of a range. */
function widthOf({ equal, lower, upper }: KeyConditions): number {
  return 3 * equal.length + (lower === undefined ? 0 : 1) + (upper === undefined ? 0 : 1)
}

/** The indexes of one edge pattern in one run; their values are evaluated when the first edge is followed. */
export class NarrowedEdges {
  private readonly edges: ReadonlyMap<AttributeNumber, NarrowedEdge>
  private readonly flow: MatchFlow
  private readonly requested = new Map<AttributeNumber, KeyCondition | undefined>()

  constructor(edges: readonly NarrowedEdge[], flow: MatchFlow) {
    this.edges = new Map(edges.map((edge) => [edge.attribute, edge]))
    this.flow = flow
  }

  of(attribute: AttributeNumber): NarrowedEdge | undefined {
    return this.edges.get(attribute)
  }

  /** The range of the objects that refer to `oid`; undefined if none of them can qualify. */
  async rangeOf({ attribute, format, conditions }: NarrowedEdge, oid: Oid): Promise<KeyRange | undefined> {
    if (!this.requested.has(attribute)) {
      const { evaluation, context } = this.flow
      const values = await evaluateConstants(evaluatesOf(conditions), evaluation, context)
      this.requested.set(attribute, keyConditionOf(conditions, values))
    }
    const condition = this.requested.get(attribute)
    return condition && soundRange(format, { ...condition, equal: [oid, ...condition.equal] })
  }
}

export function narrowedText({ format, conditions }: NarrowedEdge): string {
  const [first, ...next] = format.parts
  return `${first?.name}: index ${format.index.name} (${conditionTexts(next, conditions).join(', ')})`
}
