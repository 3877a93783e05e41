/** The error of contradictory reads (read skew), thrown where the contradiction is detected. */
import { AshlarError } from '../errors.ts'

/**
 * Two reads of one snapshot contradict each other, such as a record and a catalog that lacks its shape. If the snapshot may show two keys as of
 * different points in time (`StoreCapabilities.hasConsistentSnapshots`), this is read skew, and `with-snapshot.ts` repeats the reads; clients never
 * see the error. Otherwise stored data is damaged, as the error says. Not for invariants of the code, which `assert` checks.
 */
export class ReadSkew extends AshlarError {
  readonly contradiction: string

  constructor(contradiction: string) {
    super('DataCorruption', `What is stored contradicts itself: ${contradiction}. Run 'ashlar verify' on the store.`)
    this.contradiction = contradiction
  }
}
