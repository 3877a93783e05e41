/**
 * Columns written from where their values are stored. Many rows refer to the same few objects: columns that depend on such an object alone are
 * written once a chunk of rows, and then copied from the row that was written before.
 */
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import type { JsonWriter } from '../../bytes/json-writer.ts'
import type { PreparedText } from '../../bytes/prepared-text.ts'
import { readInt32 } from '../../bytes/read-number.ts'
import type { RowReference, WriteStored } from '../evaluate/compile-target.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'

interface Column {
  readonly writeStored: WriteStored | undefined
  readonly reference: RowReference | undefined
}

/** Columns that stand side by side and begin with the same reference, or with none. */
export interface ColumnRun {
  readonly reference: RowReference | undefined
  readonly names: readonly PreparedText[]
  readonly writes: readonly WriteStored[]
}

/** Those of a plan, each run as long as can be. `names`: what is written before each column's value. Undefined where a value has to be worked out. */
export function columnRuns(
  columns: readonly Column[],
  names: readonly PreparedText[],
): readonly ColumnRun[] | undefined {
  const runs: { reference: RowReference | undefined; names: PreparedText[]; writes: WriteStored[] }[] = []
  for (let i = 0; i < columns.length; i++) {
    const { writeStored, reference } = columns[i] as Column
    if (writeStored === undefined) return undefined
    let run = runs.at(-1)
    if (run === undefined || !isSame(run.reference, reference)) {
      run = { reference, names: [], writes: [] }
      runs.push(run)
    }
    run.names.push(names[i] as PreparedText)
    run.writes.push(writeStored)
  }
  return runs
}

/*
 * Where columns of a run were written for the object that a reference names, at a place that follows from its OID. One table for all statements,
 * since they make none of their own then: what a run finds there under the mark of another is not its own.
 */
const places = 256
const marks = new Float64Array(places)
const highs = new Int32Array(places)
const lows = new Int32Array(places)
const starts = new Int32Array(places)
const lengths = new Int32Array(places)
let marksGiven = 0

/** Of one statement, which reads one snapshot: the same object shows the same. */
export class StoredColumns {
  private readonly runs: readonly ColumnRun[]
  /** What is noted for each run in the rows at hand is under its own, and no run of any other statement has the same. */
  private firstMark = 0
  /** What rows were written to, whole so far; undefined while a row is written. */
  private to: ByteWriter | undefined
  /** Where the last of them ends. */
  private end = 0

  constructor(runs: readonly ColumnRun[]) {
    this.runs = runs
  }

  /** The row at hand, with the bracket behind it; false, and nothing written, where that cannot be done. */
  write(json: JsonWriter, evaluation: EvaluationContext): boolean {
    const { to } = json
    const { runs } = this
    const rowStart = to.length
    // Of a row that was broken off, or is in another chunk, nothing can be copied.
    if (this.to !== to || rowStart < this.end) {
      this.firstMark = marksGiven + 1
      marksGiven += runs.length
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
    json.prepared(names[i] as PreparedText)
    if (!(writes[i] as WriteStored)(json, evaluation)) return false
  }
  return true
}

/** The columns of an object that the row refers to. */
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
  const place = (low ^ (low >>> 16) ^ high) & (places - 1)
  if (marks[place] === mark && highs[place] === high && lows[place] === low) {
    to.repeat(starts[place] as number, lengths[place] as number)
    return true
  }
  const start = to.length
  if (!writeRun(json, run, evaluation)) return false
  marks[place] = mark
  highs[place] = high
  lows[place] = low
  starts[place] = start
  lengths[place] = to.length - start
  return true
}
