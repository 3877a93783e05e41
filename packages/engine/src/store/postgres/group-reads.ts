/** Combines keys that are requested at the same time into one statement, which shows one point in time without a transaction. */
import type { Bytes } from '../store.ts'
import { type PreparedStatement, type RowsInBytes, rowsInBytes } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { GroupedStatements } from './grouped-statements.ts'
import { firstKeyRequests, joinKeys, type KeyRequest, keyRequest } from './key-requests.ts'
import { readKeys, valuesFrom } from './read-keys.ts'
import type { Tables } from './tables.ts'

/** While one statement runs, the next is in transit; later requests form the one after. */
const concurrentMax = 2

export interface KeyReads {
  /**
   * Values in the order of the keys, as of a point in time not before the call: one for all keys or, if the table is distributed, one per placement;
   * `leftOut` instead of large values. The bytes may be shared and must not be written to. Throws StoreUnavailable.
   */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>
}

export interface KeysStatement {
  query(keys: readonly Bytes[]): PreparedStatement
  values(keys: readonly Bytes[], rows: RowsInBytes): (Bytes | undefined)[]
}

/** The statement for keys of any placements. */
export function keysOfAnyPlacement(tables: Tables): KeysStatement {
  return {
    query: (keys) => readKeys(tables, keys, true),
    values: (keys, rows) => valuesFrom(keys.length, rows),
  }
}

export class GroupReads implements KeyReads {
  private readonly statements: GroupedStatements<KeyRequest>

  constructor(connections: Connections, { query, values }: KeysStatement) {
    this.statements = new GroupedStatements(connections, {
      first: firstKeyRequests,
      mayAdd: (active) => active < concurrentMax,
      async read(client, requests) {
        // Shared, since otherwise each of many concurrent readers of a large object would get a copy.
        const joined = joinKeys(requests, true)
        const found = values(joined.keys, await rowsInBytes(client, query(joined.keys)))
        return () => joined.resolve(found)
      },
    })
  }

  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    return new Promise((resolve, reject) => {
      this.statements.add(keyRequest(keys, this.statements.endOfPatience(), { resolve, reject }))
    })
  }
}
