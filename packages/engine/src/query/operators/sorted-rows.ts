/** External sort of rows by key: in memory, or in sorted runs on disk when memory runs out. */
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
  /** Bytes charged for key and row. */
  readonly bytes: number
  readonly key: Buffer
  /** Rows with equal keys are ordered by it, and added in that order. */
  order: number
  readonly row: OutputRow<R>
}

/** For rows of a run with equal keys: write all, only the first, or all but only the first with its row. */
type DuplicateKeys = 'all' | 'first' | 'firstRow'

const rowBytes = 150
/** Surplus over `limit` at which the rows are sorted and cut off: each row is sorted a few times in all. */
const spareRows = (limit: number): number => Math.max(1_024, limit >> 1)
/** Surplus in bytes that has the same effect. */
const spareBytes = 16 * 2 ** 20
/** Rows per batch, and bytes per batch not counting its last row. */
const batchRows = 256
const batchBytes = 2 ** 20
/** Bit mask of rows between clock checks. */
const timeCheckMask = 15
/** Longer values are kept out of the arena. */
const arenaValueMax = 65_536

interface SortedRowsOptions {
  readonly duplicateKeys?: DuplicateKeys
  /** Number of leading rows that are needed; undefined = all. */
  readonly limit?: number | undefined
  /** Rows read from disk include the key of the first row of each key. */
  readonly withKeys?: boolean
  /** Set where the rows are known to exceed memory: none is retained as an object. Number of other such sorters that share the memory. */
  readonly spilledSiblings?: number
}

/** Key of rows that are ordered by their numbers alone. */
const noKey = Buffer.alloc(0)
/** `undefined` as encoded by the codec, in place of rows that are omitted. */
const omittedRow = Buffer.from([0])

export class SortedRows<R> {
  private readonly kind: RowKind<R>
  private readonly context: StatementContext
  private readonly operator: ExplainNode | undefined
  private readonly duplicateKeys: DuplicateKeys
  private readonly limit: number | undefined
  private readonly withKeys: boolean
  private buffered: KeyedRow<R>[] = []
  /** Bytes charged after the last trim, and now. */
  private trimmedBytes = 0
  private bytes = 0
  /** Rows that are charged and not yet pushed. */
  private unpushedRows = 0
  private countedRows = 0
  private rowCount = 0
  private runs: SortedRuns | undefined
  /** Once rows are on disk, the next run is built here, unless rows are limited. */
  private arena: RecordArena | undefined
  private bound: Buffer | undefined
  private readonly codec = new ValueCodec()

  /** Spilling is recorded in `operator`. */
  constructor(
    kind: RowKind<R>,
    context: StatementContext,
    operator: ExplainNode | undefined,
    { duplicateKeys = 'all', limit, withKeys = false, spilledSiblings }: SortedRowsOptions = {},
  ) {
    this.kind = kind
    this.context = context
    this.operator = operator
    this.duplicateKeys = duplicateKeys
    this.limit = limit
    this.withKeys = withKeys
    if (spilledSiblings !== undefined) this.arena = context.recordArena(spilledSiblings + 1)
  }

  /** `settle` must free memory before more rows are created. */
  get isFull(): boolean {
    const { bytes, buffered, unpushedRows, countedRows, arena, limit = Number.POSITIVE_INFINITY } = this
    if (arena?.isFull === true) return true
    const rows = Math.min(buffered.length + unpushedRows, limit) + (arena?.count ?? 0)
    return this.context.isSpillDue(rows, bytes + (arena?.bytes ?? 0), rows - countedRows)
  }

  /** Whether `settle` has work to do. */
  get isUnsettled(): boolean {
    return this.isFull || this.isTrimDue
  }

  /** Key of the last row within the limit: later rows are only needed if their key is less. */
  get worst(): Buffer | undefined {
    return this.bound
  }

  /** Charges a row that will be pushed. Throws LimitExceeded and ServerBusy. */
  keyed(key: Buffer, row: OutputRow<R>): KeyedRow<R> {
    let bytes = rowBytes + key.length + (row.row === undefined ? 0 : this.kind.bytesOf(row.row))
    for (const value of row.aggregates) bytes += elementBytes + valueBytes(value)
    this.context.script.memory.chargeStatement(bytes)
    this.bytes += bytes
    this.unpushedRows++
    return { key, order: 0, row, bytes }
  }

  /** Releases a row that will not be pushed. */
  drop({ bytes }: KeyedRow<R>): void {
    this.context.script.memory.chargeStatement(-bytes)
    this.bytes -= bytes
    this.unpushedRows--
  }

