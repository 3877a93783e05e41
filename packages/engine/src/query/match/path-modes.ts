/** The modes of a pattern: WALK repeats anything, TRAIL no edge, ACYCLIC no vertex, SIMPLE only its first vertex as its last. */
import type { Oid } from '../../types/oid.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PathMode } from '../language/ast.ts'
import type { Edge } from '../values/edge.ts'
import type { MatchRow } from './match-row.ts'

export function repeatsVertices(mode: PathMode): boolean {
  return mode === 'walk' || mode === 'trail'
}

/** A walk without edges has one object at both ends, so repetition is decided only when the path is complete. */
function mayHaveNoEdge({ edges }: BoundPattern): boolean {
  return edges.some(({ min }) => min === 0)
}

/** False if an object at the vertex must not be visited elsewhere by the pattern; the rest is decided by `isAllowed`. */
export function mayRevisit(pattern: BoundPattern, vertex: number): boolean {
  const { mode, vertices } = pattern
  if (repeatsVertices(mode) || mayHaveNoEdge(pattern)) return true
  return mode === 'simple' && (vertices[0] === vertex || vertices.at(-1) === vertex)
}

/** Returns the row with an object in `slot`; undefined if a pattern has visited the object and must not repeat it. */
export function withVertex(
  patterns: readonly BoundPattern[],
  row: MatchRow,
  position: number,
  slot: number,
  view: ObjectView,
): MatchRow | undefined {
  const visited = [...row.visited]
  for (const [i, pattern] of patterns.entries()) {
    if (!pattern.vertices.includes(position)) continue
    const visitedOids = visited[i] as readonly Oid[]
    if (visitedOids.includes(view.oid) && !mayRevisit(pattern, position)) return undefined
    visited[i] = [...visitedOids, view.oid]
  }
  return { ...row, slots: row.slots.with(slot, view), visited }
}

/** Whether `isAllowed` must check the pattern once all its vertices and edges are bound. */
export function isDecidedAtEnd(pattern: BoundPattern): boolean {
  return !repeatsVertices(pattern.mode) && (pattern.mode === 'simple' || mayHaveNoEdge(pattern))
}

/** Whether the walk of pattern `number` repeats no object except at vertices of one name, across an empty walk, and at both ends in SIMPLE. */
export function isAllowed(pattern: BoundPattern, number: number, slots: readonly number[], row: MatchRow): boolean {
  const { mode, vertices } = pattern
  const walks = row.edges[number] as readonly (readonly Edge[] | undefined)[]
  const groups = [...vertices]
  const join = (one: number, other: number): void => {
    for (const [at, group] of groups.entries()) if (group === other) groups[at] = one
  }
  const oidAt = (i: number): Oid => (row.slots[slots[vertices[i] as number] as number] as ObjectView).oid
  for (const [i, walk] of walks.entries()) if (walk?.length === 0) join(groups[i] as number, groups[i + 1] as number)
  const last = vertices.length - 1
  if (mode === 'simple' && oidAt(0) === oidAt(last)) join(groups[0] as number, groups[last] as number)
  const oids: Oid[] = []
  for (const [i, group] of groups.entries()) if (groups.indexOf(group) === i) oids.push(oidAt(i))
  for (const [i, walk] of walks.entries()) {
    let at = oidAt(i)
    for (const { from, to } of (walk ?? []).slice(0, -1)) {
      at = from === at ? to : from
      oids.push(at)
    }
  }
  return new Set(oids).size === oids.length
}

/** One key per edge in either direction, distinct for steps that end at its edge object. The two directions of a paired link are two edges. */
export function edgeKey({ from, attributeNumber, to, edgeData }: Edge): string {
  return `${from} ${attributeNumber} ${edgeData ?? to}`
}
