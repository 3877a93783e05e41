/** Writes a changed catalog as part of a transaction. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { emptyCatalogState } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import {
  type ChangedParts,
  changedParts,
  encodeClass,
  encodeCounters,
  encodeIndex,
  encodeSequence,
  encodeShape,
} from '../schema/catalog-codec.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import { referrerIndexesDropped } from '../schema/referrer-indexes.ts'
import type { Store } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { linkStorageOf } from '../types/link-storage.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { catalogKey, countersKey } from './catalog-keys.ts'
import { encodeNextNumber, nextNumberKey } from './next-number.ts'
import { putValidationProgress } from './validation-progress.ts'

/** Puts the differences and a new version, which fails all transactions under the old one. Returns the version. Yields between shapes. */
export async function changeCatalog(
  transaction: Transaction,
  before: Catalog,
  after: CatalogState,
  session: StoreSession,
): Promise<Buffer> {
  const slice = openTimeSlice()
  const changed = changedParts(before.state, after)
  const earlier = new Map(changed.classes.length === 0 ? [] : before.state.classes.map((cls) => [cls.number, cls]))
  for (const cls of changed.classes) {
    const previous = earlier.get(cls.number)
    // Readers of the change log use it to determine who could see the class.
    const logged = transaction.logEpoch === 0 || previous === undefined ? undefined : encodeClass(previous)
    transaction.put(catalogKey('class', cls.number), encodeClass(cls), logged)
    putValidationProgress(transaction, previous, cls)
    await slice.yieldIfDue()
  }
  for (const shape of changed.shapes) {
    transaction.put(catalogKey('shape', shape.number), encodeShape(shape))
    await slice.yieldIfDue()
  }
  for (const index of changed.indexes) transaction.put(catalogKey('index', index.number), encodeIndex(index))
  for (const number of changed.removedIndexes) transaction.delete(catalogKey('index', number))
  for (const number of [...changed.removedIndexes, ...referrerIndexesDropped(before.state, after)]) {
    // Its entries are purged later in batches; until then the catalog lists the index as dropped.
    transaction.put(catalogKey('droppedIndexes', number), Buffer.alloc(0))
  }
  putSequences(transaction, changed)
  for (const { number, classes } of deletedLinkAttributes(before, after)) {
    transaction.put(catalogKey('droppedLinkAttributes', number), Buffer.from(JSON.stringify(classes)))
  }
  if (changed.counters !== undefined) transaction.put(countersKey, encodeCounters(changed.counters))
  const version = session.nextCommitId()
  transaction.put(catalogVersionKey, version)
  return version
}

/** The entry for the next number of a sequence is created and deleted with the sequence. */
function putSequences(transaction: Transaction, { sequences, removedSequences }: ChangedParts): void {
  for (const sequence of sequences) {
    transaction.put(catalogKey('sequence', sequence.number), encodeSequence(sequence))
    transaction.put(nextNumberKey(sequence.number), encodeNextNumber(BigInt(sequence.start)))
  }
  for (const number of removedSequences) {
    transaction.delete(catalogKey('sequence', number))
    transaction.delete(nextNumberKey(number))
  }
}

/** Deleted attributes stored as links, with the classes whose objects may have entries for them. */
function deletedLinkAttributes(
  before: Catalog,
  after: CatalogState,
): { readonly number: AttributeNumber; readonly classes: readonly ClassNumber[] }[] {
  const remaining = new Map(after.classes.map((definition) => [definition.number, definition]))
  const { classes } = before.writers?.() ?? before
  return classes.flatMap((cls) => {
    const next = remaining.get(cls.number)
    if (!cls.isReferenceable || next === cls.definition) return []
    const left = new Set([...(next?.attributes ?? []), ...(next?.arriving ?? [])].map(({ number }) => number))
    const deleted = cls.definition.attributes.filter(({ number, spec }) => {
      return !left.has(number) && linkStorageOf(spec) !== undefined
    })
    const holding = [cls, ...cls.subclasses].map(({ number }) => number)
    return deleted.map(({ number }) => ({ number, classes: holding }))
  })
}

/** Creates the initial, empty catalog of a new store, unless another process has done so. */
export async function initializeCatalog(store: Store, session: StoreSession): Promise<void> {
  for (;;) {
    const isThere = await withSnapshot(store, (snapshot) => snapshot.view(catalogVersionKey, () => true))
    if (isThere === true) return
    await store.commit({
      changes: [
        { kind: 'put', key: countersKey, value: encodeCounters(emptyCatalogState().counters) },
        { kind: 'put', key: catalogVersionKey, value: session.nextCommitId() },
      ],
      preconditions: [{ kind: 'absent', key: catalogVersionKey }],
    })
  }
}
