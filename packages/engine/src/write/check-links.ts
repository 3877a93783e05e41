/** Checks the constraints of collections stored as links, whichever side of a link changes (contract 10.4.8). */
import { AshlarError } from '../errors.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import type { Violation } from '../records/constraints.ts'
import { linkKind, linkRange, targetOfKey } from '../records/link-keys.ts'
import { type AttributeProperties, type Constraint, compileConstraints } from '../schema/properties/index.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { oidFromBytes } from '../types/oid.ts'
import { throwAny, violationTo } from './constraint-error.ts'
import type { ChangedLinks, UnitOfWork } from './unit-of-work.ts'
import { markChanged, type ObjectState, touch } from './working-set.ts'

/**
 * Checks changed collections and new objects. Concurrent changes of a collection with a limited number of elements conflict at
 * its owner, which gets a new revision. Throws ConstraintViolation.
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
    if (links.attribute.isCounted) noteCounted(state, links)
    const violations = await violationsOf(unit, state, links)
    try {
      throwAny(state, violations, unit)
    } catch (error) {
      throw placed(unit.guard === undefined ? error : await violationTo(unit.guard, state, error), links.position)
    }
    await slice.yieldIfDue()
  }
}

/** The check is evaluated when the object is written. */
function noteCounted(state: ObjectState, { attribute, position }: ChangedLinks): void {
  markChanged(state, attribute.index)
  if (position !== undefined) state.linkPosition = Math.max(position, state.linkPosition ?? 0)
}

function placed(error: unknown, position: number | undefined): unknown {
  return position === undefined || !(error instanceof AshlarError) ? error : error.within(position)
}

async function violationsOf(
  unit: UnitOfWork,
  state: ObjectState,
  { attribute, isAltered }: ChangedLinks,
): Promise<Violation[]> {
  const { properties, outputName } = attribute.attribute
  if (properties === undefined) return []
  const common = { root: attribute.attribute.number, attribute, path: [outputName] }
  const violations: Violation[] = []
  if (properties.own.isReadOnly === true && isAltered && state.stored !== undefined) {
    const requirement = 'is read-only and cannot be changed'
    violations.push({ ...common, constraint: 'isReadOnly', requirement, value: null })
  }
  const counted = await linkViolations(unit, state, attribute)
  return [...violations, ...counted]
}

/** Checks the present elements. */
export async function linkViolations(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
): Promise<Violation[]> {
  const { spec, properties, outputName } = attribute.attribute
  const { own } = properties === undefined ? { own: [] } : compileConstraints(spec, properties)
  if (properties === undefined || own.length === 0) return []
  if (state.stored !== undefined) touch(state)
  const elements = await elementsOf(unit, state, attribute, own, properties.own)
  return own.flatMap(({ name: constraint, requirement, isSatisfied }) => {
    const value = elements.length
    return isSatisfied(elements)
      ? []
      : [{ root: attribute.attribute.number, attribute, path: [outputName], constraint, requirement, value }]
  })
}

/** Reads only as many elements as the constraints require. */
async function elementsOf(
  { transaction }: UnitOfWork,
  { oid }: ObjectState,
  { attribute: { number }, linkStorage }: ChangedLinks['attribute'],
  constraints: readonly Constraint[],
  { minItems = 0, maxItems = 0 }: AttributeProperties,
): Promise<readonly unknown[]> {
  const kind = { list: linkKind.position, set: linkKind.target, map: linkKind.name }[linkStorage ?? 'list']
  const readsAll = constraints.some(({ name }) => name === 'uniqueItems')
  const limit = readsAll ? undefined : Math.max(minItems as number, (maxItems as number) + 1)
  const elements: unknown[] = []
  await transaction.sortWrites()
  const use = (key: Uint8Array, value: Uint8Array): unknown => {
    return linkStorage === 'set' ? targetOfKey(key) : oidFromBytes(value, 0)
  }
  const range = linkRange(oid, number, kind)
  for await (const batch of transaction.overlay().scan(range, use, limit === undefined ? {} : { limit })) {
    for (const element of batch) elements.push(element)
  }
  return elements
}
