/**
 * The modes of a pattern, which restrict what its path may repeat: WALK anything, TRAIL no edge, ACYCLIC no vertex,
 * SIMPLE only its first vertex at the end.
 */
import type { Oid } from '../../types/oid.ts'
import type { BoundPattern } from '../bind/bind-match.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PathMode } from '../language/ast.ts'
import type { Edge } from '../values/edge.ts'
import type { MatchRow } from './match-row.ts'

export function repeatsVertices(mode: PathMode): boolean {
  return mode === 'walk' || mode === 'trail'
}

/** A walk of no edge has one object at both its ends: which objects are met twice is then told at the end alone. */
function mayHaveNoEdge({ edges }: BoundPattern): boolean {
  return edges.some(({ min }) => min === 0)
}

/** False where the object of a vertex cannot be one that the pattern has met elsewhere; the rest is told by `isAllowed`. */
export function mayBeMetAgain(pattern: BoundPattern, vertex: number): boolean {
  const { mode, vertices } = pattern
  if (repeatsVertices(mode) || mayHaveNoEdge(pattern)) return true
  return mode === 'simple' && (vertices[0] === vertex || vertices.at(-1) === vertex)
}

/**
 * The row with an object for the vertex at a position; undefined where a pattern that has been at that object may not meet it again.
 * `slot`: of the vertex.
 */
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
    const been = visited[i] as readonly Oid[]
    if (been.includes(view.oid) && !mayBeMetAgain(pattern, position)) return undefined
    visited[i] = [...been, view.oid]
  }
  return { ...row, slots: row.slots.with(slot, view), visited }
}

/** Whether there is anything left to tell by `isAllowed` once all vertices and edges of the pattern are known. */
export function isDecidedAtEnd(pattern: BoundPattern): boolean {
  return !repeatsVertices(pattern.mode) && (pattern.mode === 'simple' || mayHaveNoEdge(pattern))
}

/**
 * Whether the pattern's walk meets no object twice, but where it has to or may: at vertices of one name, at both ends of
 * a walk of no edge, and in SIMPLE at its beginning and its end. `number`: of the pattern; `slots`: of the vertices.
 */
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

/** The same for two steps over one reference, in whichever direction, and whether they stop at its edge object. A paired link is two edges. */
export function edgeKey({ from, attributeNumber, to, edgeData }: Edge): string {
  return `${from} ${attributeNumber} ${edgeData ?? to}`
}
