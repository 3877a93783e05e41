/**
 * Registers: a write does not tell what it has overwritten. The order of versions is known in part: the value that a transaction has read is before the one
 * that it writes; a write that had completed is before one that was then invoked, since single objects are linearizable. Where that is wrong, what is found is
 * an anomaly all the same, under the name of another.
 */
import { type DependencyGraph, rw, wr, ww } from './dependency-graph.ts'
import type { Findings } from './findings.ts'
import type { History } from './history.ts'
import { report } from './list-edges.ts'
import { entryOf, type RegisterUses, type Write } from './uses.ts'

interface Context {
  readonly history: History
  readonly graph: DependencyGraph
  readonly findings: Findings
}

/** The value before all others. */
const initial = 0

export function addRegisterEdges(context: Context, register: number, uses: RegisterUses): void {
  const { graph } = context
  const { reads } = uses
  const writes = committedWrites(context, register, uses)
  for (const { transaction, value } of reads) {
    const writer = uses.writes.get(value)?.transaction
    if (writer !== undefined) graph.add(writer, transaction, wr, 'register', register)
  }
  const successors = versionOrder(context, uses, writes)
  if (!isAcyclic(successors)) {
    const involved = [...writes.values()].slice(0, 10).map(({ transaction }) => transaction)
    report(context, 'incompatible orders', `the versions of register ${register} are in a circle`, ...involved)
    return
  }
  const readersOf = new Map<number, number[]>()
  for (const { transaction, value } of reads) entryOf(readersOf, value, () => []).push(transaction)
  for (const [value, nexts] of successors) {
    const writer = writes.get(value)?.transaction
    for (const next of nexts) {
      const after = writes.get(next)!.transaction
      if (writer !== undefined) graph.add(writer, after, ww, 'register', register)
      for (const transaction of readersOf.get(value) ?? []) graph.add(transaction, after, rw, 'register', register)
    }
  }
}

/** The last write of each transaction that has committed, or was seen; what is wrong with what was read is reported. */
function committedWrites(context: Context, register: number, { writes, reads }: RegisterUses): Map<number, Write> {
  const { history } = context
  const seen = new Set<number>()
  for (const { value, transaction } of reads) {
    seen.add(value)
    if (value === initial) continue
    const write = writes.get(value)
    if (write === undefined) {
      report(context, 'unknown value', `register ${register} has ${value}, which nobody has written`, transaction)
    } else if (history[write.transaction]!.outcome === 'failed') {
      const name = history[transaction]!.isFinal === true ? 'aborted write is there' : 'G1a'
      report(
        context,
        name,
        `register ${register} has ${value} of a transaction that has failed`,
        write.transaction,
        transaction,
      )
    } else if (!isLast(history, register, write) && write.transaction !== transaction) {
      report(
        context,
        'G1b',
        `register ${register}: a read has seen part of a transaction`,
        write.transaction,
        transaction,
      )
    }
  }
  const committed = new Map<number, Write>()
  for (const [value, write] of writes) {
    const { outcome } = history[write.transaction]!
    if ((outcome === 'ok' || (outcome === 'unknown' && seen.has(value))) && isLast(history, register, write))
      committed.set(value, write)
  }
  return committed
}

function isLast(history: History, register: number, { transaction, step }: Write): boolean {
  return !history[transaction]!.steps.slice(step + 1).some(
    (later) => later.kind === 'write' && later.register === register,
  )
}

/** For each value, values that are known to come after it. */
function versionOrder(
  { history }: Context,
  { reads }: RegisterUses,
  writes: ReadonlyMap<number, Write>,
): Map<number, Set<number>> {
  const successors = new Map<number, Set<number>>()
  const hasPredecessor = new Set<number>()
  const order = (before: number, after: number): void => {
    const known = successors.get(before)
    if (known === undefined) successors.set(before, new Set([after]))
    else known.add(after)
    hasPredecessor.add(after)
  }
  const writtenBy = new Map([...writes].map(([value, { transaction }]) => [transaction, value]))
  for (const { transaction, value } of reads) {
    const written = writtenBy.get(transaction)
    if (written !== undefined && written !== value && (value === initial || writes.has(value))) order(value, written)
  }
  for (const [before, after] of completedBefore(history, writes)) order(before, after)
  for (const value of writes.keys()) if (!hasPredecessor.has(value)) order(initial, value)
  return successors
}

/** Pairs of writes of which one had completed when the other was invoked; those that follow from others are left out. */
function* completedBefore(history: History, writes: ReadonlyMap<number, Write>): Generator<[number, number]> {
  const events: { readonly at: number; readonly value: number; readonly isEnd: boolean }[] = []
  for (const [value, { transaction }] of writes) {
    const { invoked, completed, outcome } = history[transaction]!
    events.push({ at: invoked, value, isEnd: false })
    if (outcome === 'ok') events.push({ at: completed, value, isEnd: true })
  }
  // At the same time, a write that begins is not after one that ends.
  events.sort((one, other) => one.at - other.at || Number(one.isEnd) - Number(other.isEnd))
  /** Writes that have completed, and after which none of them was invoked. */
  let last = new Set<number>()
  const lastAtStart = new Map<number, ReadonlySet<number>>()
  for (const { value, isEnd } of events) {
    if (!isEnd) {
      for (const before of last) yield [before, value]
      lastAtStart.set(value, last)
    } else {
      const covered = lastAtStart.get(value)!
      last = new Set([...last].filter((other) => !covered.has(other))).add(value)
    }
  }
}

function isAcyclic(successors: ReadonlyMap<number, ReadonlySet<number>>): boolean {
  const predecessors = new Map<number, number>()
  for (const nexts of successors.values())
    for (const next of nexts) predecessors.set(next, (predecessors.get(next) ?? 0) + 1)
  const free = [...successors.keys()].filter((value) => !predecessors.has(value))
  let left = predecessors.size
  for (let value = free.pop(); value !== undefined; value = free.pop()) {
    for (const next of successors.get(value) ?? []) {
      const count = predecessors.get(next)! - 1
      predecessors.set(next, count)
      if (count > 0) continue
      left--
      free.push(next)
    }
  }
  return left === 0
}
