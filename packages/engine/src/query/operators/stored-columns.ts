/** Copies columns to the reply from records; columns of an object that many rows refer to are written once per chunk and then copied. */
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import type { JsonWriter } from '../../bytes/json-writer.ts'
import type { EncodedText } from '../../bytes/prepared-text.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import type { RowReference, WriteStored } from '../evaluate/compile-target.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'

interface Column {
  readonly writeStored: WriteStored | undefined
  readonly reference: RowReference | undefined
}

/** Adjacent columns that begin with the same reference, or with none. */
export interface ColumnRun {
  readonly reference: RowReference | undefined
  readonly names: readonly EncodedText[]
  readonly writes: readonly WriteStored[]
}

/** Splits the columns into maximal runs. `names`: text before each value. Undefined where a value must be evaluated. */
export function columnRuns(
  columns: readonly Column[],
  names: readonly EncodedText[],
): readonly ColumnRun[] | undefined {
  const runs: { reference: RowReference | undefined; names: EncodedText[]; writes: WriteStored[] }[] = []
  for (let i = 0; i < columns.length; i++) {
    const { writeStored, reference } = columns[i] as Column
    if (writeStored === undefined) return undefined
    let run = runs.at(-1)
    if (run === undefined || !isSame(run.reference, reference)) {
      run = { reference, names: [], writes: [] }
      runs.push(run)
    }
    run.names.push(names[i] as EncodedText)
    run.writes.push(writeStored)
  }
  return runs
}

const bucketCount = 256
const marks = new Float64Array(bucketCount)
const highs = new Int32Array(bucketCount)
const lows = new Int32Array(bucketCount)
const starts = new Int32Array(bucketCount)
const lengths = new Int32Array(bucketCount)
let lastMark = 0

/** For one statement: it reads one snapshot, so that columns of the same object do not change. */
export class StoredColumns {
  private readonly runs: readonly ColumnRun[]
  /** Mark of the first run; marks are unique among the runs of all statements. */
  private firstMark = 0
  /** Output of the previous rows; undefined while a row is being written. */
  private to: ByteWriter | undefined
  /** End of the last complete row. */
  private end = 0

  constructor(runs: readonly ColumnRun[]) {
    this.runs = runs
  }

  /** Writes the current row with its closing brace; returns false, with nothing written, where that is not possible. */
  write(json: JsonWriter, evaluation: EvaluationContext): boolean {
    const { to } = json
    const { runs } = this
    const rowStart = to.length
    // Rows in another chunk, or that were truncated, cannot be copied.
    if (this.to !== to || rowStart < this.end) {
      this.firstMark = lastMark + 1
      lastMark += runs.length
    }
    this.to = undefined
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as ColumnRun
      const isWritten =
        run.reference === undefined
          ? writeRun(json, run, evaluation)
          : writeShared(json, run, run.reference, this.firstMark + i, evaluation)
      if (isWritten) continue
      to.length = rowStart
      return false
    }
    json.byte(closingBrace)
    this.to = to
    this.end = to.length
    return true
  }
}

const closingBrace = 0x7d

function isSame(one: RowReference | undefined, other: RowReference | undefined): boolean {
  return one?.slot === other?.slot && one?.index === other?.index
}

function writeRun(json: JsonWriter, { names, writes }: ColumnRun, evaluation: EvaluationContext): boolean {
  for (let i = 0; i < names.length; i++) {
    json.prepared(names[i] as EncodedText)
    if (!(writes[i] as WriteStored)(json, evaluation)) return false
  }
  return true
}

/** Writes the columns of a referenced object. */
function writeShared(
  json: JsonWriter,
  run: ColumnRun,
  { slot, index }: RowReference,
  mark: number,
  evaluation: EvaluationContext,
): boolean {
  const view = evaluation.slots[slot] as ObjectView | undefined
  const at = view === undefined ? -1 : view.locateReference(index)
  if (view === undefined || at < 0) return writeRun(json, run, evaluation)
  const { to } = json
  const high = readInt32(view.record, at)
  const low = readInt32(view.record, at + 4)
  const bucket = (low ^ (low >>> 16) ^ high) & (bucketCount - 1)
  if (marks[bucket] === mark && highs[bucket] === high && lows[bucket] === low) {
    to.repeat(starts[bucket] as number, lengths[bucket] as number)
    return true
  }
  const start = to.length
  if (!writeRun(json, run, evaluation)) return false
  marks[bucket] = mark
  highs[bucket] = high
  lows[bucket] = low
  starts[bucket] = start
  lengths[bucket] = to.length - start
  return true
}
