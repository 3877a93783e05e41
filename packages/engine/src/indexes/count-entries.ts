/** How many entries an index has: exact, counted over its keys. */
import type { IndexNumber } from '../schema/class-definition.ts'
import { countRange } from '../store/count-range.ts'
import type { Snapshot } from '../store/store.ts'
import { indexRange } from './index-key.ts'

export function countEntries(snapshot: Snapshot, index: IndexNumber): Promise<number> {
  return countRange(snapshot, indexRange(index))
}
