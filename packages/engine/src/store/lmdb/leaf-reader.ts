/**
 * Reads the entries of a snapshot leaf by leaf from the data file, and passes them on or counts them if the leaf is valid. A native call per entry
 * would take longer than all other work on most of them: see docs/decisions/0037-leaves-from-the-file.md.
 */
import type { Bytes } from '../store.ts'
import { treeDepthMax } from './check-tree-header.ts'
import { nodeHeaderBytes, pageFlag, pageHeaderBytes, type TreeHeader } from './data-file.ts'
import { checksumBytes } from './entry-checksum.ts'
import type { PathPage } from './estimate-entries.ts'
import type { LeafBuffer } from './leaf-buffer.ts'
import { LeafPages } from './leaf-pages.ts'
import type { LmdbRange } from './lmdb-range.ts'
import type { VerifiedPages } from './verified-pages.ts'
import { isBehind } from './verify-leaf.ts'

/** Why the iteration ended: the end of the range, `use` or the limit stopped it, or the cursor must continue after the last entry. */
export type LeafEnd = 'end' | 'stopped' | 'lost'

type LeafUse = (key: Buffer, value: Buffer) => unknown

/** A branch on the path to the current leaf: its children and the index of the next one. */
interface Branch {
  readonly children: number[]
  next: number
}

/**
 * Leaves everything unexpected, such as damage or values on overflow pages, to the cursor, and therefore never throws. The pages of a snapshot stay
 * unchanged during its read transaction, and LMDB writes to the file, not to its memory map.
 */
export class LeafReader {
  readonly buffer: LeafBuffer
  private readonly pages: LeafPages
  private readonly tree: TreeHeader
  private readonly branches: Branch[] = []
  /** Index of the next node of the current leaf; in reverse, one more. */
  private next = 0
  /** Offset and length of the last key passed on. */
  private lastAt = 0
  private lastLength = 0
  /** Whether the position is directly after that key (before it, in reverse); false if `visit` was aborted. */
  private isInPlace = false
  private isBackwards = false
  /** Entries passed on or counted by the last `visit`. */
  visited = 0

  constructor(file: number, verified: VerifiedPages, buffer: LeafBuffer, tree: TreeHeader) {
    this.pages = new LeafPages(file, verified, buffer)
    this.buffer = buffer
    this.tree = tree
  }

  get last(): Buffer {
    const { bytes } = this.buffer
    return Buffer.from(bytes.subarray(this.lastAt, this.lastAt + this.lastLength))
  }

  /** Like `visitEntries`, for a range that continues after an entry; without `use`, counts the entries. */
  visit(range: LmdbRange, use: LeafUse | undefined): LeafEnd {
    this.visited = 0
    const start = range.start as Bytes
    const isAtStart = this.isInPlace && this.isBackwards === range.reverse && this.isAt(start)
    this.isInPlace = false
    this.isBackwards = range.reverse
    if (!isAtStart) {
      if (!this.seek(start) || !this.followsEntryOf(start)) return 'lost'
      if (range.reverse) this.next--
    }
    const end = range.reverse ? this.visitBackwards(range, use) : this.visitLeaves(range, use)
    this.isInPlace = end === 'stopped'
    return end
  }

  /** The pages on the path from the root to the leaf of the key; undefined if one of them is unreadable. */
  pathTo(key: Bytes): readonly PathPage[] | undefined {
    this.isInPlace = false
    if (!this.seek(key, false)) return undefined
    const branches = this.branches.map(({ children, next }) => ({ before: next - 1, count: children.length }))
    return [...branches, { before: this.next, count: this.pages.count }]
  }

  private visitLeaves({ end, limit }: LmdbRange, use: LeafUse | undefined): LeafEnd {
    for (;;) {
      const { pages } = this
      const { count } = pages
      const within = end === undefined ? count : pages.countBelow(end)
      const stop = Math.min(within, this.next + limit - this.visited)
      if (use === undefined) this.skipTo(stop)
      else if (!this.pass(stop, use)) return 'stopped'
      if (this.visited === limit) return 'stopped'
      if (within < count || this.areAllRead) return 'end'
      this.keepLast()
      if (!this.nextLeaf() || !this.isFirstBehindLast) return 'lost'
    }
  }

  /** In reverse; entries before the end are out of range. */
  private visitBackwards({ end, limit }: LmdbRange, use: LeafUse | undefined): LeafEnd {
    for (;;) {
      const { pages } = this
      const outside = end === undefined ? 0 : pages.countBelow(end)
      const stop = Math.max(outside, this.next - (limit - this.visited))
      if (use === undefined) this.skipBackTo(stop)
      else if (!this.passBackTo(stop, use)) return 'stopped'
      if (this.visited === limit) return 'stopped'
      if (outside > 0 || this.branches.every(({ next }) => next <= 1)) return 'end'
      this.keepLast()
      if (!this.previousLeaf() || !this.isLastBeforeLast) return 'lost'
    }
  }

  /** Passes on the entries before index `stop`; false if `use` stops the iteration. */
  private pass(stop: number, use: LeafUse): boolean {
    for (let nth = this.next; nth < stop; nth++) {
      this.next = nth + 1
      if (!this.passNode(nth, use)) return false
    }
    return true
  }

