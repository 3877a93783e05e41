/** Rows that are put in the order of their keys: in memory, or, beyond what it may hold, in sorted runs on disk. */
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import type { MergedRuns } from '../../spill/merged-runs.ts'
import type { RecordArena } from '../../spill/record-arena.ts'
import type { RunWriter } from '../../spill/run-writer.ts'
import type { SortedRuns } from '../../spill/sorted-runs.ts'
import { inSlices } from '../../store/time-slice.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import type { OutputRow, RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { ValueCodec } from '../execute/value-codec.ts'
import { addSpilled, type ExplainNode } from '../explain/explain-node.ts'

export interface KeyedRow<R> {
  /** What was charged for key and row. */
  readonly bytes: number
  readonly key: Buffer
  /** Rows of equal keys are in the order of it, in which they are also added. */
  order: number
  readonly row: OutputRow<R>
}

/** Of rows with equal keys of one run: all are written whole, or the first alone, or only the first with the row itself. */
type OfEqualKeys = 'all' | 'first' | 'firstWhole'

const rowBytes = 150
/** Among so many more than are taken, the best are picked out from time to time: in all, each row is sorted a few times. */
const spareRows = (wanted: number): number => Math.max(1_024, wanted >> 1)
/** And where they take so much. */
const spareBytes = 16 * 2 ** 20
/** Rows that are handed on together, and what they take at most, the last one aside. */
const batchRows = 256
const batchBytes = 2 ** 20
/** How often rows are written before others are asked for their turn, less one; all its bits are ones. */
const rowsBetweenLooks = 15
/** Values that take more are written and read in pieces. */
const pieceBytes = 65_536

interface SortedRowsOptions {
  readonly ofEqualKeys?: OfEqualKeys
  /** How many of the first rows are needed; undefined = all. */
  readonly wanted?: number | undefined
  /** Of what is read from disk, the first row of each key has it. */
  readonly withKeys?: boolean
  /** They are too many for memory: none of them is held as an object. So many others like them are written at the same time. */
  readonly onDiskBeside?: number
}

/** Rows that have no key but their numbers. */
const noKey = Buffer.alloc(0)
/** `undefined` as the codec writes it, in place of the row: of rows of which only their key and their results are kept. */
const noWholeRow = Buffer.from([0])

export class SortedRows<R> {
  private readonly kind: RowKind<R>
  private readonly context: StatementContext
  private readonly operator: ExplainNode | undefined
  private readonly ofEqualKeys: OfEqualKeys
  private readonly wanted: number | undefined
  private readonly withKeys: boolean
  private kept: KeyedRow<R>[] = []
  /** What is charged for those that were trimmed, and for all. */
  private trimmedBytes = 0
  private bytes = 0
  /** Rows that are charged and not yet kept. */
  private pending = 0
  private heldRows = 0
  private added = 0
  private runs: SortedRuns | undefined
  /** Once rows are on disk, the next ones wait here to be a run; not where the best are picked out from time to time. */
  private arena: RecordArena | undefined
  private bound: Buffer | undefined
  private readonly codec = new ValueCodec()

  /** `operator`: is told what goes to disk. */
  constructor(
    kind: RowKind<R>,
    context: StatementContext,
    operator: ExplainNode | undefined,
    { ofEqualKeys = 'all', wanted, withKeys = false, onDiskBeside }: SortedRowsOptions = {},
  ) {
    this.kind = kind
    this.context = context
    this.operator = operator
    this.ofEqualKeys = ofEqualKeys
    this.wanted = wanted
    this.withKeys = withKeys
    if (onDiskBeside !== undefined) this.arena = context.recordArena(onDiskBeside + 1)
  }

  /** What of them is held is to be let go of, by `settle`, before more are made. */
  get isFull(): boolean {
    const { bytes, kept, pending, heldRows, arena, wanted = Number.POSITIVE_INFINITY } = this
    if (arena?.isFull === true) return true
    const rows = Math.min(kept.length + pending, wanted) + (arena?.count ?? 0)
    return this.context.isSpillDue(rows, bytes + (arena?.bytes ?? 0), rows - heldRows)
  }

