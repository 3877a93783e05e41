/** The statement that reads keys of any placements. */
import { largeRecordBytes } from '../../limits.ts'
import type { Bytes } from '../store.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import { type PreparedStatement, preparedStatement, type RowsInBytes } from './binary-rows.ts'
import type { Tables } from './tables.ts'

const keysWrittenOutMax = 8

/** Placeholder for a value that is too large to be prefetched. */
export const leftOut: Bytes = Buffer.alloc(0)

/** The value, or null if it is large: many are read together. */
export const valueUnlessLarge = `CASE WHEN octet_length(value) < ${largeRecordBytes} THEN value END`

/** Returns rows of position, from 1, and value. `isEarly`: null instead of large values. */
export function readKeys(
  { schema, keys: { placementOf } }: Tables,
  keys: readonly Bytes[],
  isEarly = false,
): PreparedStatement {
  const value = isEarly ? valueUnlessLarge : 'value'
  const name = isEarly ? 'early keys' : 'keys'
  // A few keys are selected separately, which costs half of a join with their list.
  if (keys.length > keysWrittenOutMax) {
    const text = `SELECT w.i::int4, ${value} FROM unnest($1::int4[], $2::bytea[]) WITH ORDINALITY AS w(p, k, i)
        JOIN ${schema}.kv ON kv.placement = w.p AND kv.key = w.k`
    return preparedStatement(name, text, [int4Array(keys.map(placementOf)), byteaArray(keys)])
  }
  const selects = keys.map((_, i) => {
    return `SELECT ${i + 1}, ${value} FROM ${schema}.kv WHERE placement = $${2 * i + 1} AND key = $${2 * i + 2}`
  })
  const values = keys.flatMap((key) => [placementOf(key), key])
  return preparedStatement(`${name} ${keys.length}`, selects.join(' UNION ALL '), values)
}

/** The values in the order of the keys, from the rows of `readKeys`. */
export function valuesFrom(count: number, rows: RowsInBytes): (Bytes | undefined)[] {
  const values: (Bytes | undefined)[] = new Array(count).fill(undefined)
  for (let row = 0; row < rows.count; row++) values[rows.int4(row, 0) - 1] = rows.bytes(row, 1) ?? leftOut
  return values
}
