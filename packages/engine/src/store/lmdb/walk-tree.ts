/** Walks one tree of a data file from its root, and reports contradictions; never throws, whatever the content. */
import { treeDepthMax } from './check-tree-header.ts'
import {
  type DataFile,
  type Node,
  nodeAt,
  nodeFlag,
  type PageHeader,
  pageFlag,
  pageHeader,
  pageHeaderBytes,
  type TreeHeader,
} from './data-file.ts'

export interface WalkContext {
  readonly file: DataFile
  readonly pageBytes: number
  readonly lastPage: number
  /** Transaction of the meta page; no page is newer. */
  readonly transaction: number
  readonly owners: PageOwners
  problem(text: string): void
}

/** Records the owner of each page of the file. */
export class PageOwners {
  private readonly names: string[] = ['nothing']
  private readonly ownerByPage: Uint8Array
  /** Number of claimed pages past the end of the file. */
  private pastEnd = 0

  constructor(pages: number) {
    this.ownerByPage = new Uint8Array(pages)
  }

  /** Pages from 2 to `lastPage` without an owner: their number, and the first one within the file. */
  unowned(lastPage: number): { readonly count: number; readonly first: number | undefined } {
    let count = Math.max(0, lastPage + 1 - this.ownerByPage.length - this.pastEnd)
    let first: number | undefined
    for (let page = Math.min(this.ownerByPage.length - 1, lastPage); page >= 2; page--) {
      if (this.ownerByPage[page] !== 0) continue
      count++
      first = page
    }
    return { count, first }
  }

  /** Claims a page for `name`. Returns its previous owner; undefined if it had none. Pages past the end of the file can be claimed repeatedly. */
  take(page: number, name: string): string | undefined {
    const owner = this.ownerByPage[page]
    if (owner === undefined) this.pastEnd++
    if (owner !== undefined && owner !== 0) return this.names[owner]
    let number = this.names.indexOf(name)
    if (number < 0) number = this.names.push(name) - 1
    if (owner === 0) this.ownerByPage[page] = number
    return undefined
  }
}

export interface TreeVisitor {
  readonly name: string
  /** Flags that nodes of leaves may have in addition to that of a long value. */
  readonly nodeFlags?: number
  /** The value is undefined if it is unreadable. */
  entry(key: Buffer, value: Buffer | undefined, node: Node): void
}

interface Counts {
  branchPages: number
  leafPages: number
  overflowPages: number
  entries: number
}

interface Walk {
  readonly context: WalkContext
  readonly visitor: TreeVisitor
  readonly tree: TreeHeader
  readonly counts: Counts
  /** The last key of the previous leaf. */
  previous: Buffer | undefined
  compare(one: Buffer, other: Buffer): number
}

interface Step {
  readonly page: number
  readonly level: number
  /** Transaction of the parent page or meta page, which is an upper bound. */
  readonly youngest: number
  /** Bounds of the keys of the page: from ≤ key < to. */
  readonly from: Buffer | undefined
  readonly to: Buffer | undefined
}

/** `compare`: the order of the tree's keys. */
export function walkTree(
  context: WalkContext,
  tree: TreeHeader,
  visitor: TreeVisitor,
  compare: (one: Buffer, other: Buffer) => number = Buffer.compare,
): void {
  const counts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
  const walk: Walk = { context, visitor, tree, counts, previous: undefined, compare }
  const steps: Step[] = []
  if (tree.root !== undefined)
    steps.push({ page: tree.root, level: 1, youngest: context.transaction, from: undefined, to: undefined })
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    // Pushed in reverse, so that the leftmost child is walked first.
    steps.push(...walkPage(walk, step).reverse())
  }
  for (const what of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const) {
    if (counts[what] === tree[what]) continue
    const words = what.replace(/[A-Z]/, (letter) => ` ${letter.toLowerCase()}`)
    context.problem(`${visitor.name} has ${counts[what]} ${words}, and its header says ${tree[what]}`)
  }
}

/** Returns the child pages to walk. */
function walkPage(walk: Walk, step: Step): Step[] {
  const { context, visitor, tree, counts } = walk
  const page = ownedPage(context, step.page, visitor.name)
  if (page === undefined) return []
  const header = pageHeader(page)
  const where = `page ${step.page} of ${visitor.name}`
  if (header.number !== step.page) context.problem(`${where} says that it is page ${header.number}`)
  if (header.transaction > step.youngest) context.problem(`${where} is younger than what leads to it`)
  if (header.pad !== 0) context.problem(`${where} has a header that is damaged`)
  const isLeaf = header.flags === pageFlag.leaf
  if (!isLeaf && header.flags !== pageFlag.branch) {
    context.problem(`${where} is neither a branch nor a leaf`)
    return []
  }
  if (isLeaf !== (step.level === tree.depth))
    context.problem(`${where} is a ${isLeaf ? 'leaf' : 'branch'} at level ${step.level} of ${tree.depth}`)
  if (isLeaf) counts.leafPages++
  else counts.branchPages++
  const nodes = nodesOf(page, header, where, context)
  if (isLeaf) {
    visitLeaf(walk, step, nodes, where)
    return []
  }
  if (step.level < treeDepthMax) return stepsBelow(walk, step, nodes, header, where)
  context.problem(`${where} is deeper than a tree can be`)
  return []
}

