/**
 * The note that an index which is built for a type that is still to come cannot be unique: two objects, of which one was written
 * meanwhile and is right under the type in force. The writer is not held up; the change of the type fails.
 */
import { catalogKey } from '../catalog/catalog-keys.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'

/** Where a build in the background notes how far it has come, which such an index never is; it goes with the index's entries. */
export function noteDuplicate(transaction: Transaction, index: IndexNumber, oid: Oid, holder: Oid): void {
  transaction.put(catalogKey('progress', index), Buffer.from(JSON.stringify({ duplicate: [oid, holder] })))
}

/** Undefined where there is none; required to be as it was read. */
export async function readDuplicate(
  transaction: Transaction,
  index: IndexNumber,
): Promise<readonly [Oid, Oid] | undefined> {
  const [stored] = await transaction.readAndRequire([catalogKey('progress', index)])
  if (stored === undefined) return undefined
  return (JSON.parse(Buffer.from(stored).toString()) as { readonly duplicate: readonly [Oid, Oid] }).duplicate
}
