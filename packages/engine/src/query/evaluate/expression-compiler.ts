/** Interface of the expression compiler for the modules that compile parts of expressions. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Bound } from '../bind/bound.ts'
import type { Evaluate } from './evaluation-context.ts'

export interface ExpressionCompiler {
  readonly formats: RecordFormats
  compile(bound: Bound): Evaluate
  /** Index in `EvaluationContext.constants` that is assigned to a constant part of the statement. */
  placeOf(bound: Bound): number
  compileAll(bounds: readonly Bound[]): Evaluate[]
}
