/** Values that are held for whoever goes through them, perhaps several times: in memory, or, beyond what it may hold, on disk. */
import { ObjectView } from '../evaluate/object-view.ts'
import { RowsOnDisk } from '../evaluate/rows-on-disk.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import type { OutputRow, RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { noAggregates } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'

/** A value as a row of its own. */
export interface Item {
  readonly value: unknown
}

export const itemKind: RowKind<Item> = {
  enter: () => undefined,
  kept: (item) => item,
  bytesOf: ({ value }) => itemBytes(value),
  toValue: ({ value }) => value,
  ofValue: (value) => ({ value }),
}

export function itemBytes(value: unknown): number {
  return value instanceof ObjectView ? value.record.length : valueBytes(value)
}

export function itemRow(value: unknown): OutputRow<Item> {
  return { row: { value }, aggregates: noAggregates }
}

/** All of them in memory, charged for the statement. Throws LimitExceeded and ServerBusy. */
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

export class HeldValues extends RowsOnDisk {
  private values: unknown[] = []
  private onDisk: SortedRows<Item> | undefined
  private readonly context: StatementContext
  private readonly isValue: boolean
  private bytes = 0
  private added = 0

  /** `isValue`: in memory they may be a value. Charged for the statement. Throws LimitExceeded and ServerBusy; nothing is left on disk then. */
  static async of(
    batches: AsyncIterable<readonly unknown[]>,
    context: StatementContext,
    isValue = false,
  ): Promise<HeldValues> {
    const held = new HeldValues(context, isValue)
    try {
      for await (const batch of batches) {
        await held.add(batch)
        const pause = context.yieldIfDue()
        if (pause !== undefined) await pause
      }
      // Several may go through them at the same time: each holds one block.
      await held.onDisk?.mergeAll()
      return held
    } catch (error) {
      await held.close()
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

  /** What is charged for them. */
  get bytesInMemory(): number {
    return this.onDisk === undefined ? this.bytes : 0
  }

  /** Undefined where they are on disk. */
  get inMemory(): readonly unknown[] | undefined {
    return this.onDisk === undefined ? this.values : undefined
  }

  /** In the order in which they came, to any number of readers at the same time. */
  async *batches(): AsyncGenerator<readonly unknown[]> {
    const { onDisk, values } = this
    if (onDisk === undefined) {
      for (let at = 0; at < values.length; at += batchRows) yield values.slice(at, at + batchRows)
    } else for await (const rows of onDisk.sorted()) yield rows.map(({ row }) => row?.value)
  }

  /** May be called again. */
  async close(): Promise<void> {
    await this.onDisk?.close()
  }

  private async add(batch: readonly unknown[]): Promise<void> {
    this.added += batch.length
    const taken = this.onDisk === undefined ? this.hold(batch) : 0
    if (taken === batch.length) return
    await this.write(this.onDisk ?? (await this.moved()), batch.slice(taken))
  }

  /** As many of them as memory has room for; how many. */
  private hold(batch: readonly unknown[]): number {
    const { context, values } = this
    for (const [i, value] of batch.entries()) {
      const bytes = elementBytes + itemBytes(value)
      const all = this.bytes + bytes
      if (this.isValue ? context.isBeyondMemory(all) : context.isSpillDue(values.length + 1, all)) return i
      context.hold(1, bytes, 'values')
      this.bytes += bytes
      values.push(value)
    }
    return batch.length
  }

  private async moved(): Promise<SortedRows<Item>> {
    const { context, values } = this
    // Its memory is that of the rows on their way.
    context.hold(-values.length, -this.bytes)
    this.values = []
    const onDisk = new SortedRows(itemKind, context, undefined, { onDiskBeside: 0 })
    this.onDisk = onDisk
    await this.write(onDisk, values)
    await onDisk.spill()
    return onDisk
  }

  private async write(onDisk: SortedRows<Item>, values: readonly unknown[]): Promise<void> {
    for (const value of values) {
      onDisk.addNumbered(onDisk.count, itemRow(value))
      if (onDisk.isFull) await onDisk.settle()
      if (this.context.isTurnDue) await this.context.turn()
    }
    await onDisk.settle()
  }
}
