/** Lists: a read shows all appends before it in their order, so the longest read of a list is the order of its versions. */
import { type DependencyGraph, rw, wr, ww } from './dependency-graph.ts'
import type { Findings } from './findings.ts'
import { describeTransaction, type History } from './history.ts'
import type { ListRead, ListUses } from './uses.ts'

interface Context {
  readonly history: History
  readonly graph: DependencyGraph
  readonly findings: Findings
}

export function addListEdges(context: Context, list: number, uses: ListUses): void {
  const { graph } = context
  const { reads, writes } = uses
  if (reads.length === 0) return
  const longest = longestRead(reads)
  const order = longest?.values ?? []
  if (longest !== undefined) checkValues(context, list, uses, longest)
  const writers = order.map((value) => writes.get(value)?.transaction)
  for (let i = 1; i < order.length; i++) {
    const [before, after] = [writers[i - 1], writers[i]]
    if (before !== undefined && after !== undefined) graph.add(before, after, ww, 'list', list)
  }
  for (const read of reads) {
    const { length } = read.values
    if (!isPrefix(read.values, order)) {
      reportOrder(context, list, uses, read, longest)
      continue
    }
    const writer = length === 0 ? undefined : writers[length - 1]
    if (writer !== undefined) graph.add(writer, read.transaction, wr, 'list', list)
    const next = writers[length]
    if (writer !== undefined && writer !== read.transaction && isIntermediate(context.history, list, writer, read))
      report(context, 'G1b', `list ${list}: a read has seen part of a transaction`, writer, read.transaction)
    else if (next !== undefined) graph.add(read.transaction, next, rw, 'list', list)
  }
  checkLost(context, list, uses)
}

/** Of those that have no value twice. */
function longestRead(reads: readonly ListRead[]): ListRead | undefined {
  let longest: ListRead | undefined
  for (const read of reads) {
    const { length } = read.values
    if (length > (longest?.values.length ?? -1) && new Set(read.values).size === length) longest = read
  }
  return longest
}

/**
 * A read that lacks what had been seen, or acknowledged, before it began. Where real time is part of the graph this is a cycle; elsewhere each list alone still
 * promises it.
 */
export function checkStaleReads(context: Context, list: number, { reads, writes }: ListUses): void {
  const { history } = context
  const ends: { readonly at: number; readonly length: number; readonly transaction: number }[] = []
  const note = (transaction: number, length: number): void => {
    const { completed, outcome } = history[transaction]!
    if (outcome === 'ok') ends.push({ at: completed, length, transaction })
  }
  for (const { transaction, values } of reads) note(transaction, values.length)
  for (const [i, value] of (longestRead(reads)?.values ?? []).entries()) {
    const writer = writes.get(value)?.transaction
    if (writer !== undefined) note(writer, i + 1)
  }
  ends.sort((one, other) => one.at - other.at)
  let passed = 0
  let latest = ends[0]
  for (const { transaction, values } of reads.toSorted((a, b) => invokedOf(a) - invokedOf(b))) {
    for (; passed < ends.length && ends[passed]!.at < history[transaction]!.invoked; passed++)
      if (passed === 0 || ends[passed]!.length > latest!.length) latest = ends[passed]
    if (passed > 0 && latest!.length > values.length)
      report(
        context,
        'stale read',
        `list ${list} lacks what was there before the read`,
        latest!.transaction,
        transaction,
      )
  }

  function invokedOf({ transaction }: ListRead): number {
    return history[transaction]!.invoked
  }
}

function isPrefix(values: readonly number[], order: readonly number[]): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] !== order[i]) return false
  return true
}

/** The writer has appended more to the list than the read has seen of it. */
function isIntermediate(history: History, list: number, writer: number, { values }: ListRead): boolean {
  const last = values.at(-1)
  let isAfter = false
  for (const step of history[writer]!.steps) {
    if (step.kind !== 'append' || step.list !== list) continue
    if (isAfter) return true
    isAfter = step.value === last
  }
  return false
}

/** Each is of a transaction that has committed or may have. */
function checkValues(context: Context, list: number, { writes }: ListUses, read: ListRead): void {
  const { history } = context
  const { values, transaction: reader } = read
  for (const value of values) {
    const writer = writes.get(value)?.transaction
    if (writer === undefined)
      report(context, 'unknown value', `list ${list} has ${value}, which nobody has appended`, reader)
    else if (history[writer]!.outcome === 'failed') {
      const name = history[reader]!.isFinal === true ? 'aborted write is there' : 'G1a'
      report(context, name, `list ${list} has ${value} of a transaction that has failed`, writer, reader)
    }
  }
}

function reportOrder(
  context: Context,
  list: number,
  uses: ListUses,
  read: ListRead,
  longest: ListRead | undefined,
): void {
  const { values, transaction } = read
  checkValues(context, list, uses, read)
  if (new Set(values).size < values.length) {
    report(context, 'duplicate append', `list ${list} has a value twice`, transaction)
    return
  }
  const what = `list ${list}: two reads do not agree on the order of the appends, or on what there is`
  report(context, 'incompatible orders', what, transaction, ...(longest === undefined ? [] : [longest.transaction]))
}

function checkLost(context: Context, list: number, { writes, reads }: ListUses): void {
  const { history } = context
  for (const read of reads) {
    if (history[read.transaction]!.isFinal !== true) continue
    const there = new Set(read.values)
    for (const [value, { transaction: writer }] of writes) {
      if (history[writer]!.outcome === 'ok' && !there.has(value))
        report(context, 'lost write', `list ${list} lacks ${value} at the end`, writer, read.transaction)
    }
  }
}

export function report(
  { history, findings }: Context,
  name: Parameters<Findings['add']>[0],
  what: string,
  ...transactions: readonly number[]
): void {
  findings.add(name, () =>
    [`${what}:`, ...transactions.map((nth) => describeTransaction(history[nth]!, nth))].join('\n  '),
  )
}