  push(keyed: KeyedRow<R>, order = this.rowCount): void {
    if (this.arena !== undefined && this.writeToArena(keyed.key, keyed.key.length, order, keyed.row)) {
      this.drop(keyed)
      return
    }
    keyed.order = order
    this.rowCount++
    this.unpushedRows--
    this.buffered.push(keyed)
  }

  /** `order` must be greater than the order of earlier rows with the same key. `length`: of a key in a buffer that is reused. */
  add(key: Buffer, order: number, row: OutputRow<R>, length?: number): void {
    if (this.arena !== undefined && this.writeToArena(key, length ?? key.length, order, row)) return
    this.push(this.keyed(length === undefined ? key : copyOf(key, 0, length), row), order)
  }

  /** Rows are ordered by their numbers alone. */
  addNumbered(order: number, row: OutputRow<R>): void {
    this.add(noKey, order, row)
  }

  /** Writes the row to the arena; false where there is none or a value is long. */
  private writeToArena(key: Buffer, length: number, order: number, row: OutputRow<R>): boolean {
    const { arena, codec } = this
    const value = row.row === undefined ? undefined : this.kind.toValue(row.row)
    if (arena === undefined || isLong(value) || isLong(row.aggregates) || isLong(row.windows)) return false
    const to = arena.begin(key, length, order)
    codec.write(value, to)
    arena.endValue()
    codec.write(row.aggregates, to)
    codec.write(row.windows, to)
    arena.end()
    this.rowCount++
    return true
  }

  get count(): number {
    return this.rowCount
  }

  /** Called between batches: counts rows, drops rows beyond the limit, and spills where memory is short. */
  async settle(): Promise<void> {
    if (this.isTrimDue) await this.trim()
    if (this.isFull) await this.spill()
    // Rows beyond the limit are not counted.
    const rows = this.buffered.length + (this.arena?.count ?? 0)
    const grown = Math.min(rows, this.limit ?? rows) - this.countedRows
    if (grown > 0) this.context.holdRows(grown)
    this.countedRows += Math.max(0, grown)
  }

  /** Writes everything buffered to disk. Throws LimitExceeded and ServerBusy. */
  async spill(): Promise<void> {
    const { arena } = this
    if (arena !== undefined && arena.count > 0) {
      await this.writeRun((writer) => this.writeArena(arena, writer))
      arena.clear()
    }
    if (this.buffered.length > 0) {
      await this.trim()
      await this.write(this.buffered)
    }
    this.releaseBuffered()
    if (this.runs !== undefined && this.limit === undefined) this.arena ??= this.context.recordArena(1)
  }

  private writeArena(arena: RecordArena, writer: RunWriter): Promise<void> {
    const { duplicateKeys, context } = this
    const others = duplicateKeys === 'firstRow' ? { others: omittedRow } : duplicateKeys
    return arena.write(writer, others, () => context.yieldIfDue())
  }

  /** Ends the input: all rows go to disk, and their memory is released. Throws LimitExceeded and ServerBusy. */
  async end(): Promise<void> {
    await this.spill()
    this.arena?.release()
    this.arena = undefined
  }

  /** Writes a run of rows that are charged elsewhere and have their own numbers. */
  async spillRun(rows: readonly KeyedRow<R>[]): Promise<void> {
    await this.write(this.context.sorted(rows, byKey))
    this.rowCount += rows.length
  }

  /** All rows in order. */
  async *sorted(): AsyncGenerator<readonly OutputRow<R>[]> {
    if (this.runs === undefined) {
      await this.trim()
      const sorted: OutputRow<R>[] = []
      await inSlices(this.buffered, ({ row }) => void sorted.push(row), this.context.script.slice)
      for (let at = 0; at < sorted.length; at += batchRows) yield sorted.slice(at, at + batchRows)
    } else for await (const entries of this.merged()) yield entries.map(({ row }) => row)
  }

  /** Rows on disk in order, marking the first row of each key. */
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

  /** Merges all runs into one, so that reading needs little memory; no rows may be added afterwards. */
  async mergeAll(): Promise<void> {
    await this.end()
    const { runs, operator } = this
    if (runs === undefined) return
    const bytesBefore = runs.bytesWritten
    await runs.mergeAll()
    if (operator !== undefined) addSpilled(operator, 0, runs.bytesWritten - bytesBefore)
  }

  /** Releases the memory of buffered rows. */
  forget(): void {
    this.arena?.release()
    this.arena = undefined
    this.releaseBuffered()
  }

