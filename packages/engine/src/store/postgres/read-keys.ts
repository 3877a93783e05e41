/** Statements that read keys of any placements or, which is fastest on a database with several nodes, of a single one. */
import { largeRecordBytes } from '../../limits.ts'
import type { KeyPlacement } from '../key-placement.ts'
import { keyText } from '../key-text.ts'
import type { Bytes } from '../store.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import { type PreparedStatement, preparedStatement } from './binary-rows.ts'
import { type Tables, tableOf } from './tables.ts'

const keysWrittenOutMax = 8

/** Placeholder for a value that is too large to be prefetched. */
export const leftOut: Bytes = Buffer.alloc(0)

/** The value, or null if it is large: many are read together. */
const valueUnlessLarge = `CASE WHEN octet_length(value) < ${largeRecordBytes} THEN value END`

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
    const text = `SELECT w.i, ${value} FROM unnest($1::int4[], $2::bytea[]) WITH ORDINALITY AS w(p, k, i)
        JOIN ${schema}.kv ON kv.placement = w.p AND kv.key = w.k`
    return preparedStatement(name, text, [int4Array(keys.map(placementOf)), byteaArray(keys)])
  }
  const selects = keys.map((_, i) => {
    return `SELECT ${i + 1}, ${value} FROM ${schema}.kv WHERE placement = $${2 * i + 1} AND key = $${2 * i + 2}`
  })
  const values = keys.flatMap((key) => [placementOf(key), key])
  return preparedStatement(`${name} ${keys.length}`, selects.join(' UNION ALL '), values)
}

/** Keys of one placement, with their positions in a list of keys. */
export interface KeysOfPlacement {
  readonly placement: number
  readonly keys: readonly Bytes[]
  readonly positions: readonly number[]
}

export function byPlacement({ placementOf }: KeyPlacement, keys: readonly Bytes[]): KeysOfPlacement[] {
  const groups = new Map<number, { placement: number; keys: Bytes[]; positions: number[] }>()
  for (const [position, key] of keys.entries()) {
    const placement = placementOf(key)
    const group = groups.get(placement)
    if (group === undefined) groups.set(placement, { placement, keys: [key], positions: [position] })
    else {
      group.keys.push(key)
      group.positions.push(position)
    }
  }
  return [...groups.values()]
}

/** Reads distinct keys of one placement. Returns rows of key and value, which is the cheapest plan for Citus. */
export function readKeysOfPlacement(
  tables: Tables,
  placement: number,
  keys: readonly Bytes[],
  isEarly = false,
): PreparedStatement {
  const [only] = keys
  const isOne = keys.length === 1 && only !== undefined
  const table = tableOf(tables, placement)
  return preparedStatement(
    `${isEarly ? 'early ' : ''}${isOne ? 'key' : 'keys'} in ${table}`,
    `SELECT key, ${isEarly ? valueUnlessLarge : 'value'} FROM ${table} WHERE placement = $1 AND key = ${isOne ? '$2' : 'ANY ($2)'}`,
    [placement, isOne ? only : byteaArray(keys)],
  )
}

/** The values in the order of the keys, from the rows of `readKeysOfPlacement`. */
export function valuesOfPlacement(
  keys: readonly Bytes[],
  rows: readonly (readonly unknown[])[],
): (Bytes | undefined)[] {
  const found = new Map<string, Bytes>()
  for (const [key, value] of rows as readonly (readonly [Buffer, Buffer | null])[])
    found.set(key.toString('latin1'), value ?? leftOut)
  return keys.map((key) => found.get(keyText(key)))
}

/** The values in the order of the keys, from the rows of `readKeys`. */
export function valuesFrom(count: number, rows: readonly (readonly unknown[])[]): (Bytes | undefined)[] {
  const values: (Bytes | undefined)[] = new Array(count).fill(undefined)
  for (const [position, value] of rows as readonly (readonly [number, Buffer | null])[])
    values[position - 1] = value ?? leftOut
  return values
}
