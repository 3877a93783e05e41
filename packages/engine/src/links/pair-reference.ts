/** Adds an object to the inverse that is being defined for one of its references, without changing the reference. */
import type { AttributeFormat } from '../records/class-format.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type ObjectState, setPosition, setValue } from '../write/working-set.ts'
import { inverseIn, inverseOf, putEntry } from './relationships.ts'

/**
 * `isThere`: whether the target exists, which the commit already requires. Clears the reference if the target is missing, or if
 * the inverse is a single reference that already leads to another object.
 */
export async function pairReference(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  isThere: (oid: Oid) => boolean,
): Promise<void> {
  const target = state.values[attribute.index] as Oid
  const inverse = inverseOf(attribute)
  if (target === noOid || inverse === null || state.positions[attribute.index] !== undefined) return
  // The entry is valid only while the reference is unchanged.
  unit.requireUnchanged(state)
  const format = isThere(target) ? (await unit.formatsOf([target])).get(target) : undefined
  if (format === undefined) return clear(state, attribute)
  const inverseEnd = { oid: target, attribute: inverseIn(format, inverse, target) }
  if (inverseEnd.attribute.linkStorage !== undefined) {
    const position = await putEntry(unit, inverseEnd, state.oid)
    if (position !== undefined) setPosition(state, attribute, position)
    return
  }
  const partner = await unit.objects.load(target)
  const holder = partner?.values[inverseEnd.attribute.index] as Oid | undefined
  if (partner === undefined || holder === state.oid) return
  if (holder === noOid) return setValue(partner, inverseEnd.attribute, state.oid)
  unit.requireUnchanged(partner)
  clear(state, attribute)
}

function clear(state: ObjectState, attribute: AttributeFormat): void {
  setValue(state, attribute, noOid)
  setPosition(state, attribute, undefined)
}
