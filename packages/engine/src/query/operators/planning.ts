/** Inputs for planning the operators and access paths of one statement. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Compiler } from '../evaluate/compile-expression.ts'

export interface Planning {
  readonly formats: RecordFormats
  /** Source text of the statements, for EXPLAIN. */
  readonly text: string
  readonly compiler: Compiler
}
