/**
 * Finds the differences between two states of a tree by comparing pages. LMDB never overwrites a page that a snapshot may read, so a page that is
 * part of both states is identical in both, with everything below it; only other pages are read.
 */
import {
  type DataFile,
  type Node,
  nodeAt,
  pageFlag,
  pageHeader,
  pageHeaderBytes,
  type TreeHeader,
} from './data-file.ts'

export interface PageSource {
  /** Covers all pages of the later state. */
  readonly file: Pick<DataFile, 'read'>
  readonly pageBytes: number
}

/**
 * Keys whose entries differ (changed, added or removed), in order. The caller must hold snapshots of both states meanwhile. Throws an `Error` if a
 * page is not a valid page of a tree.
 */
export function* changedKeys(source: PageSource, before: TreeHeader, after: TreeHeader): Generator<Buffer> {
  let [earlier, later] = [rootsOf(before), rootsOf(after)]
  let [earlierDepth, laterDepth] = [before.depth, after.depth]
  for (;;) {
    // All leaves of a tree have the same depth, so a shared page has the same height in both trees.
    if (earlierDepth === laterDepth) [earlier, later] = [without(earlier, later), without(later, earlier)]
    const depth = Math.max(earlierDepth, laterDepth)
    if (depth <= 1) break
    if (earlierDepth === depth) {
      earlier = pagesBelow(source, earlier)
      earlierDepth--
    }
    if (laterDepth === depth) {
      later = pagesBelow(source, later)
      laterDepth--
    }
  }
  yield* differences(entriesOf(source, earlier), entriesOf(source, later))
}

function rootsOf({ root }: TreeHeader): number[] {
  return root === undefined ? [] : [root]
}

function without(pages: readonly number[], others: readonly number[]): number[] {
  const shared = new Set(others)
  return pages.filter((page) => !shared.has(page))
}

function pagesBelow(source: PageSource, pages: readonly number[]): number[] {
  const below: number[] = []
  for (const page of pages) for (const { child } of nodesOf(source, page, pageFlag.branch)) below.push(child)
  return below
}

function* entriesOf(source: PageSource, leaves: readonly number[]): Generator<Node> {
  for (const page of leaves) yield* nodesOf(source, page, pageFlag.leaf)
}

function nodesOf({ file, pageBytes }: PageSource, number: number, flags: number): Node[] {
  const page = file.read(number * pageBytes, pageBytes)
  const header = page.length === pageBytes ? pageHeader(page) : undefined
  if (header === undefined || header.number !== number || header.flags !== flags)
    throw new Error(`page ${number} of its data file is not what leads to it says; run ashlar verify`)
  const nodes: Node[] = []
  for (let index = 0; index < header.lower / 2; index++) {
    const node = nodeAt(page, header, index)
    if (node === undefined) throw new Error(`page ${number} of its data file is damaged; run ashlar verify`)
    nodes.push(node)
  }
  if (pageHeaderBytes + header.lower > pageBytes)
    throw new Error(`page ${number} of its data file is damaged; run ashlar verify`)
  return nodes
}

/** Merges two sequences in key order. */
function* differences(earlier: Iterator<Node>, later: Iterator<Node>): Generator<Buffer> {
  let one = earlier.next()
  let other = later.next()
  while (one.done !== true || other.done !== true) {
    const order = one.done === true ? 1 : other.done === true ? -1 : Buffer.compare(one.value.key, other.value.key)
    if (order < 0) yield (one.value as Node).key
    else if (order > 0) yield (other.value as Node).key
    else if (!isSame(one.value as Node, other.value as Node)) yield (one.value as Node).key
    if (order <= 0) one = earlier.next()
    if (order >= 0) other = later.next()
  }
}

/** Changing a long value rewrites its pages, so equal page numbers mean an equal value. */
function isSame(one: Node, other: Node): boolean {
  return one.flags === other.flags && one.dataLength === other.dataLength && one.data.equals(other.data)
}
