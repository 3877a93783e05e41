/** All scalar functions, by upper-case name. */
import { ticksPerDay, ticksPerSecond } from '../../types/calendar.ts'
import type { OffsetDateTime } from '../../types/datetime.ts'
import { isNumeric, isText, type ValueType } from '../values/value-type.ts'
import { dateFunctions } from './date-functions.ts'
import type { FunctionDefinition, OperandKind } from './function-definition.ts'
import { mathFunctions } from './math-functions.ts'
import { textFunctions } from './text-functions.ts'

export const functions: ReadonlyMap<string, FunctionDefinition> = new Map(
  Object.entries({ ...mathFunctions, ...textFunctions, ...dateFunctions }),
)

export function fitsOperand(kind: OperandKind, type: ValueType): boolean {
  switch (kind) {
    case 'number':
      return isNumeric(type)
    case 'integer':
      return type.kind === 'integer'
    case 'text':
      return isText(type)
    case 'textOrBytes':
      return isText(type) || type.kind === 'bytes'
    case 'day':
    case 'moment':
      return type.kind === 'date' || type.kind === 'datetime' || type.kind === 'datetimeoffset'
    case 'clock':
      return type.kind === 'time' || type.kind === 'datetime' || type.kind === 'datetimeoffset'
  }
}

/** Converts a value of the type for a function with that operand kind; undefined = unchanged. */
export function operandReader(kind: OperandKind, type: ValueType): ((value: unknown) => unknown) | undefined {
  if (kind === 'moment') return momentReader(type)
  if (kind !== 'day' && kind !== 'clock') return undefined
  const read = kind === 'day' ? daysIn : ticksOfDayIn
  if (type.kind === 'datetime') return (value) => read(value as number)
  if (type.kind !== 'datetimeoffset') return undefined
  return (value) => {
    const { ticks, offsetMinutes } = value as OffsetDateTime
    return read(ticks + offsetMinutes * 60 * ticksPerSecond)
  }
}

/** In UTC. */
function momentReader(type: ValueType): ((value: unknown) => unknown) | undefined {
  if (type.kind === 'date') return (value) => (value as number) * ticksPerDay
  return type.kind === 'datetimeoffset' ? (value) => (value as OffsetDateTime).ticks : undefined
}

function daysIn(ticks: number): number {
  return Math.floor(ticks / ticksPerDay)
}

function ticksOfDayIn(ticks: number): number {
  return ticks - daysIn(ticks) * ticksPerDay
}
