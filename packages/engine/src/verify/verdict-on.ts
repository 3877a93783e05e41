/** What is wrong with a record that an entry asks for; in pieces where the record is long. */
import type { ClassFormat } from '../records/class-format.ts'
import { decodeRecord, decodeRecordInPieces, isLongRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { RecordValues } from '../records/record-values.ts'
import type { Bytes } from '../store/store.ts'
import type { Pieces } from '../types/logical-type.ts'
import type { Verdict, VerifyContext } from './probe.ts'

type Judge = (format: ClassFormat, content: RecordValues) => Verdict

export function verdictOn({ catalog }: VerifyContext, record: Bytes, judge: Judge): Verdict | Pieces<Verdict> {
  const format = recordFormats(catalog).ofShape(shapeNumberOf(record))
  return isLongRecord(record) ? judgeLong(format, record, judge) : judge(format, decodeRecord(format, record))
}

function* judgeLong(format: ClassFormat, record: Bytes, judge: Judge): Pieces<Verdict> {
  return judge(format, yield* decodeRecordInPieces(format, record))
}
