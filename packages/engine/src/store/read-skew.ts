/** The error of contradictory reads (read skew), thrown where the contradiction is detected. */
import { AshlarError } from '../errors.ts'

/**
 * Two reads of one snapshot contradict each other, such as a record and a catalog that does not know its shape. If the snapshot may show two
 * keys as of two points in time (`StoreCapabilities.hasConsistentSnapshots`), that is read skew, and `with-snapshot.ts` sees to it that what was
 * concluded is read again. Otherwise what is stored is damaged, and so says the error: no client sees it for read skew. It is not for
 * promises that we make ourselves, which `assert` is for.
 */
export class ReadSkew extends AshlarError {
  /** The contradictory facts, as part of a sentence. */
  readonly contradiction: string

  constructor(contradiction: string) {
    super('DataCorruption', `What is stored contradicts itself: ${contradiction}. Run 'ashlar verify' on the store.`)
    this.contradiction = contradiction
  }
}
