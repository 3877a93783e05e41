/** The row of one object that a unique key names, in a store that answers synchronously: two reads, and nothing that only longer statements need. */
import { JsonWriter } from '../../bytes/json-writer.ts'
import { keySpace } from '../../bytes/key-space.ts'
import { writeRecordJson } from '../../objects/representation.ts'
import { objectKeyBytes, objectKeyHeaderBytes } from '../../records/object-key.ts'
import { shapeNumberOf } from '../../records/record-format.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Bytes, Snapshot } from '../../store/store.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { newline, RowsAtHand } from '../execute/row-chunk.ts'
import type { Dialect } from '../language/dialect.ts'
import { storedRuns } from '../operators/project.ts'
import { StoredColumns } from '../operators/stored-columns.ts'
import type { RowChunks } from '../query-request.ts'
import { IndexScan } from './index-scan.ts'
import type { RowsPlan } from './rows-in-place.ts'

/** Longer records are left to what gives others their turn. */
const recordBytesMax = 8_192
/** Of a record, as often as it may be shown: as JSON it is less than a request may hold of what all share without asking (`ownBytes`). */
const shownBytesMax = 65_536

/** Undefined for a plan that may read anything beside the entry and the record, or leave rows out. */
export function uniqueLookup(rows: RowsPlan): UniqueLookup | undefined {
  const { objects, limits, areOfRecords, areInAnyOrder } = rows
  const { exact, references, ofElements, filter } = objects
  if (!(exact instanceof IndexScan) || !areOfRecords || !areInAnyOrder) return undefined
  if (references !== undefined || ofElements.length > 0 || filter.rest !== undefined) return undefined
  if (limits.skip !== undefined || limits.take !== undefined) return undefined
  return new UniqueLookup(exact, rows)
}

export class UniqueLookup {
  private readonly access: IndexScan
  private readonly rows: RowsPlan
  /** How often the row may show most of the record: each of its columns may be the same long text. */
  private readonly timesShown: number
  /** Null where they are to be worked out. */
  private columns: StoredColumns | null | undefined

  constructor(access: IndexScan, rows: RowsPlan) {
    this.access = access
    this.rows = rows
    this.timesShown = rows.projections?.length ?? 1
  }

  /**
   * All rows; undefined where they cannot be had in this way: the statement is then carried out as any other. `dialect`: always the same. Throws
   * what expressions and reads throw.
   */
  answer(
    evaluation: EvaluationContext,
    snapshot: Snapshot,
    formats: RecordFormats,
    dialect: Dialect,
  ): RowChunks | undefined {
    const key = this.access.exactKey(evaluation)
    if (key === undefined || !this.hasColumns(dialect)) return undefined
    if (snapshot.view(key, takeOid) === undefined) return noRows
    const row = snapshot.view(objectKey, (record) => this.row(record, evaluation, formats))
    return row instanceof Promise ? undefined : row
  }

  private hasColumns(dialect: Dialect): boolean {
    const { projections } = this.rows
    if (projections === undefined) return true
    if (this.columns === undefined) {
      const runs = storedRuns(projections, dialect)
      this.columns = runs === undefined ? null : new StoredColumns(runs)
    }
    return this.columns !== null
  }

  private row(record: Bytes, evaluation: EvaluationContext, formats: RecordFormats): RowChunks | undefined {
    const { filter, classes } = this.rows.objects
    const format = formats.ofShape(shapeNumberOf(record))
    if (record.length > recordBytesMax || record.length * this.timesShown > shownBytesMax) return undefined
    if (!classes.numbers.has(format.cls.number)) return otherRows
    evaluation.slots[filter.slot] = new ObjectView(undefined, objectKey, format, record)
    if (filter.ofRecord !== undefined && filter.ofRecord(evaluation) !== true) return otherRows
    const { to } = json
    to.reset()
    json.byte(newline)
    const { columns } = this
    if (columns === undefined || columns === null) writeRecordJson(json, format, objectKey, record)
    else if (!columns.write(json, evaluation)) return undefined
    return new RowsAtHand([{ bytes: to.copy(), starts: [1] }])
  }
}

const noRows = new RowsAtHand([])
/** The same, after an object was looked at. */
export const otherRows = new RowsAtHand([])

/** Of one row at a time. */
const json = new JsonWriter()
const objectKey = Buffer.alloc(objectKeyBytes)
objectKey[0] = keySpace.object

function takeOid(entry: Bytes): true {
  for (let i = objectKeyHeaderBytes; i < objectKeyBytes; i++) objectKey[i] = entry[i - objectKeyHeaderBytes] as number
  return true
}
