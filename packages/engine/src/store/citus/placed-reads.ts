/** Reads keys by one statement per placement: one node answers it, and a node that is down does not fail reads from other nodes. */
import type { Connections } from '../postgres/connections.ts'
import { GroupReads, type KeyReads } from '../postgres/group-reads.ts'
import type { Bytes } from '../store.ts'
import { byPlacement, readKeysOfPlacement, valuesOfPlacement } from './placed-statements.ts'
import type { PreparedTransactions } from './prepared-transactions.ts'
import type { CitusTables } from './tables.ts'

export class PlacedReads implements KeyReads {
  private readonly connections: Connections
  private readonly tables: CitusTables
  private readonly prepared: PreparedTransactions | undefined
  private readonly placements = new Map<number, GroupReads>()

  /** `prepared`: transactions known to be only partly visible are completed before reads. */
  constructor(connections: Connections, tables: CitusTables, prepared: PreparedTransactions | undefined) {
    this.connections = connections
    this.tables = tables
    this.prepared = prepared
  }

  async read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    await this.prepared?.recoverUnsettled()
    return eachPlacement(this.tables, keys, (placement, placed) => this.readsOf(placement).read(placed))
  }

  private readsOf(placement: number): GroupReads {
    let reads = this.placements.get(placement)
    if (reads === undefined) {
      const query = (keys: readonly Bytes[]) => readKeysOfPlacement(this.tables, placement, keys, true)
      reads = new GroupReads(this.connections, { query, values: valuesOfPlacement })
      this.placements.set(placement, reads)
    }
    return reads
  }
}

/** The values in the order of the keys, where `read` reads those of one placement. */
export async function eachPlacement(
  tables: CitusTables,
  keys: readonly Bytes[],
  read: (placement: number, keys: readonly Bytes[]) => Promise<readonly (Bytes | undefined)[]>,
): Promise<(Bytes | undefined)[]> {
  const values: (Bytes | undefined)[] = new Array(keys.length).fill(undefined)
  const reading = byPlacement(tables.keys, keys).map(async ({ placement, keys: placed, positions }) => {
    const found = await read(placement, placed)
    for (const [i, position] of positions.entries()) values[position] = found[i]
  })
  await Promise.all(reading)
  return values
}
