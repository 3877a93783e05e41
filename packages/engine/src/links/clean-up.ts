/** What a deleted object leaves behind: its link entries, and what its partners hold of it. */
import type { AttributeFormat } from '../records/class-format.ts'
import type { ObjectState } from '../records/working-set.ts'
import type { Entry } from '../store/store.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { inverseOf, releaseToOne } from './bidirectional.ts'
import {
  attributeOfKey,
  kindOfKey,
  linkKind,
  objectLinksRange,
  positionKey,
  targetKey,
  targetOfKey,
} from './link-keys.ts'
import type { ObjectChanges } from './object-changes.ts'

/**
 * Takes the object out of every bidirectional link and deletes its link entries (REST interface, section 4).
 * Its entries are expected to be as read: who links to it meanwhile makes the deletion look again.
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
    if (inverse !== null) await leavePartners(changes, state, targetsOf(entries, attribute), inverse)
  }
  for (const { key } of entries) changes.transaction.delete(key)
}

function targetsOf(entries: readonly Entry[], attribute: AttributeFormat): Oid[] {
  const own = entries.filter(({ key }) => attributeOfKey(key) === attribute.attribute.number)
  if (attribute.linkForm === 'set') return own.map(({ key }) => targetOfKey(key))
  return own.filter(({ key }) => kindOfKey(key) === linkKind.position).map(({ value }) => oidFromBytes(value, 0))
}

async function leavePartners(
  changes: ObjectChanges,
  state: ObjectState,
  partners: readonly Oid[],
  inverse: AttributeNumber,
): Promise<void> {
  await changes.objects.loadAll(partners)
  const mirrors: { partner: Oid; far: AttributeFormat; key: Buffer }[] = []
  for (const oid of partners) {
    const partner = changes.objects.known(oid)
    if (partner === undefined) continue
    const far = partner.format.attribute(inverse)
    if (far.linkForm !== undefined) mirrors.push({ partner: oid, far, key: targetKey(oid, inverse, state.oid) })
    else if (partner.values[far.index] === state.oid) {
      partner.values[far.index] = noOid
      partner.positions[far.index] = undefined
      partner.isChanged = true
    }
  }
  const { values } = await changes.transaction.read(mirrors.map(({ key }) => key))
  for (const [index, { partner, far, key }] of mirrors.entries()) {
    const position = values[index]
    if (position === undefined) continue
    changes.transaction.delete(key)
    if (far.linkForm === 'list') changes.transaction.delete(positionKey(partner, inverse, position))
  }
}
