/**
 * Cycles of dependencies, each of the lowest class in which it occurs: first among writes, then with reads, then with one anti-dependency, then with several;
 * and each of these with the order in real time. Whether there are any is exact, and linear in the history. The cycles that are listed have no anti-dependency in common (those without one, no other edge).
 */
import {
  antiDependencies,
  type DependencyGraph,
  dependencies,
  outEdges,
  realTime,
  rw,
  rwPredicate,
  strongComponents,
  wr,
  ww,
} from './dependency-graph.ts'

/** Its edges in order: each begins where the one before it ends, the first where the last ends. */
export type Cycle = readonly number[]

interface Level {
  /** What a cycle of this level consists of. */
  readonly kinds: number
  /** At least one of these is in each of its cycles, as long as there are no cycles of the levels before. */
  readonly through: number
  /** What a cycle goes along besides the edge with which it begins. */
  readonly back: number
}

const levels: readonly Level[] = [
  { kinds: ww, through: ww, back: ww },
  { kinds: dependencies, through: wr, back: dependencies },
  { kinds: dependencies | antiDependencies, through: antiDependencies, back: dependencies },
  { kinds: dependencies | antiDependencies, through: antiDependencies, back: dependencies | antiDependencies },
]

const levelsInRealTime: readonly Level[] = [
  { kinds: dependencies | realTime, through: dependencies, back: dependencies | realTime },
  {
    kinds: dependencies | antiDependencies | realTime,
    through: antiDependencies,
    back: dependencies | realTime,
  },
  {
    kinds: dependencies | antiDependencies | realTime,
    through: antiDependencies,
    back: dependencies | antiDependencies | realTime,
  },
]

/** Edges that are gone along in all, in search of short cycles: beyond that there are so many that one more tells nothing. */
const visitsMax = 2_000_000_000

/** Short cycles are found first, and are the ones to show. */
const lengths = [2, 4, Number.POSITIVE_INFINITY]

export interface Search {
  readonly cycles: readonly Cycle[]
  /** False where there are more than there was time to list. */
  readonly isComplete: boolean
}

export function findCycles(graph: DependencyGraph, isStrict: boolean): Search {
  const cycles: Cycle[] = []
  const removed = new Set<number>()
  const searching = { visits: 0 }
  for (const level of isStrict ? [...levels, ...levelsInRealTime] : levels)
    cycles.push(...cyclesOf(graph, level, removed, searching))
  return { cycles, isComplete: searching.visits <= visitsMax }
}

function cyclesOf(graph: DependencyGraph, level: Level, removed: Set<number>, searching: { visits: number }): Cycle[] {
  const component = strongComponents(graph, outEdges(graph, level.kinds, removed))
  const within: number[] = []
  for (let edge = 0; edge < graph.edges; edge++) {
    if ((graph.kind[edge]! & level.kinds) === 0 || removed.has(edge)) continue
    const of = component[graph.from[edge]!]!
    if (of >= 0 && of === component[graph.to[edge]!]) within.push(edge)
  }
  if (within.length === 0) return []
  const search = new PathSearch(graph, within, removed, searching)
  const cycles: Cycle[] = []
  for (const lengthMax of lengths) {
    for (const edge of within) {
      if ((graph.kind[edge]! & level.through) === 0 || removed.has(edge)) continue
      if (searching.visits > visitsMax) return cycles
      const path = search.path(graph.to[edge]!, graph.from[edge]!, level.back, lengthMax - 1)
      if (path === undefined) continue
      cycles.push([edge, ...path])
      removed.add(edge)
      for (const other of path) if ((graph.kind[other]! & antiDependencies) !== 0) removed.add(other)
    }
  }
  return cycles
}

/** Shortest paths within strongly connected components, where steps along the chain of points in time count nothing. */
class PathSearch {
  private readonly graph: DependencyGraph
  private readonly removed: ReadonlySet<number>
  private readonly searching: { visits: number }
  private readonly out = new Map<number, number[]>()

  constructor(
    graph: DependencyGraph,
    edges: readonly number[],
    removed: ReadonlySet<number>,
    searching: { visits: number },
  ) {
    this.graph = graph
    this.removed = removed
    this.searching = searching
    for (const edge of edges) {
      const from = graph.from[edge]!
      const others = this.out.get(from)
      if (others === undefined) this.out.set(from, [edge])
      else others.push(edge)
    }
  }

  /** Its edges, at most `lengthMax` steps of transactions; undefined if there is none. */
  path(from: number, to: number, kinds: number, lengthMax: number): number[] | undefined {
    const { graph, out, removed, searching } = this
    const reachedBy = new Map<number, number>([[from, -1]])
    let level = [from]
    for (let length = 0; level.length > 0 && length < lengthMax; length++) {
      const next: number[] = []
      // Grows while it is gone through: by points in time, which are reached at no cost.
      for (let i = 0; i < level.length; i++) {
        for (const edge of out.get(level[i]!) ?? []) {
          searching.visits++
          const target = graph.to[edge]!
          if ((graph.kind[edge]! & kinds) === 0 || removed.has(edge) || reachedBy.has(target)) continue
          reachedBy.set(target, edge)
          if (target === to) return this.back(reachedBy, to)
          if (target >= graph.transactions) level.push(target)
          else next.push(target)
        }
      }
      level = next
    }
    return undefined
  }

  private back(reachedBy: ReadonlyMap<number, number>, to: number): number[] {
    const path: number[] = []
    for (let edge = reachedBy.get(to)!; edge >= 0; edge = reachedBy.get(this.graph.from[edge]!)!) path.push(edge)
    return path.reverse()
  }
}

/** One letter of the class for each of its edges: `rw` of an item is apart from that of a predicate. */
export function kindsOf(
  graph: DependencyGraph,
  cycle: Cycle,
): { readonly all: number; readonly antiDependencies: number } {
  let all = 0
  let count = 0
  for (const edge of cycle) {
    all |= graph.kind[edge]!
    if ((graph.kind[edge]! & (rw | rwPredicate)) !== 0) count++
  }
  return { all, antiDependencies: count }
}
