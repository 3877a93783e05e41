/**
 * Reads the entries of a snapshot from the data file, a leaf of the tree at a time, and lends or counts them where all of the leaf are whole and in order. A call
 * into the library for each entry takes longer than everything else that is done with most of them: see docs/decisions/0037-leaves-from-the-file.md.
 */
import { readSync } from 'node:fs'
import type { Bytes } from '../store.ts'
import { treeDepthMax } from './check-tree-header.ts'
import { nodeHeaderBytes, pageFlag, pageHeaderBytes, type TreeHeader } from './data-file.ts'
import { checksumBytes } from './entry-checksum.ts'
import type { PageOnWay } from './estimate-entries.ts'
import type { LeafBuffer } from './leaf-buffer.ts'
import type { LmdbRange } from './lmdb-range.ts'
import { type Fingerprint, fingerprint, type VerifiedPages } from './verified-pages.ts'
import { isBehind, isWholeLeaf } from './verify-leaf.ts'

/** Why no more entries are lent: the range is at its end, `use` wants no more, or the cursor has to go on behind the last one. */
export type LeafEnd = 'end' | 'stopped' | 'lost'

/** Where the numbers of a page's header stand. */
const flagsAt = 18
const lowerAt = 20

/** A branch on the way to the leaf at hand: the pages below it, and which of them is the next. */
interface Branch {
  readonly children: number[]
  next: number
}

const found: Fingerprint = { one: 0, other: 0 }

/**
 * Forwards only. Whatever it does not expect, which may be damage or a long value that has pages of its own, it leaves to the cursor: so it throws nothing.
 * The pages of a snapshot stay as they are while its read transaction lasts, and LMDB writes to the file, not to its memory map.
 */
export class LeafReader {
  readonly buffer: LeafBuffer
  private readonly file: number
  private readonly verified: VerifiedPages
  private readonly tree: TreeHeader
  private readonly branches: Branch[] = []
  /** Nodes of the page at hand, and of a leaf the next one to be lent. */
  private count = 0
  private next = 0
  /** Where in the buffer the key is that was lent last, and its length. */
  private lastAt = 0
  private lastLength = 0
  /** Whether it stands behind that key; not where `visit` was broken off. */
  private isInPlace = false
  /** Entries that were lent, or counted, in the last visit. */
  visited = 0

  constructor(file: number, verified: VerifiedPages, buffer: LeafBuffer, tree: TreeHeader) {
    this.file = file
    this.verified = verified
    this.buffer = buffer
    this.tree = tree
  }

  /** A copy of the last key that was lent. */
  get last(): Buffer {
    const { bytes } = this.buffer
    return Buffer.from(bytes.subarray(this.lastAt, this.lastAt + this.lastLength))
  }

  /** Lends the entries of the range behind its start, as `visitEntries` does; without `use`, counts them. The range is one that goes on after an entry. */
  visit(range: LmdbRange, use: ((key: Buffer, value: Buffer) => unknown) | undefined): LeafEnd {
    this.visited = 0
    const start = range.start as Bytes
    const isAtStart = this.isInPlace && this.isAt(start)
    this.isInPlace = false
    if (!isAtStart && !(this.seek(start) && this.followsEntryOf(start))) return 'lost'
    const end = this.visitLeaves(range, use)
    this.isInPlace = end === 'stopped'
    return end
  }

  /** The pages from the root to the leaf to which the key belongs; undefined where one of them cannot be read. */
  wayTo(key: Bytes): readonly PageOnWay[] | undefined {
    this.isInPlace = false
    if (!this.seek(key, false)) return undefined
    const branches = this.branches.map(({ children, next }) => ({ before: next - 1, count: children.length }))
    return [...branches, { before: this.next, count: this.count }]
  }

  private visitLeaves({ end, limit }: LmdbRange, use: ((key: Buffer, value: Buffer) => unknown) | undefined): LeafEnd {
    for (;;) {
      const { count } = this
      const within = end === undefined ? count : this.countBelow(end)
      const stop = Math.min(within, this.next + limit - this.visited)
      if (use === undefined) this.skipTo(stop)
      else if (!this.lend(stop, use)) return 'stopped'
      if (this.visited === limit) return 'stopped'
      if (within < count || this.areAllRead) return 'end'
      this.buffer.keep(this.lastAt, this.lastLength)
      this.lastAt = this.buffer.keptAt
      if (!this.nextLeaf() || !this.isFirstBehindLast) return 'lost'
    }
  }

  /** Lends the entries up to the nth; false where `use` wants no more. */
  private lend(stop: number, use: (key: Buffer, value: Buffer) => unknown): boolean {
    const { buffer } = this
    const { view } = buffer
    for (let nth = this.next; nth < stop; nth++) {
      const at = pageHeaderBytes + view.getUint16(pageHeaderBytes + 2 * nth, true)
      const keyLength = view.getUint16(at + 6, true)
      const valueLength = view.getUint32(at, true) - checksumBytes
      const keyAt = at + nodeHeaderBytes
      this.next = nth + 1
      this.lastAt = keyAt
      this.lastLength = keyLength
      buffer.lend(keyAt, keyLength, valueLength)
      if (use(buffer.key(keyLength), buffer.value(valueLength)) === false) return false
      this.visited++
    }
    return true
  }