  /** `settle` has something to do. */
  get isUnsettled(): boolean {
    return this.isFull || this.isTrimDue
  }

  /** As many rows as are wanted have keys up to this one: no later row counts whose key is not less. */
  get worst(): Buffer | undefined {
    return this.bound
  }

  /** Charges a row that is going to be pushed. Throws LimitExceeded and ServerBusy. */
  keyed(key: Buffer, row: OutputRow<R>): KeyedRow<R> {
    let bytes = rowBytes + key.length + (row.row === undefined ? 0 : this.kind.bytesOf(row.row))
    for (const value of row.aggregates) bytes += elementBytes + valueBytes(value)
    this.context.script.memory.chargeStatement(bytes)
    this.bytes += bytes
    this.pending++
    return { key, order: 0, row, bytes }
  }

  /** The row is not pushed after all. */
  drop({ bytes }: KeyedRow<R>): void {
    this.context.script.memory.chargeStatement(-bytes)
    this.bytes -= bytes
    this.pending--
  }

  /** After all that were pushed before. */
  push(keyed: KeyedRow<R>, order = this.added): void {
    if (this.arena !== undefined && this.isWritten(keyed.key, keyed.key.length, order, keyed.row)) {
      this.drop(keyed)
      return
    }
    keyed.order = order
    this.added++
    this.pending--
    this.kept.push(keyed)
  }

  /** `order`: more than those of the same key before have. `length`: of a key whose buffer is used again. */
  add(key: Buffer, order: number, row: OutputRow<R>, length?: number): void {
    if (this.arena !== undefined && this.isWritten(key, length ?? key.length, order, row)) return
    this.push(this.keyed(length === undefined ? key : copied(key, 0, length), row), order)
  }

  /** In the order of numbers alone. */
  addNumbered(order: number, row: OutputRow<R>): void {
    this.add(noKey, order, row)
  }

  /** To where the next run is made; not what is long. */
  private isWritten(key: Buffer, length: number, order: number, row: OutputRow<R>): boolean {
    const { arena, codec } = this
    const value = row.row === undefined ? undefined : this.kind.toValue(row.row)
    if (arena === undefined || isLong(value) || isLong(row.aggregates) || isLong(row.windows)) return false
    const to = arena.begin(key, length, order)
    codec.write(value, to)
    arena.endValue()
    codec.write(row.aggregates, to)
    codec.write(row.windows, to)
    arena.end()
    this.added++
    return true
  }

  /** Rows that were added. */
  get count(): number {
    return this.added
  }

  /** Between batches: counts rows, drops those that are not among the first that are wanted, and writes what memory is not to hold. */
  async settle(): Promise<void> {
    if (this.isTrimDue) await this.trim()
    if (this.isFull) await this.spill()
    // What will be dropped again does not count.
    const held = this.kept.length + (this.arena?.count ?? 0)
    const grown = Math.min(held, this.wanted ?? held) - this.heldRows
    if (grown > 0) this.context.holdRows(grown)
    this.heldRows += Math.max(0, grown)
  }

  /** Writes all that is held. Throws LimitExceeded and ServerBusy. */
  async spill(): Promise<void> {
    const { arena } = this
    if (arena !== undefined && arena.count > 0) {
      await this.writeRun((writer) => this.writeArena(arena, writer))
      arena.clear()
    }
    if (this.kept.length > 0) {
      await this.trim()
      await this.write(this.kept)
    }
    this.letGo()
    if (this.runs !== undefined && this.wanted === undefined) this.arena ??= this.context.recordArena(1)
  }

  private writeArena(arena: RecordArena, writer: RunWriter): Promise<void> {
    const { ofEqualKeys, context } = this
    const others = ofEqualKeys === 'firstWhole' ? { others: noWholeRow } : ofEqualKeys
    return arena.write(writer, others, () => context.yieldIfDue())
  }

  /** No more are added: all of them go to disk, and nothing of them is held. Throws LimitExceeded and ServerBusy. */
  async end(): Promise<void> {
    await this.spill()
    this.arena?.release()
    this.arena = undefined
  }

