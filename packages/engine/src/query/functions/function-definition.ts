/** What a function of DO is: what it takes, what it gives, and how it is worked out. */
import type { ValueType } from '../values/value-type.ts'

/** `day` and `moment`: date, datetime or datetimeoffset. `clock`: time, datetime or datetimeoffset. */
export type OperandKind = 'number' | 'integer' | 'text' | 'day' | 'clock' | 'moment' | 'textOrBytes'

/** Room for what a function makes of texts: asked for before it is made. */
export interface TextRoom {
  /** A text of so many characters. Throws LimitExceeded. */
  text(characters: number): void
  /** An element of a list, of so many characters. Throws LimitExceeded. */
  element(characters: number): void
}

export interface FunctionDefinition {
  readonly operands: readonly OperandKind[]
  /** How many of the last operands may be left out. */
  readonly optional?: number
  readonly result: ValueType | ((operand: ValueType) => ValueType)
  /**
   * Works on values that are not null; a null operand gives null. `day` arrives as days since 0001-01-01, `clock` as
   * ticks since midnight, `moment` as ticks since 0001-01-01 in UTC. Undefined = beyond what the type holds; of texts, `LongWork` where they are long.
   */
  readonly calculate: (...values: never[]) => unknown
  /** True where `calculate` is given a `TextRoom` before its operands. */
  readonly takesRoom?: true
  /** True where equal operands may give other results. */
  readonly isVolatile?: true
}
