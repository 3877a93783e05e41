/** Notes that an index built for a future type cannot be unique. The writer of the second object proceeds; the change of the type fails. */
import { catalogKey } from '../catalog/catalog-keys.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'

/** Uses the progress key of background builds, which such an index never has; it is deleted with the entries of the index. */
export function noteDuplicate(transaction: Transaction, index: IndexNumber, oid: Oid, holder: Oid): void {
  transaction.put(catalogKey('progress', index), Buffer.from(JSON.stringify({ duplicate: [oid, holder] })))
}

/** Undefined if there is none. The commit requires it to be unchanged. */
export async function readDuplicate(
  transaction: Transaction,
  index: IndexNumber,
): Promise<readonly [Oid, Oid] | undefined> {
  const [stored] = await transaction.readAndRequire([catalogKey('progress', index)])
  if (stored === undefined) return undefined
  return (JSON.parse(Buffer.from(stored).toString()) as { readonly duplicate: readonly [Oid, Oid] }).duplicate
}