  /** The same of others, which are charged elsewhere and have numbers of their own. */
  async spillRun(rows: readonly KeyedRow<R>[]): Promise<void> {
    await this.write(this.context.sorted(rows, byKey))
    this.added += rows.length
  }

  /** All of them, in their order. */
  async *sorted(): AsyncGenerator<readonly OutputRow<R>[]> {
    if (this.runs === undefined) {
      await this.trim()
      const sorted: OutputRow<R>[] = []
      await inSlices(this.kept, ({ row }) => void sorted.push(row), this.context.script.slice)
      for (let at = 0; at < sorted.length; at += batchRows) yield sorted.slice(at, at + batchRows)
    } else for await (const entries of this.merged()) yield entries.map(({ row }) => row)
  }

  /** From disk, with what tells whether a row has the key of the one before it. */
  async *merged(): AsyncGenerator<readonly MergedRow<R>[]> {
    await this.end()
    const { runs, context } = this
    if (runs === undefined) return
    const bytesBefore = runs.bytesWritten
    const merged = await runs.merged()
    if (this.operator !== undefined) addSpilled(this.operator, 0, runs.bytesWritten - bytesBefore)
    const { memory } = context.script
    const blocks = merged.bytesMax
    memory.chargeStatement(blocks)
    const last = new LastKey()
    try {
      for (;;) {
        const batch = await this.nextBatch(merged, last)
        if (batch.length === 0) break
        yield batch
        const pause = context.yieldIfDue()
        if (pause !== undefined) await pause
      }
    } finally {
      memory.chargeStatement(-blocks)
    }
  }

  /** What is on disk becomes one run, of which little is read at once; no more are added. */
  async mergeAll(): Promise<void> {
    await this.end()
    const { runs, operator } = this
    if (runs === undefined) return
    const bytesBefore = runs.bytesWritten
    await runs.mergeAll()
    if (operator !== undefined) addSpilled(operator, 0, runs.bytesWritten - bytesBefore)
  }

  /** What memory holds is no longer needed. */
  forget(): void {
    this.arena?.release()
    this.arena = undefined
    this.letGo()
  }

  /** To be called whatever has happened. */
  async close(): Promise<void> {
    await this.runs?.close()
  }

  private async nextBatch(merged: MergedRuns, last: LastKey): Promise<MergedRow<R>[]> {
    const rows: MergedRow<R>[] = []
    let bytes = 0
    for (let record = merged.current; record !== undefined; record = merged.current) {
      const { keyStart, keyEnd, end, order } = record
      const isFirst = !last.isSame(record.bytes, keyStart, keyEnd)
      const key = isFirst && this.withKeys ? copied(record.bytes, keyStart, keyEnd) : undefined
      const from = { bytes: record.bytes, at: keyEnd }
      rows.push({ isFirst, key, order, row: this.readRow(from) })
      bytes += end - keyStart
      const wait = merged.advance()
      if (wait !== undefined) await wait
      if (rows.length === batchRows || bytes >= batchBytes) break
      if ((rows.length & rowsBetweenLooks) === rowsBetweenLooks && this.context.isTurnDue) await this.context.turn()
    }
    return rows
  }

  private get isTrimDue(): boolean {
    const { kept, wanted } = this
    if (wanted === undefined || kept.length <= wanted) return false
    const addedBytes = this.bytes - this.trimmedBytes
    return kept.length - wanted > spareRows(wanted) || addedBytes > spareBytes || this.isFull
  }

  /** Sorts what is held; what is not among the first that are wanted is let go of. */
  private async trim(): Promise<void> {
    const { context, wanted } = this
    const sorted = context.sorted(this.kept, byKey)
    this.kept = wanted === undefined || sorted.length <= wanted ? sorted : sorted.slice(0, wanted)
    if (wanted !== undefined && this.kept.length === wanted) this.bound = this.kept.at(-1)?.key
    if (this.kept.length < sorted.length) {
      let bytes = 0
      for (const one of this.kept) bytes += one.bytes
      context.script.memory.chargeStatement(bytes - this.bytes)
      this.bytes = bytes
    }
    this.trimmedBytes = this.bytes
  }

