/** The graph of dependencies between transactions: edges in typed arrays, since there are millions. */

/** Kinds of edges, as bits. */
export const ww = 1
export const wr = 2
/** An object that was read is overwritten. */
export const rw = 4
/** What a predicate read has not found comes to match. */
export const rwPredicate = 8
export const realTime = 16

export const dependencies = ww | wr
export const antiDependencies = rw | rwPredicate

/** What an edge is about. */
export type Subject = 'list' | 'register' | 'item' | 'time'
const subjects: readonly Subject[] = ['list', 'register', 'item', 'time']

/** Nodes up to `transactions` are transactions; those after them are points in time. */
export class DependencyGraph {
  readonly transactions: number
  nodes: number
  edges = 0
  from = new Int32Array(1024)
  to = new Int32Array(1024)
  /** The number of the list, register or item. */
  about = new Int32Array(1024)
  kind = new Uint8Array(1024)
  private subject = new Uint8Array(1024)

  constructor(transactions: number) {
    this.transactions = transactions
    this.nodes = transactions
  }

  /** Nothing depends on itself. */
  add(from: number, to: number, kind: number, subject: Subject, about: number): void {
    if (from === to) return
    if (this.edges === this.from.length) this.grow()
    const edge = this.edges++
    this.from[edge] = from
    this.to[edge] = to
    this.kind[edge] = kind
    this.about[edge] = about
    this.subject[edge] = subjects.indexOf(subject)
  }

  subjectOf(edge: number): Subject {
    return subjects[this.subject[edge]!]!
  }

  private grow(): void {
    const size = this.edges * 2
    this.from = copyInto(new Int32Array(size), this.from)
    this.to = copyInto(new Int32Array(size), this.to)
    this.about = copyInto(new Int32Array(size), this.about)
    this.kind = copyInto(new Uint8Array(size), this.kind)
    this.subject = copyInto(new Uint8Array(size), this.subject)
  }
}

function copyInto<T extends Int32Array | Uint8Array>(target: T, source: T): T {
  target.set(source)
  return target
}

/** The edges out of each node: those of node `n` are `edges[starts[n]] … edges[starts[n + 1] - 1]`. */
export interface OutEdges {
  readonly starts: Int32Array
  readonly edges: Int32Array
}

/** Those of some kinds that were not removed. */
export function outEdges(graph: DependencyGraph, kinds: number, removed: ReadonlySet<number>): OutEdges {
  const { nodes, edges, from, kind } = graph
  const starts = new Int32Array(nodes + 1)
  let count = 0
  for (let edge = 0; edge < edges; edge++) {
    if ((kind[edge]! & kinds) === 0 || removed.has(edge)) continue
    starts[from[edge]! + 1]!++
    count++
  }
  for (let node = 0; node < nodes; node++) starts[node + 1]! += starts[node]!
  const next = starts.slice(0, nodes)
  const sorted = new Int32Array(count)
  for (let edge = 0; edge < edges; edge++) {
    if ((kind[edge]! & kinds) !== 0 && !removed.has(edge)) sorted[next[from[edge]!]!++] = edge
  }
  return { starts, edges: sorted }
}

/**
 * The number of the strongly connected component of each node, or -1 where it is alone in its own. Tarjan's algorithm in linear time, without recursion: a path
 * may be as long as the history.
 */
export function strongComponents(graph: DependencyGraph, { starts, edges }: OutEdges): Int32Array {
  const { nodes, to } = graph
  const component = new Int32Array(nodes).fill(-1)
  /** When a node was first visited, from 1; 0 for not yet. */
  const order = new Int32Array(nodes)
  const low = new Int32Array(nodes)
  const next = starts.slice(0, nodes)
  const isOpen = new Uint8Array(nodes)
  const open = new Int32Array(nodes)
  const path = new Int32Array(nodes)
  let opened = 0
  let visited = 0
  let components = 0
  for (let root = 0; root < nodes; root++) {
    if (order[root] !== 0) continue
    let depth = 0
    const enter = (node: number): void => {
      order[node] = low[node] = ++visited
      isOpen[node] = 1
      open[opened++] = node
      path[depth++] = node
    }
    enter(root)
    while (depth > 0) {
      const node = path[depth - 1]!
      if (next[node]! < starts[node + 1]!) {
        const target = to[edges[next[node]!++]!]!
        if (order[target] === 0) enter(target)
        else if (isOpen[target] === 1) low[node] = Math.min(low[node]!, order[target]!)
        continue
      }
      depth--
      if (depth > 0) low[path[depth - 1]!] = Math.min(low[path[depth - 1]!]!, low[node]!)
      if (low[node] !== order[node]) continue
      const isAlone = open[opened - 1] === node
      for (;;) {
        const member = open[--opened]!
        isOpen[member] = 0
        if (!isAlone) component[member] = components
        if (member === node) break
      }
      if (!isAlone) components++
    }
  }
  return component
}