  private skipTo(stop: number): void {
    if (stop <= this.next) return
    this.visited += stop - this.next
    this.next = stop
    const at = this.node(stop - 1)
    this.lastAt = at + nodeHeaderBytes
    this.lastLength = this.buffer.view.getUint16(at + 6, true)
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
    return this.next > 0 && this.order(this.next - 1, key) === 0
  }

  /** Of the leaf at hand. */
  private get isFirstBehindLast(): boolean {
    const { bytes, view } = this.buffer
    const at = this.node(0)
    const from = at + nodeHeaderBytes
    return isBehind(bytes, from, from + view.getUint16(at + 6, true), this.lastAt, this.lastAt + this.lastLength)
  }

  /** To the first entry of a leaf that is behind the key, if there is one. `isLent`: its entries are, so that all of the leaf is to be whole. */
  private seek(key: Bytes, isLent = true): boolean {
    const { buffer, tree, branches } = this
    buffer.keepBytes(key)
    this.lastAt = buffer.keptAt
    this.lastLength = key.length
    branches.length = 0
    let page = tree.root as number
    while (branches.length < tree.depth - 1) {
      const branch = this.branch(page)
      if (branch === undefined) return false
      // The first child has no key of its own.
      const nth = Math.max(0, this.countUpTo(key, 1) - 1)
      page = branch.children[nth] as number
      branch.next = nth + 1
      branches.push(branch)
    }
    if (!(isLent ? this.leaf(page) : this.read(page, pageFlag.leaf))) return false
    this.next = this.countUpTo(key, 0)
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
    return this.leaf(page)
  }

  private child(): number {
    const branch = this.branches.at(-1) as Branch
    return branch.children[branch.next++] as number
  }

  private branch(page: number): Branch | undefined {
    if (this.branches.length >= treeDepthMax || !this.read(page, pageFlag.branch)) return undefined
    const { view } = this.buffer
    const children: number[] = []
    for (let nth = 0; nth < this.count; nth++) {
      const at = this.node(nth)
      if (at < 0) return undefined
      children.push(view.getUint32(at, true) + view.getUint16(at + 4, true) * 0x1_0000_0000)
    }
    return { children, next: 0 }
  }

  /** False where the page is not a leaf that is whole, or has entries with pages of their own. */
  private leaf(page: number): boolean {
    if (!this.read(page, pageFlag.leaf)) return false
    const { verified } = this
    const { words, view, bytes, pageBytes } = this.buffer
    fingerprint(words, pageBytes >> 2, found)
    if (verified.has(page, found)) return true
    if (!isWholeLeaf(view, bytes, pageBytes, this.count)) return false
    verified.add(page, found)
    return true
  }

  /** False where the page is not what it should be. */
  private read(page: number, flag: number): boolean {
    const { buffer, file } = this
    const { view, page: bytes, pageBytes } = buffer
    this.count = 0
    this.next = 0
    try {
      if (readSync(file, bytes, 0, pageBytes, page * pageBytes) !== pageBytes) return false
    } catch {
      return false
    }
    const number = view.getUint32(0, true) + view.getUint32(4, true) * 0x1_0000_0000
    const lower = view.getUint16(lowerAt, true)
    if (number !== page || view.getUint16(flagsAt, true) !== flag || lower > pageBytes - pageHeaderBytes) return false
    this.count = lower >> 1
    return this.count > 0
  }

  /** Where the nth node begins; -1 where its key is not within the page. */
  private node(nth: number): number {
    const { view, pageBytes } = this.buffer
    const at = pageHeaderBytes + view.getUint16(pageHeaderBytes + 2 * nth, true)
    if (at + nodeHeaderBytes > pageBytes) return -1
    return at + nodeHeaderBytes + view.getUint16(at + 6, true) > pageBytes ? -1 : at
  }

  /** Of the page at hand, how many keys from the nth on, and those before it, are not behind the key. */
  private countUpTo(key: Bytes, from: number): number {
    let low = from
    let high = this.count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.order(middle, key) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Of the leaf at hand, how many keys are before the key: mostly all. */
  private countBelow(key: Bytes): number {
    if (this.order(this.count - 1, key) < 0) return this.count
    let low = 0
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.order(middle, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Of the key of the nth node and the other. */
  private order(nth: number, key: Bytes): number {
    const { view, bytes } = this.buffer
    const at = this.node(nth)
    if (at < 0) return 1
    const length = view.getUint16(at + 6, true)
    const from = at + nodeHeaderBytes
    for (let i = 0; i < length && i < key.length; i++) {
      const difference = (bytes[from + i] as number) - (key[i] as number)
      if (difference !== 0) return difference
    }
    return length - key.length
  }
}

function isThrough(branch: Branch | undefined): boolean {
  return branch !== undefined && branch.next >= branch.children.length
}
