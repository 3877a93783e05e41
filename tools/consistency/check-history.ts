/**
 * Checks a history of transactions for anomalies in the manner of Elle (Kingsbury and Alvaro, VLDB 2020): from what the transactions have read follows which
 * of them must have been before which; a cycle in that is an anomaly, and its edges say which one, by the classes of Adya.
 */
import { DependencyGraph, realTime, rw, rwPredicate, wr, ww } from './dependency-graph.ts'
import { type Cycle, findCycles, kindsOf } from './find-cycles.ts'
import { type AnomalyName, Findings } from './findings.ts'
import { describeTransaction, type History } from './history.ts'
import { addItemEdges } from './item-edges.ts'
import { addListEdges, checkStaleReads } from './list-edges.ts'
import { addRealTimeEdges } from './real-time-edges.ts'
import { addRegisterEdges } from './register-edges.ts'
import { usesOf } from './uses.ts'

export interface CheckOptions {
  /**
   * Whether what had completed must also be seen by what is then invoked (strict serializability). It must, unless this is false: then the order in real time
   * counts only within each list.
   */
  readonly isStrict?: boolean
}

export function checkHistory(history: History, { isStrict = true }: CheckOptions = {}): Findings {
  const findings = new Findings()
  const graph = new DependencyGraph(history.length)
  const context = { history, graph, findings }
  const uses = usesOf(history, findings)
  for (const [list, ofList] of uses.lists) addListEdges(context, list, ofList)
  for (const [register, ofRegister] of uses.registers) addRegisterEdges(context, register, ofRegister)
  addItemEdges(context, uses)
  if (isStrict) addRealTimeEdges(graph, history)
  else for (const [list, ofList] of uses.lists) checkStaleReads(context, list, ofList)
  const { cycles, isComplete } = findCycles(graph, isStrict)
  findings.isComplete = isComplete
  for (const cycle of cycles) findings.add(nameOf(graph, cycle), () => describeCycle(history, graph, cycle))
  return findings
}

function nameOf(graph: DependencyGraph, cycle: Cycle): AnomalyName {
  const { all, antiDependencies: count } = kindsOf(graph, cycle)
  const isTimed = (all & realTime) !== 0
  if (count === 0) {
    if ((all & wr) !== 0) return isTimed ? 'G1c-realtime' : 'G1c'
    return isTimed ? 'G0-realtime' : 'G0'
  }
  const isOfTwo = new Set(cycle.map((edge) => graph.from[edge]!).filter((node) => node < graph.transactions)).size === 2
  // Both have read the same, and both have written it.
  if (isOfTwo && (all & ~(rw | ww)) === 0 && isOfOneObject(graph, cycle)) return 'lost update'
  if (count === 1) {
    if (isOfTwo && isTimed && (all & (ww | wr)) === 0) return 'stale read'
    return isTimed ? 'G-single-realtime' : 'G-single'
  }
  const name = (all & rwPredicate) === 0 ? 'G2-item' : 'G2'
  return isTimed ? `${name}-realtime` : name
}

function isOfOneObject(graph: DependencyGraph, [first, ...others]: Cycle): boolean {
  return others.every((edge) => {
    return graph.about[edge] === graph.about[first!] && graph.subjectOf(edge) === graph.subjectOf(first!)
  })
}

/** Of a longer cycle, the first are described. */
const describedTransactionsMax = 20

/** Each transaction of the cycle, followed by the reason why the next must come after it. */
function describeCycle(history: History, graph: DependencyGraph, cycle: Cycle): string {
  const lines: string[] = []
  for (const [i, edge] of cycle.entries()) {
    const [from, to] = [graph.from[edge]!, graph.to[edge]!]
    if (from >= graph.transactions) continue
    let target = to
    // Along the chain of points in time to the transaction after it.
    for (let next = i + 1; target >= graph.transactions; next++) target = graph.to[cycle[next % cycle.length]!]!
    lines.push(describeTransaction(history[from]!, from), `  ${reason(graph, edge)} T${target}`)
  }
  const omitted = lines.length / 2 - describedTransactionsMax
  if (omitted > 0) lines.splice(describedTransactionsMax * 2, omitted * 2, `… and ${omitted} transactions more`)
  return lines.join('\n')
}

function reason(graph: DependencyGraph, edge: number): string {
  const what = `${graph.subjectOf(edge)} ${graph.about[edge]}`
  switch (graph.kind[edge]) {
    case ww:
      return `its write of ${what} was overwritten (ww) by`
    case wr:
      return `its write of ${what} was seen (wr) by`
    case rw:
      return `what it has seen of ${what} was overwritten (rw) by`
    case rwPredicate:
      return `what it has not found was changed to match, ${what}, (predicate rw) by`
    default:
      return 'it had completed (rt) before the start of'
  }
}
