/** The order of rows as bytes: those of ORDER BY are compared as index keys are. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import { assert, unreachable } from '../../errors.ts'
import type { KeyCodec } from '../../types/logical-type.ts'
import type { Oid } from '../../types/oid.ts'
import { referenceKey } from '../../types/reference.ts'
import type { BoundOrderItem } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { valueBytes } from '../evaluate/value-bytes.ts'
import { isNullOf } from '../values/compare.ts'
import { scalarCodec } from '../values/value-json.ts'
import type { ScalarType, ValueType } from '../values/value-type.ts'
import type { Planning } from './planning.ts'

export interface OrderPlan {
  readonly evaluate: Evaluate
  readonly type: ValueType
  readonly isDescending: boolean
}

export function planOrder(orderBy: readonly BoundOrderItem[], { compiler }: Planning): OrderPlan[] {
  return orderBy.map(({ expression, type, isDescending }) => {
    return { evaluate: compiler.compile(expression), type, isDescending }
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
export function sortKey(orderBy: readonly OrderPlan[], run: EvaluationContext): Buffer {
  const values = orderBy.map(({ evaluate }) => evaluate(run))
  for (const value of values) run.memory.pass(valueBytes(value))
  begin()
  for (const [i, { type, isDescending }] of orderBy.entries()) {
    const start = writer.to.length
    // The reference to nothing stands with the nulls.
    writeKeyValue(type, isNullOf(type, values[i]) ? null : values[i])
    if (!isDescending) continue
    const { bytes, length } = writer.to
    for (let at = start; at < length; at++) bytes[at] = ~(bytes[at] as number) & 0xff
  }
  return writer.to.copy()
}

/** Equal exactly where the values are; the reference to nothing is in one group with null. */
export function groupKey(types: readonly ValueType[], values: readonly unknown[]): string {
  begin()
  for (const [i, type] of types.entries()) writeKeyValue(type, isNullOf(type, values[i]) ? null : values[i])
  return writer.to.bytes.toString('latin1', 0, writer.to.length)
}

/** As the codec of the type writes it into an index; what no index can have, as a text. */
function writeKeyValue(type: ValueType, value: unknown): void {
  if (value === null || value === undefined || Number.isNaN(value)) {
    writer.null()
    return
  }
  switch (type.kind) {
    case 'real':
      // Values of other numeric types may stand where a real is meant.
      scalarKey(type).write(Number(value), writer)
      return
    case 'boolean':
    case 'integer':
    case 'string':
    case 'character':
    case 'guid':
    case 'date':
    case 'time':
    case 'datetime':
    case 'datetimeoffset':
    case 'interval':
      scalarKey(type).write(value, writer)
      return
    case 'reference':
    case 'object':
      referenceKey.write(value as Oid, writer)
      return
    case 'null':
    case 'embedded':
    case 'collection':
    case 'map':
    case 'record':
    case 'edge':
      writer.text(String(value))
      return
    default:
      // A kind without a key would make all its values equal: the compiler names this line for a new one.
      unreachable(type satisfies never)
  }
}

function scalarKey(type: ScalarType): KeyCodec {
  const { key } = scalarCodec(type)
  assert(key !== undefined, 'scalars have an order')
  return key
}