  private letGo(): void {
    const { context } = this
    this.kept = []
    context.script.memory.chargeStatement(-this.bytes)
    context.holdRows(-this.heldRows)
    this.bytes = 0
    this.trimmedBytes = 0
    this.heldRows = 0
  }

  private write(rows: readonly KeyedRow<R>[]): Promise<void> {
    return this.writeRun((writer) => this.writeAll(rows, writer))
  }

  private async writeRun(writeTo: (writer: RunWriter) => Promise<void>): Promise<void> {
    this.runs ??= this.context.sortedRuns()
    const { runs, operator } = this
    const [countBefore, bytesBefore] = [runs.count, runs.bytesWritten]
    await runs.add(writeTo)
    if (operator !== undefined) addSpilled(operator, runs.count - countBefore, runs.bytesWritten - bytesBefore)
  }

  private async writeAll(rows: readonly KeyedRow<R>[], writer: RunWriter): Promise<void> {
    const { context, ofEqualKeys } = this
    let last: Buffer | undefined
    for (const [i, { key, order, row }] of rows.entries()) {
      const isFirst = ofEqualKeys === 'all' || last === undefined || !last.equals(key)
      last = key
      if (!isFirst && ofEqualKeys === 'first') continue
      const to = writer.begin(key, order)
      await this.writeRow(isFirst ? row : { ...row, row: undefined }, to)
      writer.end()
      if (writer.isFull) await writer.flush()
      if ((i & rowsBetweenLooks) !== rowsBetweenLooks) continue
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  private writeRow(row: OutputRow<R>, to: ByteWriter): Promise<unknown> | undefined {
    const { codec } = this
    const value = row.row === undefined ? undefined : this.kind.toValue(row.row)
    codec.write(value, to)
    codec.write(row.aggregates, to)
    codec.write(row.windows, to)
    return undefined
  }

  private readRow(from: { readonly bytes: Buffer; at: number }): OutputRow<R> {
    const { codec } = this
    return this.rowOf([codec.read(from), codec.read(from), codec.read(from)])
  }

  private rowOf([value, aggregates, windows]: readonly unknown[]): OutputRow<R> {
    const row = value === undefined ? undefined : this.kind.ofValue(value)
    const results = aggregates as readonly unknown[]
    return windows === undefined
      ? { row, aggregates: results }
      : { row, aggregates: results, windows: windows as readonly unknown[] }
  }
}

export interface MergedRow<R> {
  /** Of its key. */
  readonly isFirst: boolean
  /** Where the rows are told with their keys, of the first one. */
  readonly key: Buffer | undefined
  readonly order: number
  readonly row: OutputRow<R>
}

function copied(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}

/** The key of the record before. */
class LastKey {
  private bytes = Buffer.alloc(0)
  private length = -1

  isSame(bytes: Buffer, start: number, end: number): boolean {
    const length = end - start
    if (length === this.length && (length === 0 || bytes.compare(this.bytes, 0, length, start, end) === 0)) return true
    if (length > this.bytes.length) this.bytes = Buffer.allocUnsafe(2 * length)
    bytes.copy(this.bytes, 0, start, end)
    this.length = length
    return false
  }
}

function isLong(value: unknown): boolean {
  return Array.isArray(value) && leftOf(pieceBytes, value) < 0
}

/** Below 0 where the value takes more: rough, and soon told. Not kept for each value, as `valueBytes` keeps it. */
function leftOf(bytes: number, value: string | readonly unknown[]): number {
  let left = bytes - value.length * 8
  if (typeof value === 'string') return left
  for (let i = 0; i < value.length && left >= 0; i++) {
    const element = value[i]
    if (typeof element === 'string' || Array.isArray(element)) left = leftOf(left, element)
  }
  return left
}

function byKey(one: KeyedRow<unknown>, other: KeyedRow<unknown>): number {
  const order = one.key === other.key ? 0 : Buffer.compare(one.key, other.key)
  return order === 0 ? one.order - other.order : order
}
