/** What a deleted object leaves behind: its link entries, and what its partners hold of it. */
import type { AttributeFormat } from '../records/class-format.ts'
import type { ObjectState } from '../records/working-set.ts'
import type { Entry } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import { type Oid, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import {
  deletePairedEntries,
  inverseOf,
  letAllGo,
  type PairedEntry,
  pairedEntry,
  releaseToOne,
} from './bidirectional.ts'
import { attributeOfKey, kindOfKey, linkKind, objectLinksRange, targetOfKey } from './link-keys.ts'
import type { ObjectChanges } from './object-changes.ts'

/**
 * Takes the object out of every bidirectional link and deletes its link entries (REST interface, section 4).
 * Its entries are expected to be as read, and so is what its partners hold of it, or do not: who changes either meanwhile, and
 * whom this deletion has not seen, makes it look again.
 */
export async function cleanUpLinks(changes: ObjectChanges, state: ObjectState): Promise<void> {
  for (const attribute of state.format.attributes) {
    if (attribute.attribute.spec.logicalType === 'reference') await releaseToOne(changes, state, attribute)
  }
  if (state.format.linkAttributes.length === 0) return
  const entries = await changes.transaction.readAndExpectRange(objectLinksRange(state.oid), state.key)
  for (const attribute of state.format.linkAttributes) {
    if (attribute.linkForm === 'map') continue
    const inverse = inverseOf(attribute)
    if (inverse !== null) await leavePartners(changes, state, await targetsOf(entries, attribute), inverse)
  }
  await inSlices(entries, ({ key }) => changes.transaction.delete(key))
}

async function targetsOf(entries: readonly Entry[], attribute: AttributeFormat): Promise<Oid[]> {
  const targets: Oid[] = []
  const isSet = attribute.linkForm === 'set'
  await inSlices(entries, ({ key, value }) => {
    if (attributeOfKey(key) !== attribute.attribute.number) return
    if (isSet) targets.push(targetOfKey(key))
    else if (kindOfKey(key) === linkKind.position) targets.push(oidFromBytes(value, 0))
  })
  return targets
}

async function leavePartners(
  changes: ObjectChanges,
  state: ObjectState,
  partners: readonly Oid[],
  inverse: AttributeNumber,
): Promise<void> {
  if (changes.linkFormOf(inverse) === undefined) return letAllGo(changes, partners, inverse, state.oid)
  const formats = await changes.formatsOf(partners)
  const mirrors: PairedEntry[] = []
  await inSlices(formats, ([oid, format]) => {
    mirrors.push(pairedEntry({ oid, attribute: format.attribute(inverse) }, state.oid))
  })
  await deletePairedEntries(changes, mirrors)
}
