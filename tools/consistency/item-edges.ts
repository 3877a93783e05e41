/**
 * Items and predicate reads: a predicate read has seen one version of each item. Which one is known by whether it found the item, as far as the versions
 * of the item differ in that; where several are possible, only those edges are added that hold for each of them.
 */
import { type DependencyGraph, rw, rwPredicate, wr, ww } from './dependency-graph.ts'
import type { Findings } from './findings.ts'
import type { History } from './history.ts'
import { report } from './list-edges.ts'
import { entryOf, type Uses } from './uses.ts'

interface Context {
  readonly history: History
  readonly graph: DependencyGraph
  readonly findings: Findings
}

interface Version {
  readonly place: number
  /** Undefined for the version of an item that does not exist. */
  readonly writer: number | undefined
  /** False of a transaction of unknown outcome of which nothing was seen. */
  isCertain: boolean
}

/** Version 0, and those that have or may have been written. */
type Versions = (Version | undefined)[]

const nowhere = 0

export function addItemEdges(context: Context, uses: Uses): void {
  const { graph } = context
  const versions = versionsOf(context, uses)
  const places = itemsByPlace(versions)
  for (const find of uses.finds) markSeen(context, find, versions)
  for (const [item, known] of versions) {
    let before: number | undefined
    for (const version of known) {
      if (version?.writer === undefined || !version.isCertain) continue
      if (before !== undefined) graph.add(before, version.writer, ww, 'item', item)
      before = version.writer
    }
    for (const { transaction, version } of uses.items.get(item)?.reads ?? [])
      addRange(context, item, known, { reader: transaction, low: version, high: version, isPredicate: version === 0 })
  }
  const sorted = [...places.keys()].sort((one, other) => one - other)
  for (const find of uses.finds) addFind(context, find, versions, places, sorted)
}

function versionsOf({ history }: Context, { items }: Uses): Map<number, Versions> {
  const all = new Map<number, Versions>()
  for (const [item, { writes, reads }] of items) {
    const known: Versions = [{ place: nowhere, writer: undefined, isCertain: true }]
    for (const { transaction, version, place } of writes) {
      const { outcome } = history[transaction]!
      if (outcome !== 'failed') known[version] = { place, writer: transaction, isCertain: outcome === 'ok' }
    }
    // Whoever changes a version that was there before has seen it.
    for (const { version } of reads) if (known[version] !== undefined) known[version].isCertain = true
    for (let version = known.length - 1; version > 1; version--) {
      const [earlier, later] = [known[version - 1], known[version]]
      if (later?.isCertain !== true || earlier === undefined) continue
      earlier.isCertain = true
    }
    all.set(item, known)
  }
  return all
}

function itemsByPlace(versions: ReadonlyMap<number, Versions>): Map<number, Set<number>> {
  const places = new Map<number, Set<number>>()
  for (const [item, known] of versions) {
    for (const version of known)
      if (version !== undefined && version.place !== nowhere) entryOf(places, version.place, () => new Set()).add(item)
  }
  return places
}

type Find = Uses['finds'][number]

/** What was found has been written, whatever its client was told. */
function markSeen(context: Context, find: Find, all: ReadonlyMap<number, Versions>): void {
  if (find.items === 'some') return
  if (new Set(find.items).size < find.items.length)
    report(context, 'duplicate append', 'a read finds an item twice', find.transaction)
  for (const item of find.items) {
    const known = all.get(item)
    const matching = (known ?? []).filter((version) => version !== undefined && isWithin(find, version))
    if (matching.length === 0) reportImpossible(context, find, item)
    else if (matching.length === 1) matching[0]!.isCertain = true
  }
}

function reportImpossible(context: Context, { transaction }: Find, item: number): void {
  const { history } = context
  const writer = history.findIndex(({ outcome, steps }) => {
    return outcome === 'failed' && steps.some((step) => step.kind === 'place' && step.item === item)
  })
  if (writer < 0) {
    report(context, 'unknown value', `item ${item} is found where nobody has put it`, transaction)
    return
  }
  const name = history[transaction]!.isFinal === true ? 'aborted write is there' : 'G1a'
  report(context, name, `item ${item} is found where a transaction that has failed has put it`, writer, transaction)
}

function isWithin({ from, to }: Find, { place }: Version): boolean {
  return place !== nowhere && place >= from && place <= to
}

function addFind(
  context: Context,
  find: Find,
  all: ReadonlyMap<number, Versions>,
  places: ReadonlyMap<number, ReadonlySet<number>>,
  sorted: readonly number[],
): void {
  if (find.items === 'some') return
  const found = new Set(find.items)
  const own = new Set<number>()
  for (const step of context.history[find.transaction]!.steps.slice(0, find.step))
    if (step.kind === 'place') own.add(step.item)
  const candidates = new Set<number>()
  for (let i = firstFrom(sorted, find.from); i < sorted.length && sorted[i]! <= find.to; i++)
    for (const item of places.get(sorted[i]!)!) candidates.add(item)
  for (const item of candidates) if (!own.has(item)) addSeen(context, find, item, all.get(item)!, found.has(item))
}

/** The position of the first place that is not below `from`. */
function firstFrom(sorted: readonly number[], from: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < from) low = middle + 1
    else high = middle
  }
  return low
}

function addSeen(context: Context, find: Find, item: number, known: Versions, isFound: boolean): void {
  const { history } = context
  const { completed, isFinal } = history[find.transaction]!
  let low = -1
  let high = -1
  for (const [nth, version] of known.entries()) {
    if (version === undefined || version.writer === find.transaction || isWithin(find, version) !== isFound) continue
    // Nobody sees what is not yet asked for.
    if (version.writer !== undefined && history[version.writer]!.invoked > completed) continue
    if (low < 0) low = nth
    high = nth
  }
  if (low < 0) {
    if (isFound)
      report(context, 'unknown value', `item ${item} is found before anybody puts it there`, find.transaction)
    return
  }
  const next = nextCertain(known, high)
  if (isFinal === true && next !== undefined && history[next]!.outcome === 'ok')
    report(context, 'lost write', `what was done with item ${item} is not there at the end`, next, find.transaction)
  else addRange(context, item, known, { reader: find.transaction, low, high, isPredicate: !isFound })
}

interface SeenRange {
  readonly reader: number
  /** The first and the last version that the reader may have seen. */
  readonly low: number
  readonly high: number
  readonly isPredicate: boolean
}

function addRange(
  { graph }: Context,
  item: number,
  known: Versions,
  { reader, low, high, isPredicate }: SeenRange,
): void {
  const first = known[low]
  if (first?.writer !== undefined && (first.isCertain || low === high))
    graph.add(first.writer, reader, wr, 'item', item)
  const next = nextCertain(known, high)
  if (next !== undefined) graph.add(reader, next, isPredicate ? rwPredicate : rw, 'item', item)
}

/** Who has written the first version after one that certainly exists. */
function nextCertain(known: Versions, version: number): number | undefined {
  for (let nth = version + 1; nth < known.length; nth++) {
    const later = known[nth]
    if (later?.isCertain === true) return later.writer
  }
  return undefined
}
