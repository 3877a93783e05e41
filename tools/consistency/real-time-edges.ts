/**
 * What had completed before something else was invoked is before it. There are up to n² such pairs: the graph has a chain of points in time instead, one
 * for each completion, into which the transaction leads, and from the last of which each later transaction comes.
 */
import { type DependencyGraph, realTime } from './dependency-graph.ts'
import type { History } from './history.ts'

export function addRealTimeEdges(graph: DependencyGraph, history: History): void {
  const ended = new Uint32Array(history.length)
  const invoked = new Uint32Array(history.length)
  let endedCount = 0
  for (const [nth, { outcome }] of history.entries()) {
    invoked[nth] = nth
    // Of one with an unknown outcome, nobody knows when it was over.
    if (outcome === 'ok') ended[endedCount++] = nth
  }
  const ends = ended.subarray(0, endedCount)
  ends.sort((one, other) => history[one]!.completed - history[other]!.completed)
  invoked.sort((one, other) => history[one]!.invoked - history[other]!.invoked)
  const first = graph.nodes
  graph.nodes += endedCount
  let passed = 0
  for (const nth of invoked) {
    const at = history[nth]!.invoked
    while (passed < endedCount && history[ends[passed]!]!.completed < at) {
      const point = first + passed
      graph.add(ends[passed]!, point, realTime, 'time', 0)
      if (passed > 0) graph.add(point - 1, point, realTime, 'time', 0)
      passed++
    }
    if (passed > 0 && history[nth]!.outcome !== 'failed') graph.add(first + passed - 1, nth, realTime, 'time', 0)
  }
}
