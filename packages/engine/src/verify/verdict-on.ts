/** Describes problems of a record that an entry refers to. */
import type { ClassFormat } from '../records/class-format.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { RecordValues } from '../records/record-values.ts'
import type { Bytes } from '../store/store.ts'
import type { Verdict, VerifyContext } from './probe.ts'

type Judge = (format: ClassFormat, content: RecordValues) => Verdict

export function verdictOn({ catalog }: VerifyContext, record: Bytes, judge: Judge): Verdict {
  const format = recordFormats(catalog).forShape(shapeNumberOf(record))
  return judge(format, decodeRecord(format, record))
}
