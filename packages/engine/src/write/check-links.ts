/** Checks the constraints of collections stored as links, whichever side of a link changes (contract 10.4.8). */
import type { AttributeFormat } from '../records/class-format.ts'
import { constraintKey, type ValueViolation } from '../records/constraints.ts'
import { type Constraint, compileConstraints } from '../schema/properties/index.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { countLinks } from './count-links.ts'
import type { ChangedLinks, UnitOfWork } from './unit-of-work.ts'
import { markChanged, type ObjectState, touch } from './working-set.ts'

/**
 * Checks changed collections and new objects. Violations are thrown with those of the other attributes of the object, when it is
 * written. In a transaction of several steps, elements are counted once, at its end. Concurrent changes of a collection with a
 * limited number of elements conflict at its owner, which gets a new revision.
 */
export async function checkLinks(unit: UnitOfWork): Promise<void> {
  const { objects } = unit
  const changed = new Map(unit.changedLinks ?? [])
  unit.changedLinks = undefined
  for (const { oid, format, position } of objects.lacking.splice(0)) {
    for (const attribute of format.neededLinks) {
      const name = `${oid} ${attribute.attribute.number}`
      if (!changed.has(name)) changed.set(name, { oid, attribute, isAltered: true, position })
    }
  }
  const slice = openTimeSlice()
  await objects.loadAll([...changed.values()].map(({ oid }) => oid))
  for (const links of changed.values()) {
    const state = objects.loaded(links.oid)
    if (state === undefined) continue
    if (links.attribute.isCounted) markChanged(state, links.attribute.index)
    if (links.position !== undefined) state.linkPosition = Math.max(links.position, state.linkPosition ?? 0)
    const violations = await violationsOf(unit, state, links)
    if (violations.length > 0) {
      touch(state)
      unit.linkViolations ??= new Map()
      unit.linkViolations.set(state.oid, [...(unit.linkViolations.get(state.oid) ?? []), ...violations])
    }
    await slice.yieldIfDue()
  }
}

async function violationsOf(
  unit: UnitOfWork,
  state: ObjectState,
  { attribute, isAltered, position }: ChangedLinks,
): Promise<ValueViolation[]> {
  const isReadOnly = attribute.attribute.properties?.own.isReadOnly === true && isAltered && state.stored !== undefined
  const violations = isReadOnly ? [violationOf(attribute, readOnly, null)] : []
  const limits = limitsOf(attribute)
  if (limits.length > 0) {
    touch(state)
    if (unit.deferred === undefined) violations.push(...(await linkViolations(unit, state, attribute)))
    else unit.deferred.note(state, linkConstraintKeys(attribute))
  }
  return position === undefined ? violations : violations.map((one) => ({ ...one, position }))
}

const readOnly: Pick<Constraint, 'name' | 'requirement'> = {
  name: 'isReadOnly',
  requirement: 'is read-only and cannot be changed',
}

/** Counts the present elements. */
export async function linkViolations(
  unit: UnitOfWork,
  { oid }: ObjectState,
  attribute: AttributeFormat,
): Promise<ValueViolation[]> {
  const { minItems = 0, maxItems = 0 } = attribute.attribute.properties?.own ?? {}
  const length = await countLinks(unit, oid, attribute, Math.max(minItems as number, (maxItems as number) + 1))
  return limitsOf(attribute)
    .filter(({ isSatisfied }) => !isSatisfied({ length }))
    .map((limit) => violationOf(attribute, limit, length))
}

/** Identifies the limits on the number of elements, for checks at the end of a transaction. */
export function linkConstraintKeys(attribute: AttributeFormat): string[] {
  return limitsOf(attribute).map((limit) => constraintKey(violationOf(attribute, limit, null)))
}

/** A collection stored as links may also have `uniqueItems`, but only if it cannot contain an object twice (contract 4.4.9). */
function limitsOf({ attribute: { spec, properties } }: AttributeFormat): readonly Constraint[] {
  if (properties === undefined) return []
  return compileConstraints(spec, properties).own.filter(({ name }) => name === 'minItems' || name === 'maxItems')
}

function violationOf(
  attribute: AttributeFormat,
  { name: constraint, requirement }: Pick<Constraint, 'name' | 'requirement'>,
  value: number | null,
): ValueViolation {
  const { number: root, outputName } = attribute.attribute
  return { root, attribute, path: [outputName], constraint, requirement, value }
}
