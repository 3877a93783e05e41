/** Definition of a query function: operands, result type and calculation. */
import type { ValueType } from '../values/value-type.ts'

/** `day` and `moment`: date, datetime or datetimeoffset. `clock`: time, datetime or datetimeoffset. */
export type OperandKind = 'number' | 'integer' | 'text' | 'day' | 'clock' | 'moment' | 'textOrBytes'

/** Reserves memory for results of string functions before they are created. */
export interface TextRoom {
  /** Reserves a string of this length. Throws LimitExceeded. */
  text(characters: number): void
  /** Reserves a list element of this length. Throws LimitExceeded. */
  element(characters: number): void
}

export interface FunctionDefinition {
  readonly operands: readonly OperandKind[]
  /** Number of trailing operands that are optional. */
  readonly optional?: number
  readonly result: ValueType | ((operand: ValueType) => ValueType)
  /**
   * Operands are never null; a null operand gives null without a call. `day` is days since 0001-01-01, `clock` ticks since midnight, `moment`
   * ticks since 0001-01-01 in UTC. Returns undefined on overflow, and `LongWork` for long strings.
   */
  readonly calculate: (...values: never[]) => unknown
  /** `calculate` receives a `TextRoom` before its operands. */
  readonly takesRoom?: true
  /** Equal operands may give different results. */
  readonly isVolatile?: true
}
