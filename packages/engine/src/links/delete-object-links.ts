/** Cleans up after a deleted object: deletes its link entries and the references that its partners hold to it. */
import type { AttributeFormat } from '../records/class-format.ts'
import { attributeOfKey, kindOfKey, linkKind, objectLinksRange, targetOfKey } from '../records/link-keys.ts'
import { maintainedReferrers } from '../schema/referrer-indexes.ts'
import type { Entry } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import { deleteReferrer } from './link-entries.ts'
import {
  clearReference,
  clearReferencesTo,
  deletePairedEntries,
  inverseIn,
  inverseOf,
  type PairedEntry,
  pairedEntry,
} from './relationships.ts'

/**
 * Removes the object from every bidirectional link and deletes its link entries (contract 4.4.6). The commit requires these
 * entries, and the presence or absence of the object in its partners, as read: a concurrent link to the object makes the
 * deletion run again.
 */
export async function deleteObjectLinks(unit: UnitOfWork, state: ObjectState): Promise<void> {
  unit.isDeleting = true
  await removeLinks(unit, state)
  unit.isDeleting = false
}

async function removeLinks(unit: UnitOfWork, state: ObjectState): Promise<void> {
  for (const attribute of state.format.linkedReferences) await clearReference(unit, state, attribute)
  if (state.format.linkAttributes.length === 0) return
  const entries = await unit.transaction.readAndRequireRange(objectLinksRange(state.oid), state.key)
  for (const attribute of state.format.linkAttributes) {
    if (maintainedReferrers(attribute.attribute) !== undefined) await removeReferrers(unit, state, entries, attribute)
    if (attribute.linkStorage === 'map') continue
    const inverse = inverseOf(attribute)
    if (inverse !== null) await removeFromPartners(unit, state, await targetsOf(entries, attribute), inverse)
  }
  await inSlices(entries, ({ key }) => unit.transaction.delete(key))
}

async function removeReferrers(
  unit: UnitOfWork,
  { oid }: ObjectState,
  entries: readonly Entry[],
  attribute: AttributeFormat,
): Promise<void> {
  const owner = { oid, attribute }
  await inSlices(entries, ({ key, value }) => {
    if (attributeOfKey(key) !== attribute.attribute.number) return
    if (attribute.linkStorage === 'set') deleteReferrer(unit, owner, targetOfKey(key), key)
    else if (kindOfKey(key) !== linkKind.target) deleteReferrer(unit, owner, oidFromBytes(value, 0), key)
  })
}

async function targetsOf(entries: readonly Entry[], attribute: AttributeFormat): Promise<Oid[]> {
  const targets: Oid[] = []
  const isSet = attribute.linkStorage === 'set'
  await inSlices(entries, ({ key, value }) => {
    if (attributeOfKey(key) !== attribute.attribute.number) return
    if (isSet) targets.push(targetOfKey(key))
    else if (kindOfKey(key) === linkKind.position) targets.push(oidFromBytes(value, 0))
  })
  return targets
}

async function removeFromPartners(
  unit: UnitOfWork,
  state: ObjectState,
  partners: readonly Oid[],
  inverse: AttributeNumber,
): Promise<void> {
  if (unit.linkStorageOf(inverse) === undefined) return clearReferencesTo(unit, partners, inverse, state.oid)
  const formats = await unit.formatsOf(partners)
  const inverseEntries: PairedEntry[] = []
  await inSlices(formats, ([oid, format]) => {
    inverseEntries.push(pairedEntry({ oid, attribute: inverseIn(format, inverse, oid) }, state.oid))
  })
  await deletePairedEntries(unit, inverseEntries)
}
