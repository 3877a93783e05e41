/** The order of rows as bytes: those of ORDER BY are compared as index keys are. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import { unreachable } from '../../errors.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import { referenceKey } from '../../types/reference.ts'
import type { BoundOrderItem } from '../bind/bound.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import { isScalar, type ScalarType, type ValueType } from '../values/value-type.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { valueBytes } from './value-bytes.ts'

/** Writes a value of one type, as a part of a key; null has a place of its own, and so has what is no number. */
export type WriteKey = (value: unknown, writer: KeyWriter) => void

export interface OrderPlan {
  readonly evaluate: Evaluate
  readonly write: WriteKey
  readonly isDescending: boolean
}

export function planOrder(orderBy: readonly BoundOrderItem[], compiler: ExpressionCompiler): OrderPlan[] {
  return orderBy.map(({ expression, type, isDescending }) => {
    return { evaluate: compiler.compile(expression), write: keyWriter(type), isDescending }
  })
}

let writer = new KeyWriter()
/** What a long text has made of it is let go of again. */
const writerBytesMax = 65_536

function begin(): void {
  if (writer.to.bytes.length > writerBytesMax) writer = new KeyWriter()
  writer.to.reset()
}

/** Nulls last where it ascends, first where it descends: a descending part has all its bytes turned. */
export function sortKey(orderBy: readonly OrderPlan[], evaluation: EvaluationContext): Buffer {
  const values = orderBy.map(({ evaluate }) => evaluate(evaluation))
  for (const value of values) evaluation.memory.chargeRow(valueBytes(value))
  begin()
  for (const [i, { write, isDescending }] of orderBy.entries()) {
    const start = writer.to.length
    write(values[i], writer)
    if (!isDescending) continue
    const { bytes, length } = writer.to
    for (let at = start; at < length; at++) bytes[at] = ~(bytes[at] as number) & 0xff
  }
  return writer.to.copy()
}

/** Equal exactly where the values are. */
export function groupKey(writers: readonly WriteKey[], values: readonly unknown[]): string {
  begin()
  for (const [i, write] of writers.entries()) write(values[i], writer)
  return writer.to.bytes.toString('latin1', 0, writer.to.length)
}

/** Scalars as their codec writes them into an index; what no index can have, as a text. The reference to nothing stands with the nulls. */
export function keyWriter(type: ValueType): WriteKey {
  const write = isScalar(type) ? scalarKinds[type.kind].writeKey : writerOf(type)
  return (value, to) => {
    if (value === null || value === undefined || Number.isNaN(value)) to.null()
    else write(value, to)
  }
}

function writerOf(type: Exclude<ValueType, ScalarType>): WriteKey {
  switch (type.kind) {
    case 'reference':
    case 'object':
      return (value, to) => (value === noOid ? to.null() : referenceKey.write(value as Oid, to))
    case 'null':
    case 'embedded':
    case 'collection':
    case 'map':
    case 'record':
    case 'edge':
      return (value, to) => to.text(String(value))
    default:
      // A kind without a key would make all its values equal: the compiler names this line for a new one.
      return unreachable(type satisfies never)
  }
}
