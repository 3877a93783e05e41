/** The view of an LMDB store that readers get: the entries of the tree and the tail in key order. */
import { AshlarError } from '../../errors.ts'
import { isAppendedKey } from '../append.ts'
import type { Bytes, CountedEntries, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions } from '../store.ts'
import { mayHoldTail } from './appended-tail.ts'
import { LmdbSnapshot } from './snapshot.ts'

const nothing = Buffer.alloc(0)

export class StoreSnapshot extends LmdbSnapshot {
  override view<T>(key: Bytes, use: (value: Bytes) => T): T | undefined {
    const tail = isAppendedKey(key) ? this.tailAt(key) : undefined
    return tail === undefined ? super.view(key, use) : use(tail)
  }

  override read(keys: readonly Bytes[], ranges?: readonly RangeRead[]): ReadAnswer {
    const answer = super.read(keys, ranges)
    if (!keys.some(isAppendedKey)) return answer
    const values = keys.map((key, nth) => {
      return (isAppendedKey(key) ? this.tailAt(key) : undefined) ?? answer.values[nth]
    })
    return { values, ranges: answer.ranges }
  }

  override visit(
    range: KeyRange,
    isReverse: boolean,
    use: (key: Bytes, value: Bytes) => boolean,
    max?: number,
  ): Bytes | undefined {
    const tail = this.tailIn(range)
    if (tail === undefined) return super.visit(range, isReverse, use, max)
    const [first, second] = around(range, tail.key, isReverse)
    const stopped = super.visit(first, isReverse, use)
    if (stopped !== undefined) return stopped
    return use(tail.key, tail.value) ? super.visit(second, isReverse, use) : tail.key
  }

  override count(range: KeyRange, max: number): CountedEntries {
    if (this.tailIn(range) === undefined) return super.count(range, max)
    let count = 0
    const last = this.visit(range, false, () => ++count < max)
    return { count, last }
  }

  override scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    return mayHoldTail(range) ? this.scanAround(range, use, options) : super.scan(range, use, options)
  }

  protected override readRange(read: RangeRead): readonly Entry[] {
    const tail = this.tailIn(read)
    if (tail === undefined) return super.readRange(read)
    const { reverse = false, limit = Number.POSITIVE_INFINITY } = read
    const [first, second] = around(read, tail.key, reverse)
    const entries = [...super.readRange({ ...first, reverse, limit })]
    if (entries.length < limit) entries.push(tail)
    return entries.concat(super.readRange({ ...second, reverse, limit: limit - entries.length }))
  }

  protected override countEntries(): number {
    return super.countEntries() + (this.hasTail() ? 1 : 0)
  }

  private async *scanAround<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions,
  ): AsyncGenerator<T[]> {
    const tail = this.tailIn(range, options.onDamage)
    if (tail === undefined) {
      yield* super.scan(range, use, options)
      return
    }
    let left = options.limit ?? Number.POSITIVE_INFINITY
    const [first, second] = around(range, tail.key, options.reverse === true)
    for await (const batch of super.scan(first, use, options)) {
      left -= batch.length
      yield batch
    }
    if (left <= 0) return
    yield [use(tail.key, options.keysOnly === true ? nothing : tail.value)]
    yield* super.scan(second, use, { ...options, limit: left - 1 })
  }

  private tailAt(key: Bytes): Bytes | undefined {
    const tail = this.tail()
    return tail !== undefined && Buffer.compare(tail.key, key) === 0 ? tail.value : undefined
  }

  /** The tail if it is in the range. */
  private tailIn(range: KeyRange, onDamage?: (error: AshlarError) => void): Entry | undefined {
    if (!mayHoldTail(range)) return undefined
    const { from, to } = range
    try {
      const tail = this.tail()
      if (tail === undefined || (from !== undefined && Buffer.compare(tail.key, from) < 0)) return undefined
      return to !== undefined && Buffer.compare(tail.key, to) >= 0 ? undefined : tail
    } catch (error) {
      if (onDamage === undefined || !(error instanceof AshlarError)) throw error
      onDamage(error)
      return undefined
    }
  }
}

/** The parts of the range before and after the key, in scan order. */
function around({ from, to }: KeyRange, key: Bytes, isReverse: boolean): [KeyRange, KeyRange] {
  const below: KeyRange = { ...(from === undefined ? {} : { from }), to: key }
  const above: KeyRange = { from: Buffer.concat([key, Buffer.of(0)]), ...(to === undefined ? {} : { to }) }
  return isReverse ? [above, below] : [below, above]
}
