/** Changes attributes of an object (contract 4.1.6 to 4.1.10). */
import { AshlarError } from '../errors.ts'
import { shownText } from '../schema/request-body.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { isChanged, type ObjectState } from '../write/working-set.ts'
import { type Attributes, applyAttributes } from './apply-attributes.ts'

/** `className`, where given, must be the object's. Throws ObjectNotFound and what attributes can throw. */
export async function updateObject(
  unit: UnitOfWork,
  oid: Oid,
  attributes: Attributes,
  className?: string,
): Promise<void> {
  const state = await loadExisting(unit, oid)
  if (className !== undefined && unit.catalog.findClass(className) !== state.format.cls) {
    throw new AshlarError(
      'ValueNotAllowed',
      `Object ${oid} is of class ${state.format.cls.name}, not '${shownText(className)}'.`,
      [{ pointer: '/class', message: `is not ${state.format.cls.name}` }],
    )
  }
  await applyAttributes(unit, state, attributes)
  if (!isChanged(state)) unit.expectObject(oid)
}

/** Throws ObjectNotFound. */
export async function loadExisting(unit: UnitOfWork, oid: Oid): Promise<ObjectState> {
  const state = await unit.objects.load(oid)
  if (state === undefined) {
    unit.expectNoObject(oid)
    throw objectNotFound(oid)
  }
  return state
}

export function objectNotFound(oid: Oid): AshlarError {
  return new AshlarError('ObjectNotFound', `There is no object ${oid}.`)
}