  private passBackTo(stop: number, use: LeafUse): boolean {
    for (let nth = this.next - 1; nth >= stop; nth--) {
      this.next = nth
      if (!this.passNode(nth, use)) return false
    }
    return true
  }

  private passNode(nth: number, use: LeafUse): boolean {
    const { buffer } = this
    const { view } = buffer
    const at = pageHeaderBytes + view.getUint16(pageHeaderBytes + 2 * nth, true)
    const keyLength = view.getUint16(at + 6, true)
    const valueLength = view.getUint32(at, true) - checksumBytes
    const keyAt = at + nodeHeaderBytes
    this.lastAt = keyAt
    this.lastLength = keyLength
    buffer.expose(keyAt, keyLength, valueLength)
    if (use(buffer.key(keyLength), buffer.value(valueLength)) === false) return false
    this.visited++
    return true
  }

  private skipTo(stop: number): void {
    if (stop <= this.next) return
    this.visited += stop - this.next
    this.next = stop
    this.noteLast(stop - 1)
  }

  private skipBackTo(stop: number): void {
    if (stop >= this.next) return
    this.visited += this.next - stop
    this.next = stop
    this.noteLast(stop)
  }

  private noteLast(nth: number): void {
    const at = this.pages.node(nth)
    this.lastAt = at + nodeHeaderBytes
    this.lastLength = this.buffer.view.getUint16(at + 6, true)
  }

  /** Copies the last key to where it outlives the page. */
  private keepLast(): void {
    this.buffer.keep(this.lastAt, this.lastLength)
    this.lastAt = this.buffer.keyCopyAt
  }

  private get areAllRead(): boolean {
    return this.branches.every(({ children, next }) => next >= children.length)
  }

  private isAt(key: Bytes): boolean {
    const { lastAt, lastLength, buffer } = this
    if (lastLength !== key.length) return false
    for (let i = 0; i < lastLength; i++) if (buffer.bytes[lastAt + i] !== key[i]) return false
    return true
  }

  /** Whether the position is directly after the key's entry. A damaged branch key, which has no checksum, leads to another leaf. */
  private followsEntryOf(key: Bytes): boolean {
    return this.next > 0 && this.pages.order(this.next - 1, key) === 0
  }

  private get isFirstBehindLast(): boolean {
    const { bytes, view } = this.buffer
    const at = this.pages.node(0)
    const from = at + nodeHeaderBytes
    return isBehind(bytes, from, from + view.getUint16(at + 6, true), this.lastAt, this.lastAt + this.lastLength)
  }

  private get isLastBeforeLast(): boolean {
    const { bytes, view } = this.buffer
    const at = this.pages.node(this.pages.count - 1)
    const from = at + nodeHeaderBytes
    return isBehind(bytes, this.lastAt, this.lastAt + this.lastLength, from, from + view.getUint16(at + 6, true))
  }

  /** Moves to the first entry after the key, if any. `isRead`: entries will be read, so that the entire leaf must be valid. */
  private seek(key: Bytes, isRead = true): boolean {
    const { buffer, pages, tree, branches } = this
    buffer.keepBytes(key)
    this.lastAt = buffer.keyCopyAt
    this.lastLength = key.length
    branches.length = 0
    let page = tree.root as number
    while (branches.length < tree.depth - 1) {
      const branch = this.branch(page)
      if (branch === undefined) return false
      // The first child has no key.
      const nth = Math.max(0, pages.countUpTo(key, 1) - 1)
      page = branch.children[nth] as number
      branch.next = nth + 1
      branches.push(branch)
    }
    if (!(isRead ? pages.leaf(page) : pages.read(page, pageFlag.leaf))) return false
    this.next = pages.countUpTo(key, 0)
    return true
  }

  /** Moves to the next leaf, which must exist; false if it is unreadable. */
  private nextLeaf(): boolean {
    const { branches, tree } = this
    while (isExhausted(branches.at(-1))) branches.pop()
    let page = this.child()
    while (branches.length < tree.depth - 1) {
      const branch = this.branch(page)
      if (branch === undefined) return false
      branches.push(branch)
      page = this.child()
    }
    this.next = 0
    return this.pages.leaf(page)
  }

  /** Moves to the previous leaf, which must exist; false if it is unreadable. */
  private previousLeaf(): boolean {
    const { branches, tree, pages } = this
    while ((branches.at(-1)?.next ?? 2) <= 1) branches.pop()
    const last = branches.at(-1) as Branch
    last.next--
    let page = last.children[last.next - 1] as number
    while (branches.length < tree.depth - 1) {
      const branch = this.branch(page)
      if (branch === undefined) return false
      branch.next = branch.children.length
      branches.push(branch)
      page = branch.children.at(-1) as number
    }
    if (!pages.leaf(page)) return false
    this.next = pages.count
    return true
  }

  private branch(page: number): Branch | undefined {
    const children = this.branches.length >= treeDepthMax ? undefined : this.pages.children(page)
    return children && { children, next: 0 }
  }

  private child(): number {
    const branch = this.branches.at(-1) as Branch
    return branch.children[branch.next++] as number
  }
}

function isExhausted(branch: Branch | undefined): boolean {
  return branch !== undefined && branch.next >= branch.children.length
}
