/** How many entries an index has: exact, counted over its keys. */
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Snapshot } from '../store/store.ts'
import { indexRange } from './index-key.ts'

export async function countEntries(snapshot: Snapshot, index: IndexNumber): Promise<number> {
  let count = 0
  for await (const batch of snapshot.scan(indexRange(index), () => 1, { keysOnly: true })) count += batch.length
  return count
}
