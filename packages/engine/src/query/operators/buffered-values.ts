/** Buffered values that can be iterated several times; they spill to disk when memory runs out. */
import { ObjectView } from '../evaluate/object-view.ts'
import { RowsOnDisk } from '../evaluate/rows-on-disk.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import type { OutputRow, RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { noAggregates } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'

/** A value as a row. */
export interface Item {
  readonly value: unknown
}

export const itemKind: RowKind<Item> = {
  enter: () => undefined,
  copy: (item) => item,
  bytesOf: ({ value }) => itemBytes(value),
  toValue: ({ value }) => value,
  fromValue: (value) => ({ value }),
}

export function itemBytes(value: unknown): number {
  return value instanceof ObjectView ? value.record.length : valueBytes(value)
}

export function itemRow(value: unknown): OutputRow<Item> {
  return { row: { value }, aggregates: noAggregates }
}

/** Reads all values into memory, charged to the statement. Throws LimitExceeded and ServerBusy. */
export async function collectedValues(
  batches: AsyncIterable<readonly unknown[]>,
  context: StatementContext,
): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const batch of batches) {
    let bytes = 0
    for (const value of batch) {
      bytes += elementBytes + itemBytes(value)
      values.push(value)
    }
    context.hold(batch.length, bytes, 'values')
  }
  return values
}

const batchRows = 256

export class BufferedValues extends RowsOnDisk {
  private values: unknown[] = []
  private onDisk: SortedRows<Item> | undefined
  private readonly context: StatementContext
  private readonly isValue: boolean
  private bytes = 0
  private added = 0

  /** Charged to the statement. `isValue`: usable as a value while in memory. Throws LimitExceeded and ServerBusy, after removing its files. */
  static async of(
    batches: AsyncIterable<readonly unknown[]>,
    context: StatementContext,
    isValue = false,
  ): Promise<BufferedValues> {
    const buffer = new BufferedValues(context, isValue)
    try {
      for await (const batch of batches) {
        await buffer.add(batch)
        const pause = context.yieldIfDue()
        if (pause !== undefined) await pause
      }
      // Merged into one run, so that each of several concurrent readers holds one block only.
      await buffer.onDisk?.mergeAll()
      return buffer
    } catch (error) {
      await buffer.close()
      throw error
    }
  }

  private constructor(context: StatementContext, isValue: boolean) {
    super()
    this.context = context
    this.isValue = isValue
  }

  get count(): number {
    return this.added
  }

  /** Bytes that are charged for the values. */
  get bytesInMemory(): number {
    return this.onDisk === undefined ? this.bytes : 0
  }

  /** Undefined where they are on disk. */
  get inMemory(): readonly unknown[] | undefined {
    return this.onDisk === undefined ? this.values : undefined
  }

  /** In insertion order; any number of readers may iterate concurrently. */
  async *batches(): AsyncGenerator<readonly unknown[]> {
    const { onDisk, values } = this
    if (onDisk === undefined) {
      for (let at = 0; at < values.length; at += batchRows) yield values.slice(at, at + batchRows)
    } else for await (const rows of onDisk.sorted()) yield rows.map(({ row }) => row?.value)
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await this.onDisk?.close()
  }

  private async add(batch: readonly unknown[]): Promise<void> {
    this.added += batch.length
    const count = this.onDisk === undefined ? this.hold(batch) : 0
    if (count === batch.length) return
    await this.write(this.onDisk ?? (await this.moveToDisk()), batch.slice(count))
  }

  /** Buffers the values that fit in memory; returns their number. */
  private hold(batch: readonly unknown[]): number {
    const { context, values } = this
    for (const [i, value] of batch.entries()) {
      const bytes = elementBytes + itemBytes(value)
      const total = this.bytes + bytes
      if (this.isValue ? context.isBeyondMemory(total) : context.isSpillDue(values.length + 1, total)) return i
      context.hold(1, bytes, 'values')
      this.bytes += bytes
      values.push(value)
    }
    return batch.length
  }

  private async moveToDisk(): Promise<SortedRows<Item>> {
    const { context, values } = this
    // Releases the memory first: the run is written from the same values.
    context.hold(-values.length, -this.bytes)
    this.values = []
    const onDisk = new SortedRows(itemKind, context, undefined, { spilledSiblings: 0 })
    this.onDisk = onDisk
    await this.write(onDisk, values)
    await onDisk.spill()
    return onDisk
  }

  private async write(onDisk: SortedRows<Item>, values: readonly unknown[]): Promise<void> {
    for (const value of values) {
      onDisk.addNumbered(onDisk.count, itemRow(value))
      if (onDisk.isFull) await onDisk.settle()
      if (this.context.isYieldDue) await this.context.yieldToEventLoop()
    }
    await onDisk.settle()
  }
}
