/**
 * Reads the entries of a snapshot from the data file, a leaf of the tree at a time, and passes them on or counts them where all of the leaf are whole and in order. A call
 * into the library for each entry takes longer than everything else that is done with most of them: see docs/decisions/0037-leaves-from-the-file.md.
 */
import type { Bytes } from '../store.ts'
import { treeDepthMax } from './check-tree-header.ts'
import { nodeHeaderBytes, pageFlag, pageHeaderBytes, type TreeHeader } from './data-file.ts'
import { checksumBytes } from './entry-checksum.ts'
import type { PageOnWay } from './estimate-entries.ts'
import type { LeafBuffer } from './leaf-buffer.ts'
import { LeafPages } from './leaf-pages.ts'
import type { LmdbRange } from './lmdb-range.ts'
import type { VerifiedPages } from './verified-pages.ts'
import { isBehind } from './verify-leaf.ts'

/** Why no more entries are passed on: the range is at its end, `use` wants no more, or the cursor has to go on behind the last one. */
export type LeafEnd = 'end' | 'stopped' | 'lost'

type LeafUse = (key: Buffer, value: Buffer) => unknown

/** A branch on the way to the leaf at hand: the pages below it, and which of them is the next. */
interface Branch {
  readonly children: number[]
  next: number
}

/**
 * Whatever it does not expect, which may be damage or a long value that has pages of its own, it leaves to the cursor: so it throws nothing.
 * The pages of a snapshot stay as they are while its read transaction lasts, and LMDB writes to the file, not to its memory map.
 */
export class LeafReader {
  readonly buffer: LeafBuffer
  private readonly pages: LeafPages
  private readonly tree: TreeHeader
  private readonly branches: Branch[] = []
  /** Of the leaf at hand, the next node to be passed on; backwards, the one behind it. */
  private next = 0
  /** Where in the buffer the key is that was passed on last, and its length. */
  private lastAt = 0
  private lastLength = 0
  /** Whether it stands behind that key, or backwards before it; not where `visit` was broken off. */
  private isInPlace = false
  private isBackwards = false
  /** Entries that were passed on, or counted, in the last visit. */
  visited = 0

  constructor(file: number, verified: VerifiedPages, buffer: LeafBuffer, tree: TreeHeader) {
    this.pages = new LeafPages(file, verified, buffer)
    this.buffer = buffer
    this.tree = tree
  }

  /** A copy of the last key that was passed on. */
  get last(): Buffer {
    const { bytes } = this.buffer
    return Buffer.from(bytes.subarray(this.lastAt, this.lastAt + this.lastLength))
  }

  /** Passes on the entries of the range behind its start, as `visitEntries` does; without `use`, counts them. The range is one that goes on after an entry. */
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

  /** The pages from the root to the leaf to which the key belongs; undefined where one of them cannot be read. */
  wayTo(key: Bytes): readonly PageOnWay[] | undefined {
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

  /** The same from the last entry to the first: those before the end are outside. */
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

  /** Passes on the entries up to the nth; false where `use` wants no more. */
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

  /** The last key, where it outlives the page. */
  private keepLast(): void {
    this.buffer.keep(this.lastAt, this.lastLength)
    this.lastAt = this.buffer.keptAt
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

  /** Whether it stands behind the entry of the key. The keys of branches have no checksums: one that is damaged leads to another leaf. */
  private followsEntryOf(key: Bytes): boolean {
    return this.next > 0 && this.pages.order(this.next - 1, key) === 0
  }

  /** Of the leaf at hand. */
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

  /** To the first entry of a leaf that is behind the key, if there is one. `isRead`: its entries are read, so that all of the leaf has to be whole. */
  private seek(key: Bytes, isRead = true): boolean {
    const { buffer, pages, tree, branches } = this
    buffer.keepBytes(key)
    this.lastAt = buffer.keptAt
    this.lastLength = key.length
    branches.length = 0
    let page = tree.root as number
    while (branches.length < tree.depth - 1) {
      const branch = this.branch(page)
      if (branch === undefined) return false
      // The first child has no key of its own.
      const nth = Math.max(0, pages.countUpTo(key, 1) - 1)
      page = branch.children[nth] as number
      branch.next = nth + 1
      branches.push(branch)
    }
    if (!(isRead ? pages.leaf(page) : pages.read(page, pageFlag.leaf))) return false
    this.next = pages.countUpTo(key, 0)
    return true
  }

  /** To the leaf behind the one at hand, which is there; false where it cannot be read. */
  private nextLeaf(): boolean {
    const { branches, tree } = this
    while (isThrough(branches.at(-1))) branches.pop()
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

  /** To the leaf before the one at hand, which is there; false where it cannot be read. */
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

function isThrough(branch: Branch | undefined): boolean {
  return branch !== undefined && branch.next >= branch.children.length
}
