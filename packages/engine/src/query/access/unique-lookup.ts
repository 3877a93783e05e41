/** Looks up one object by a unique key in a synchronous store: two reads, without the overhead of longer statements. */
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

/** Longer records use the regular path, which yields. */
const recordBytesMax = 8_192
/** The record size times the number of its uses: its JSON then fits in the memory that a request may use without reservation (`unpooledBytes`). */
const writtenBytesMax = 65_536

/** Undefined for a plan that may read anything besides the entry and the record, or filter out rows. */
export function uniqueLookup(rows: RowsPlan): UniqueLookup | undefined {
  const { objects, limits, areRecordsOnly, areInAnyOrder } = rows
  const { exact, references, elementAccesses, filter } = objects
  if (!(exact instanceof IndexScan) || !areRecordsOnly || !areInAnyOrder) return undefined
  if (references !== undefined || elementAccesses.length > 0 || filter.rest !== undefined) return undefined
  if (limits.skip !== undefined || limits.take !== undefined) return undefined
  return new UniqueLookup(exact, rows)
}

export class UniqueLookup {
  private readonly access: IndexScan
  private readonly rows: RowsPlan
  /** The number of columns that may show most of the record, for example the same long string. */
  private readonly recordUses: number
  /** Null until they are computed. */
  private columns: StoredColumns | null | undefined

  constructor(access: IndexScan, rows: RowsPlan) {
    this.access = access
    this.rows = rows
    this.recordUses = rows.projections?.length ?? 1
  }

  /** All rows; undefined if the regular path is needed. `dialect` must always be the same. Throws the errors of expressions and reads. */
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
    const format = formats.forShape(shapeNumberOf(record))
    if (record.length > recordBytesMax || record.length * this.recordUses > writtenBytesMax) return undefined
    if (!classes.numbers.has(format.cls.number)) return otherRows
    evaluation.slots[filter.slot] = new ObjectView(undefined, objectKey, format, record)
    if (filter.recordPredicate !== undefined && filter.recordPredicate(evaluation) !== true) return otherRows
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
/** The empty result after an object was examined. */
export const otherRows = new RowsAtHand([])

/** Reused, for one row at a time. */
const json = new JsonWriter()
const objectKey = Buffer.alloc(objectKeyBytes)
objectKey[0] = keySpace.object

function takeOid(entry: Bytes): true {
  for (let i = objectKeyHeaderBytes; i < objectKeyBytes; i++) objectKey[i] = entry[i - objectKeyHeaderBytes] as number
  return true
}
