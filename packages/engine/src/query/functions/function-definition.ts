/** What a function of DO is: what it takes, what it gives, and how it is worked out. */
import type { ScalarType, ValueType } from '../values/value-type.ts'

/** `day`: date, datetime or datetimeoffset. `clock`: time, datetime or datetimeoffset. */
export type OperandKind = 'number' | 'integer' | 'text' | 'day' | 'clock'

export interface FunctionDefinition {
  readonly operands: readonly OperandKind[]
  /** How many of the last operands may be left out. */
  readonly optional?: number
  readonly result: ScalarType | ((operand: ValueType) => ValueType)
  /**
   * Works on values that are not null; a null operand gives null. `day` arrives as days since 0001-01-01, `clock` as
   * ticks since midnight. Undefined = beyond what the type holds; of texts, `LongWork` where they are long.
   */
  readonly calculate: (...values: never[]) => unknown
  /** True where equal operands may give other results. */
  readonly isVolatile?: true
}
