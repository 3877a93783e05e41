/** The order of rows as bytes: those of ORDER BY are compared as index keys are. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import type { OffsetDateTime } from '../../types/datetime.ts'
import { type Oid, oidBytes } from '../../types/oid.ts'
import type { OrderPlan } from '../plan/plan-select.ts'
import type { ValueType } from '../values/value-type.ts'
import type { Run } from './run.ts'

const writer = new KeyWriter()
const nothing = Buffer.alloc(0)

/** Nulls last where it ascends, first where it descends: a descending part has all its bytes turned. */
export function sortKey(orderBy: readonly OrderPlan[], run: Run): Buffer {
  const values = orderBy.map(({ evaluate }) => evaluate(run))
  writer.to.reset()
  for (const [i, { type, isDescending }] of orderBy.entries()) {
    const start = writer.to.length
    writeKeyValue(type, values[i])
    if (!isDescending) continue
    const { bytes, length } = writer.to
    for (let at = start; at < length; at++) bytes[at] = ~(bytes[at] as number) & 0xff
  }
  return writer.to.copy()
}

/** Equal exactly where the values are. */
export function groupKey(types: readonly ValueType[], values: readonly unknown[]): string {
  writer.to.reset()
  for (const [i, type] of types.entries()) writeKeyValue(type, values[i])
  return writer.to.bytes.toString('latin1', 0, writer.to.length)
}

function writeKeyValue(type: ValueType, value: unknown): void {
  if (value === null || value === undefined || Number.isNaN(value)) {
    writer.null()
    return
  }
  switch (type.kind) {
    case 'boolean':
      writer.boolean(value as boolean)
      return
    case 'integer':
      writer.integer(value as number | bigint)
      return
    case 'real':
      writer.real(Number(value))
      return
    case 'date':
    case 'time':
    case 'datetime':
    case 'interval':
      writer.ticks(value as number)
      return
    case 'datetimeoffset':
      writer.ticks((value as OffsetDateTime).ticks)
      return
    case 'reference':
    case 'object':
      writer.fixed(nothing)
      writer.to.writeBytes(oidBytes(value as Oid))
      return
    default:
      writer.text(String(value))
  }
}
