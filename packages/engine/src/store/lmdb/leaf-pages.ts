/** Reads branch and leaf pages from the data file into a buffer, and searches their keys. */
import { readSync } from 'node:fs'
import type { Bytes } from '../store.ts'
import { nodeHeaderBytes, pageFlag, pageHeaderBytes } from './data-file.ts'
import type { LeafBuffer } from './leaf-buffer.ts'
import { type Fingerprint, fingerprint, type VerifiedPages } from './verified-pages.ts'
import { isValidLeaf } from './verify-leaf.ts'

/** Offsets in a page header. */
const flagsAt = 18
const lowerAt = 20

const found: Fingerprint = { one: 0, other: 0 }

/** Never throws: invalid pages are reported as false or undefined. */
export class LeafPages {
  readonly buffer: LeafBuffer
  /** Number of nodes in the current page. */
  count = 0
  private readonly file: number
  private readonly verified: VerifiedPages

  constructor(file: number, verified: VerifiedPages, buffer: LeafBuffer) {
    this.file = file
    this.verified = verified
    this.buffer = buffer
  }

  /** The child pages of a branch; undefined if the page is not a branch. */
  children(page: number): number[] | undefined {
    if (!this.read(page, pageFlag.branch)) return undefined
    const { view } = this.buffer
    const children: number[] = []
    for (let nth = 0; nth < this.count; nth++) {
      const at = this.node(nth)
      if (at < 0) return undefined
      children.push(view.getUint32(at, true) + view.getUint16(at + 4, true) * 0x1_0000_0000)
    }
    return children
  }

  /** False if the page is not a valid leaf, or has values on overflow pages. */
  leaf(page: number): boolean {
    if (!this.read(page, pageFlag.leaf)) return false
    const { verified } = this
    const { words, view, bytes, pageBytes } = this.buffer
    fingerprint(words, pageBytes >> 2, found)
    if (verified.has(page, found)) return true
    if (!isValidLeaf(view, bytes, pageBytes, this.count)) return false
    verified.add(page, found)
    return true
  }

  /** False if the page is not as expected. */
  read(page: number, flag: number): boolean {
    const { buffer, file } = this
    const { view, page: bytes, pageBytes } = buffer
    this.count = 0
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

  /** Offset of the nth node; -1 if its key is not within the page. */
  node(nth: number): number {
    const { view, pageBytes } = this.buffer
    const at = pageHeaderBytes + view.getUint16(pageHeaderBytes + 2 * nth, true)
    if (at + nodeHeaderBytes > pageBytes) return -1
    return at + nodeHeaderBytes + view.getUint16(at + 6, true) > pageBytes ? -1 : at
  }

  /** The number of keys in the current page up to and including `key`, assuming that those before the nth are. */
  countUpTo(key: Bytes, from: number): number {
    let low = from
    let high = this.count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.order(middle, key) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The number of keys in the current leaf that precede `key`: usually all. */
  countBelow(key: Bytes): number {
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

  /** Compares the key of the nth node with `key`. */
  order(nth: number, key: Bytes): number {
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
