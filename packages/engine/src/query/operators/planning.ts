/** What operators and access paths of one statement are planned with. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Compiler } from '../evaluate/compile-expression.ts'

export interface Planning {
  readonly formats: RecordFormats
  /** Of the statements, for EXPLAIN. */
  readonly text: string
  readonly compiler: Compiler
}
