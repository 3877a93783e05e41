/** Counts the entries of an index exactly, by its keys. */
import type { IndexNumber } from '../schema/class-definition.ts'
import { countRange } from '../store/count-range.ts'
import type { Snapshot } from '../store/store.ts'
import { indexRange } from './index-key.ts'

export function countIndexEntries(snapshot: Snapshot, index: IndexNumber): Promise<number> {
  return countRange(snapshot, indexRange(index))
}