  /** Must be called in any case. */
  async close(): Promise<void> {
    await this.runs?.close()
  }

  private async nextBatch(merged: MergedRuns, last: LastKey): Promise<MergedRow<R>[]> {
    const rows: MergedRow<R>[] = []
    let bytes = 0
    for (let record = merged.current; record !== undefined; record = merged.current) {
      const { keyStart, keyEnd, end, order } = record
      const isFirst = !last.isSame(record.bytes, keyStart, keyEnd)
      const key = isFirst && this.withKeys ? copyOf(record.bytes, keyStart, keyEnd) : undefined
      const from = { bytes: record.bytes, at: keyEnd }
      rows.push({ isFirst, key, order, row: this.readRow(from) })
      bytes += end - keyStart
      const wait = merged.advance()
      if (wait !== undefined) await wait
      if (rows.length === batchRows || bytes >= batchBytes) break
      if ((rows.length & timeCheckMask) === timeCheckMask && this.context.isYieldDue)
        await this.context.yieldToEventLoop()
    }
    return rows
  }

  private get isTrimDue(): boolean {
    const { buffered, limit } = this
    if (limit === undefined || buffered.length <= limit) return false
    const addedBytes = this.bytes - this.trimmedBytes
    return buffered.length - limit > spareRows(limit) || addedBytes > spareBytes || this.isFull
  }

  /** Sorts the buffered rows and drops those beyond the limit. */
  private async trim(): Promise<void> {
    const { context, limit } = this
    const sorted = context.sorted(this.buffered, byKey)
    this.buffered = limit === undefined || sorted.length <= limit ? sorted : sorted.slice(0, limit)
    if (limit !== undefined && this.buffered.length === limit) this.bound = this.buffered.at(-1)?.key
    if (this.buffered.length < sorted.length) {
      let bytes = 0
      for (const one of this.buffered) bytes += one.bytes
      context.script.memory.chargeStatement(bytes - this.bytes)
      this.bytes = bytes
    }
    this.trimmedBytes = this.bytes
  }

  private releaseBuffered(): void {
    const { context } = this
    this.buffered = []
    context.script.memory.chargeStatement(-this.bytes)
    context.holdRows(-this.countedRows)
    this.bytes = 0
    this.trimmedBytes = 0
    this.countedRows = 0
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
    const { codec, context, duplicateKeys } = this
    let last: Buffer | undefined
    for (const [i, { key, order, row }] of rows.entries()) {
      const isFirst = duplicateKeys === 'all' || last === undefined || !last.equals(key)
      last = key
      if (!isFirst && duplicateKeys === 'first') continue
      const to = writer.begin(key, order)
      codec.write(isFirst && row.row !== undefined ? this.kind.toValue(row.row) : undefined, to)
      codec.write(row.aggregates, to)
      codec.write(row.windows, to)
      writer.end()
      if (writer.isFull) await writer.flush()
      if ((i & timeCheckMask) !== timeCheckMask) continue
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  private readRow(from: { readonly bytes: Buffer; at: number }): OutputRow<R> {
    const { codec } = this
    const value = codec.read(from)
    const row = value === undefined ? undefined : this.kind.fromValue(value)
    const aggregates = codec.read(from) as readonly unknown[]
    const windows = codec.read(from) as readonly unknown[] | undefined
    return windows === undefined ? { row, aggregates } : { row, aggregates, windows }
  }
}

export interface MergedRow<R> {
  /** First row of its key. */
  readonly isFirst: boolean
  /** Key of a first row, with `withKeys`. */
  readonly key: Buffer | undefined
  readonly order: number
  readonly row: OutputRow<R>
}

function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}

/** Key of the previous record. */
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
  return Array.isArray(value) && bytesLeft(arenaValueMax, value) < 0
}

/** Negative where the value takes more than `bytes`: a rough estimate that stops early. Unlike `valueBytes`, it is not cached per value. */
function bytesLeft(bytes: number, value: string | readonly unknown[]): number {
  let left = bytes - value.length * 8
  if (typeof value === 'string') return left
  for (let i = 0; i < value.length && left >= 0; i++) {
    const element = value[i]
    if (typeof element === 'string' || Array.isArray(element)) left = bytesLeft(left, element)
  }
  return left
}

function byKey(one: KeyedRow<unknown>, other: KeyedRow<unknown>): number {
  const order = one.key === other.key ? 0 : Buffer.compare(one.key, other.key)
  return order === 0 ? one.order - other.order : order
}
