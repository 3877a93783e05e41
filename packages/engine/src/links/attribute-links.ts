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

/** In the order of the elements; required to be the same at the commit. The owner is required at its revision elsewhere. */
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

/** The same as they are stored. */
export async function readAndRequireLinkEntries(
  transaction: Transaction,
  owner: Oid,
  { attribute, linkStorage }: AttributeFormat,
): Promise<readonly Entry[]> {
  const kind = linkStorage === 'set' ? linkKind.target : linkStorage === 'map' ? linkKind.name : linkKind.position
  const range = linkRange(owner, attribute.number, kind)
  const entries = await transaction.readAndRequireRange(range, objectKey(owner))
  // Elements of lists and sets come and go with their entries; that of a map's key changes in place.
  if (linkStorage === 'map') for (const { key, value } of entries) transaction.requireRevision(key, value)
  return entries
}
