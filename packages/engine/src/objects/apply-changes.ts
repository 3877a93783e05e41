/** Applies the changes of a command to the attributes of an object (contract 4.1.6, 4.1.8, 4.3, 4.4). */
import { unreachable } from '../errors.ts'
import { changeElements, putMapEntries, removeKeys } from '../links/collections.ts'
import { setReference } from '../links/relationships.ts'
import { applyChange, applyStepwise } from '../records/apply-change.ts'
import type { AttributeChange, ValueChange } from '../records/attribute-change.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { isComputed } from '../records/computed.ts'
import { mayHoldReferences, newReferences } from '../records/references-in.ts'
import { isSameValue } from '../records/same-value.ts'
import { inSlices, runYieldingIfLong } from '../store/time-slice.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { ChangeGuard } from '../write/change-guard.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type ObjectState, setValue, touch } from '../write/working-set.ts'
import { attributeError } from './attribute-error.ts'

/** Applies them in order; other attributes keep their values. Throws InvalidReference, ValueNotAllowed, Forbidden. */
export async function applyChanges(
  unit: UnitOfWork,
  state: ObjectState,
  changes: readonly AttributeChange[],
): Promise<void> {
  const decoding = unit.objects.decodeLong(state)
  if (decoding !== undefined) await decoding
  if (state.format.hasProperties) {
    const preparing = unit.expressions.all.prepare(state.format, unit.objects.formats)
    if (preparing !== undefined) await preparing
  }
  state.isAddressed = true
  if (changes.some(({ attribute: { attribute } }) => !isComputed(attribute))) state.isUpdated = true
  for (const { attribute, name, change } of changes) {
    try {
      const applied = applyTo(unit, state, attribute, change)
      if (applied !== undefined) await applied
    } catch (error) {
      throw refusal(error, unit, state, name)
    }
  }
  if (state.isUpdated) touchForUpdates(unit, state)
}

/** Links are not values of the record, which has to be written for the values of `onUpdate`. */
function touchForUpdates({ expressions, objects, isUnchecked }: UnitOfWork, state: ObjectState): void {
  const { format, stored, changed } = state
  if (stored === undefined || changed !== undefined || !format.hasProperties || isUnchecked) return
  if (expressions.all.updatesOf(format, objects.formats).length > 0) touch(state)
}

/** The error may depend on the old value, since an unchanged reference is not checked: the commit requires it. */
function refusal(error: unknown, unit: UnitOfWork, state: ObjectState, name: string): unknown {
  unit.requireUnchanged(state)
  return attributeError(error, state.format.cls.name, name)
}

/** Synchronous if nothing has to be read, as for most attributes. */
function applyTo(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  change: ValueChange,
): Promise<void> | undefined {
  const { guard } = unit
  return guard === undefined
    ? applyDirectly(unit, state, unit.storedAttribute(state, attribute), change)
    : applyGuarded(unit, guard, state, attribute, change)
}

/** `visibleAttribute`: the attribute as the caller sees it. */
async function applyGuarded(
  unit: UnitOfWork,
  guard: ChangeGuard,
  state: ObjectState,
  visibleAttribute: AttributeFormat,
  change: ValueChange,
): Promise<void> {
  await guard.admit(state, 'update')
  const attribute = unit.storedAttribute(state, visibleAttribute)
  const allowed = await guard.changeFor(state, attribute, visibleAttribute, change)
  if (allowed !== undefined) await applyDirectly(unit, state, attribute, allowed)
}

function applyDirectly(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  change: ValueChange,
): Promise<void> | undefined {
  const { spec, properties } = attribute.attribute
  if (properties?.own.computed !== undefined) return claim(state, attribute, change)
  if (attribute.linkStorage !== undefined) return applyLinks(unit, state, attribute, change)
  if (spec.logicalType === 'reference' && spec.inverseAttribute !== null) {
    if (change.kind !== 'set') return unreachable('a reference is set as a whole')
    return setReference(unit, state, attribute, change.value as Oid)
  }
  const before = state.values[attribute.index]
  const applied = runYieldingIfLong(applyStepwise(attribute, before, change))
  return applied instanceof Promise
    ? applied.then((after) => keep(unit, state, attribute, before, after))
    : keep(unit, state, attribute, before, applied)
}

function keep(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  before: unknown,
  after: unknown,
): Promise<void> | undefined {
  const { spec } = attribute.attribute
  if (spec.logicalType === 'reference') return setTarget(unit, state, attribute, before as Oid, after as Oid)
  if (mayHoldReferences(spec)) return setChecked(unit, state, attribute, before, after)
  setValue(state, attribute, after)
  return undefined
}

/** The given value of a computed attribute is verified when the object is written. */
function claim(state: ObjectState, attribute: AttributeFormat, change: ValueChange): undefined {
  const { index, codec } = attribute
  const requested = applyChange(attribute, state.values[index], change)
  const { format, before } = state
  if (before === undefined || !isSameValue(codec, requested, format.valueAt(before, index)))
    setValue(state, attribute, requested)
}

/** For references without an inverse. */
async function setTarget(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  before: Oid,
  after: Oid,
): Promise<void> {
  const { spec, name } = attribute.attribute
  if (after !== before && after !== noOid && spec.logicalType === 'reference') {
    const place = { className: state.format.cls.name, attributeName: name }
    await unit.checkReference(after, spec.referencedClass, place)
  }
  setValue(state, attribute, after)
}

/** `ofCommand`: may be of a superclass. */
function applyLinks(
  unit: UnitOfWork,
  state: ObjectState,
  commandChanges: AttributeFormat,
  change: ValueChange,
): Promise<void> {
  // Checks of subclasses may count the links.
  const attribute = state.format.attribute(commandChanges.attribute.number)
  switch (change.kind) {
    case 'set':
      return attribute.linkStorage === 'map'
        ? putMapEntries(unit, state, attribute, 'override', change.value as readonly MapPair[])
        : changeElements(unit, state, attribute, 'override', change.value as readonly Oid[])
    case 'add':
    case 'remove':
      return changeElements(unit, state, attribute, change.kind, change.elements as readonly Oid[])
    case 'putPairs':
      return putMapEntries(unit, state, attribute, 'add', change.pairs)
    case 'removeKeys':
      return removeKeys(unit, state, attribute, change.keys)
    case 'merge':
      return unreachable('links are of collections')
  }
}

/** Only changed references are checked, so a client can send back what it read, including dangling references. */
async function setChecked(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  before: unknown,
  after: unknown,
): Promise<void> {
  const { spec, name } = attribute.attribute
  const place = { className: state.format.cls.name, attributeName: name }
  await inSlices(newReferences(spec, before, after, unit.objects.formats), (reference) => {
    if (reference === undefined) return undefined
    return unit.checkReference(reference.target, reference.referencedClass, place)
  })
  setValue(state, attribute, after)
}