function nodesOf(page: Buffer, header: PageHeader, where: string, context: WalkContext): Node[] {
  const { lower, upper } = header
  const room = page.length - pageHeaderBytes
  if (lower > upper || upper > room || lower % 2 !== 0 || lower === 0) {
    context.problem(`${where} has bounds of its free space that cannot be (${lower}, ${upper})`)
    return []
  }
  const nodes: Node[] = []
  for (let index = 0; index < lower / 2; index++) {
    const node = nodeAt(page, header, index)
    if (node === undefined) context.problem(`${where}: its node ${index} lies outside of the page`)
    else nodes.push(node)
  }
  const isFull = nodes.length === lower / 2
  if (isFull && !isTiled(nodes, upper, room)) context.problem(`${where} has nodes that overlap, or gaps between them`)
  return nodes
}

/** LMDB leaves no gaps between the nodes of a page, nor after the last. */
function isTiled(nodes: readonly Node[], from: number, to: number): boolean {
  let end = from
  for (const { place, bytes } of nodes.toSorted((one, other) => one.place - other.place)) {
    if (place !== end) return false
    end += bytes
  }
  return end === to
}

function visitLeaf(walk: Walk, step: Step, nodes: readonly Node[], where: string): void {
  const { context, counts, visitor, compare } = walk
  const flags = nodeFlag.overflow | (visitor.nodeFlags ?? 0)
  for (const node of nodes) {
    counts.entries++
    const { key } = node
    if ((node.flags & ~flags) !== 0) context.problem(`${where}: its key ${hexOf(key)} has flags that are not its own`)
    if (key.length === 0) context.problem(`${where} has an empty key`)
    if (walk.previous !== undefined && compare(walk.previous, key) >= 0)
      context.problem(`${where}: its key ${hexOf(key)} is not behind the one before`)
    if (
      (step.from !== undefined && compare(step.from, key) > 0) ||
      (step.to !== undefined && compare(step.to, key) <= 0)
    )
      context.problem(`${where}: its key ${hexOf(key)} does not belong there`)
    walk.previous = key
    const value = (node.flags & nodeFlag.overflow) === 0 ? node.data : overflowValue(walk, node, step, where)
    visitor.entry(key, value, node)
  }
}

function stepsBelow(walk: Walk, step: Step, nodes: readonly Node[], header: PageHeader, where: string): Step[] {
  const youngest = Math.min(header.transaction, step.youngest)
  return nodes.map((node, index) => {
    // LMDB ignores the first key of a branch page; the lower bound of its child is that of the page.
    const from = index === 0 ? step.from : node.key
    const to = nodes[index + 1]?.key ?? step.to
    if (from !== undefined && to !== undefined && walk.compare(from, to) >= 0)
      walk.context.problem(`${where}: its keys are not in order`)
    return { page: node.child, level: step.level + 1, youngest, from, to }
  })
}

function overflowValue({ context, counts, visitor }: Walk, node: Node, step: Step, where: string): Buffer | undefined {
  const first = Number(node.data.readBigUInt64LE(0))
  const pages = Math.ceil((pageHeaderBytes + node.dataLength) / context.pageBytes)
  // A shorter value reuses the pages of a longer one.
  const pageCount = Number(node.data.readBigUInt64LE(16))
  const page = ownedPage(context, first, visitor.name)
  if (page === undefined) return undefined
  const header = pageHeader(page)
  if (
    header.number !== first ||
    header.flags !== pageFlag.overflow ||
    header.pad !== 0 ||
    header.transaction !== Number(node.data.readBigUInt64LE(8)) ||
    header.overflowPages < pages ||
    header.overflowPages !== pageCount
  ) {
    context.problem(`${where}: the long value of key ${hexOf(node.key)} is not where it should be`)
    return undefined
  }
  if (header.transaction > step.youngest) context.problem(`page ${first} is younger than what leads to it`)
  for (let next = first + 1; next < first + pageCount; next++) claimPage(context, next, visitor.name)
  counts.overflowPages += pageCount
  const value = context.file.read(first * context.pageBytes + pageHeaderBytes, node.dataLength)
  if (value.length === node.dataLength) return value
  context.problem(`${where}: the long value of key ${hexOf(node.key)} lies behind the end of the file`)
  return undefined
}

/** Reports a problem and returns undefined if the page cannot belong to the tree. */
function ownedPage(context: WalkContext, number: number, name: string): Buffer | undefined {
  if (!claimPage(context, number, name)) return undefined
  const page = context.file.read(number * context.pageBytes, context.pageBytes)
  if (page.length === context.pageBytes) return page
  context.problem(`page ${number} of ${name} lies behind the end of the file`)
  return undefined
}

/** False if the page does not exist, or has another owner. */
export function claimPage({ owners, lastPage, problem }: WalkContext, number: number, name: string): boolean {
  if (number < 2 || number > lastPage) {
    problem(`${name} leads to page ${number}, which does not exist`)
    return false
  }
  const owner = owners.take(number, name)
  if (owner !== undefined) problem(`page ${number} belongs to ${name} and to ${owner}`)
  return owner === undefined
}

function hexOf(key: Buffer): string {
  return key.toString('hex').slice(0, 80)
}
