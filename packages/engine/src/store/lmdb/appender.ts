/** Appends the values of the commits of one write transaction to the tail, and moves full blocks of the tail into the tree. */
import {
  appendedBytes,
  appendedKey,
  appendedNumber,
  appendedPart,
  appendedPuts,
  appendedRange,
  isAppendedKey,
} from '../append.ts'
import { AppendBlock, blockPart } from '../append-blocks.ts'
import { DamagedEntry } from '../damaged-entry.ts'
import type { Append, Bytes, Change, Entry, KeyRange } from '../store.ts'
import {
  blockBytesMax,
  blockOf,
  isUnder,
  mayHoldTail,
  readTail,
  storedTail,
  tailKey,
  writeTail,
} from './appended-tail.ts'
import { EntryChecks } from './entry-checks.ts'
import { borrowedWithChecksum, checkedLength } from './entry-checksum.ts'
import { borrowedBytes, noteValueBuffer } from './entry-cursor.ts'
import type { TailCache } from './kept-tail.ts'
import type { Environment } from './lmdb-js.ts'
import { withCursor } from './read-pins.ts'

const checks = new EntryChecks('checked')
const nothing: readonly Change[] = []

/** More commits than a tail can hold: so many numbers are skipped after a damaged tail, since some of them were assigned. */
const numbersOfTail = blockBytesMax

export class Appender {
  private readonly environment: Environment
  private readonly transaction: number
  private readonly tailCache: TailCache
  private block: AppendBlock | undefined
  private isLoaded = false
  /** Whether a tail is stored. */
  private isStored = false
  private isDamaged = false
  private isChanged = false

  constructor(environment: Environment, transaction: number, tailCache: TailCache) {
    this.environment = environment
    this.transaction = transaction
    this.tailCache = tailCache
  }

  /** Returns the changes that the caller must apply. */
  append(append: Append): readonly Change[] {
    const { prefix, values } = append
    const [value] = values
    if (value === undefined) return nothing
    const block = this.blockOf(prefix)
    this.isChanged = true
    if (values.length === 1 && !block.hasRoomFor(value)) this.putBlock(block)
    if (values.length === 1 && block.hasRoomFor(value)) {
      block.add(value)
      return nothing
    }
    this.putBlock(block)
    block.number++
    return appendedPuts(append, block.number)
  }

  /** Must be called before an entry is read or changed, which is impossible while it is in the tail. */
  flushFor(key: Bytes): void {
    if (!isAppendedKey(key)) return
    this.load()
    if (this.block !== undefined && isUnder(this.block.prefix, key)) this.putBlock(this.block)
  }

  /** Like `flushFor`, for all entries of a range. */
  flushForRange(range: KeyRange): void {
    if (!mayHoldTail(range)) return
    this.load()
    if (this.block !== undefined) this.putBlock(this.block)
  }

  /** Must be called once, before the transaction ends. */
  end(): void {
    const { block, environment } = this
    if (block !== undefined && !this.isDamaged) this.tailCache.keep(environment, this.transaction, block)
    if (!this.isChanged) return
    if (block !== undefined && !block.isEmpty) writeTail(environment, block.key(), block.value())
    else if (this.isStored) environment.list.remove(tailKey)
  }

  private blockOf(prefix: Bytes): AppendBlock {
    this.load()
    const { block } = this
    if (block !== undefined && isUnder(prefix, block.prefix)) return block
    if (block !== undefined) this.putBlock(block)
    const next = new AppendBlock(prefix, this.lastNumber(prefix), blockBytesMax)
    if (this.isDamaged) this.passDamaged(next)
    this.block = next
    return next
  }

  private load(): void {
    if (this.isLoaded) return
    this.isLoaded = true
    this.block = this.tailCache.take(this.environment, this.transaction)
    if (this.block !== undefined) {
      this.isStored = !this.block.isEmpty
      return
    }
    try {
      const tail = readTail(this.environment, checks)
      if (tail === undefined) return
      this.block = blockOf(tail)
    } catch (error) {
      if (!(error instanceof DamagedEntry)) throw error
      this.isDamaged = true
    }
    this.isStored = true
  }

  /**
   * Merges the block with the preceding one if that is as small: two of them fill a page. LMDB would leave single ones one to a page, since it splits
   * a page of two when a third follows.
   */
  private putBlock(block: AppendBlock): void {
    if (block.isEmpty) return
    const { environment } = this
    const before = this.blockBefore(block)
    const value = before === undefined ? block.value() : Buffer.concat([before.value, block.value()])
    const key = appendedKey(block.prefix, block.number, blockPart, value.length)
    if (before !== undefined) environment.remove(before.key)
    environment.put(key, borrowedWithChecksum(key, value))
    block.clear()
    this.isChanged = true
  }

  /**
   * Moves the damaged tail into the tree, where its checksum (computed with another key) fails: readers get an error as for every damaged entry, and
   * writers continue.
   */
  private passDamaged(next: AppendBlock): void {
    const damaged = storedTail(this.environment, checks) as Buffer
    next.number += numbersOfTail
    this.environment.put(appendedKey(next.prefix, next.number, blockPart, damaged.length), damaged)
    this.isDamaged = false
  }

  /** The last block of the tree, if its values immediately precede those of the given block and there is room for both. */
  private blockBefore({ prefix, number, count }: AppendBlock): Entry | undefined {
    const key = this.lastKey(prefix)
    if (key === undefined || appendedPart(key) !== blockPart || appendedBytes(key) > blockBytesMax) return undefined
    if (appendedNumber(key) + count !== number) return undefined
    const stored = this.environment.getBinaryFast(key)
    if (stored === undefined) return undefined
    noteValueBuffer(stored)
    const bytes = borrowedBytes(stored, stored.length)
    // A damaged block is left for readers to detect.
    if (checkedLength(key, bytes, bytes.length) !== appendedBytes(key)) return undefined
    return { key, value: Buffer.from(bytes.subarray(0, appendedBytes(key))) }
  }

  /** The last number in the tree, from the key alone, since the value may be damaged. */
  private lastNumber(prefix: Bytes): number {
    const key = this.lastKey(prefix)
    return key === undefined ? 0 : appendedNumber(key)
  }

  private lastKey(prefix: Bytes): Buffer | undefined {
    return withCursor(this.environment, undefined, (cursor) => {
      const { to } = appendedRange(prefix)
      return cursor.start(to, true, true) && isUnder(prefix, cursor.key) ? Buffer.from(cursor.key) : undefined
    })
  }
}
