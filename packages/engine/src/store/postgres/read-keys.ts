/** Statements that read keys. */
import type { QueryArrayConfig } from 'pg'
import type { Bytes } from '../store.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import { placementOf } from './placement.ts'

const keysWrittenOutMax = 8

/** Gives rows of position, from 1, and value. */
export function readKeys(schema: string, keys: readonly Bytes[]): QueryArrayConfig<unknown[]> {
  // Written out, few keys cost half of what a join with their list costs.
  if (keys.length > keysWrittenOutMax) {
    return {
      name: 'keys',
      rowMode: 'array',
      text: `SELECT w.i, kv.value FROM unnest($1::int4[], $2::bytea[]) WITH ORDINALITY AS w(p, k, i)
        JOIN ${schema}.kv ON kv.placement = w.p AND kv.key = w.k`,
      values: [int4Array(keys.map(placementOf)), byteaArray(keys)],
    }
  }
  const selects = keys.map((_, i) => {
    return `SELECT ${i + 1}, value FROM ${schema}.kv WHERE placement = $${2 * i + 1} AND key = $${2 * i + 2}`
  })
  return {
    name: `keys ${keys.length}`,
    rowMode: 'array',
    text: selects.join(' UNION ALL '),
    values: keys.flatMap((key) => [placementOf(key), key]),
  }
}

/** In the order of the keys, from the rows of that statement. */
export function valuesFrom(count: number, rows: readonly (readonly unknown[])[]): (Bytes | undefined)[] {
  const values: (Bytes | undefined)[] = new Array(count).fill(undefined)
  for (const [position, value] of rows as readonly (readonly [number, Buffer])[]) values[position - 1] = value
  return values
}
