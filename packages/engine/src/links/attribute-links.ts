/** The link entries of one attribute of an object, as a transaction sees them. */
import type { AttributeFormat } from '../records/class-format.ts'
import { linkKind, linkRange, targetOfKey } from '../records/link-keys.ts'
import { objectKey } from '../records/object-key.ts'
import type { Entry } from '../store/store.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'

export interface AttributeLink {
  readonly key: Uint8Array
  readonly target: Oid
}

/** In element order; the commit requires them to be unchanged. The owner's revision is required elsewhere. */
export async function readAndRequireLinks(
  transaction: Transaction,
  owner: Oid,
  attribute: AttributeFormat,
): Promise<AttributeLink[]> {
  const entries = await readAndRequireLinkEntries(transaction, owner, attribute)
  return entries.map(({ key, value }) => {
    return { key, target: attribute.linkStorage === 'set' ? targetOfKey(key) : oidFromBytes(value, 0) }
  })
}

/** Like `readAndRequireLinks`, in stored form. */
export async function readAndRequireLinkEntries(
  transaction: Transaction,
  owner: Oid,
  { attribute, linkStorage }: AttributeFormat,
): Promise<readonly Entry[]> {
  const kind = linkStorage === 'set' ? linkKind.target : linkStorage === 'map' ? linkKind.name : linkKind.position
  const range = linkRange(owner, attribute.number, kind)
  const entries = await transaction.readAndRequireRange(range, objectKey(owner))
  // Elements of lists and sets are inserted and deleted with their entries; the entry of a map key is updated in place.
  if (linkStorage === 'map') for (const { key, value } of entries) transaction.requireRevision(key, value)
  return entries
}
