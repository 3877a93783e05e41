/** Statements that read one placement, so that Citus sends them to one shard and plans them quickly. */
import type { KeyPlacement } from '../key-placement.ts'
import { keyText } from '../key-text.ts'
import { byteaArray } from '../postgres/binary-array.ts'
import { type PreparedStatement, preparedStatement, type RowsInBytes } from '../postgres/binary-rows.ts'
import { leftOut, valueUnlessLarge } from '../postgres/read-keys.ts'
import type { Bytes } from '../store.ts'
import { type CitusTables, tableOf } from './tables.ts'

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
  tables: CitusTables,
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
export function valuesOfPlacement(keys: readonly Bytes[], rows: RowsInBytes): (Bytes | undefined)[] {
  const found = new Map<string, Bytes>()
  for (let row = 0; row < rows.count; row++) {
    found.set((rows.bytes(row, 0) as Buffer).toString('latin1'), rows.bytes(row, 1) ?? leftOut)
  }
  return keys.map((key) => found.get(keyText(key)))
}

/** Returns the first placement between two that has rows; in reverse, the last. */
export function readNextPlacement(schema: string, first: number, last: number, isReverse: boolean): PreparedStatement {
  const order = isReverse ? 'DESC' : 'ASC'
  const text = `SELECT placement FROM ${schema}.kv WHERE placement >= $1 AND placement <= $2 ORDER BY placement ${order} LIMIT 1`
  return preparedStatement(`next placement ${order}`, text, [first, last])
}
