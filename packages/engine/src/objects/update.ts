/** PUT /v1/object/{oid}: changes the attributes that the request names (REST interface, section 4). */
import { AshlarError } from '../errors.ts'
import type { ObjectChanges } from '../links/object-changes.ts'
import type { ObjectState } from '../records/working-set.ts'
import { shownText } from '../schema/request-body.ts'
import type { Oid } from '../types/oid.ts'
import { type Attributes, applyAttributes } from './apply-attributes.ts'

/** `className`, where given, must be the object's. Throws ObjectNotFound and what attributes can throw. */
export async function updateObject(
  changes: ObjectChanges,
  oid: Oid,
  attributes: Attributes,
  className?: string,
): Promise<void> {
  const state = await loadExisting(changes, oid)
  if (className !== undefined && changes.catalog.findClass(className) !== state.format.cls) {
    throw new AshlarError(
      'ValueNotAllowed',
      `Object ${oid} is of class ${state.format.cls.name}, not '${shownText(className)}'.`,
      [{ pointer: '/class', message: `is not ${state.format.cls.name}` }],
    )
  }
  await applyAttributes(changes, state, attributes)
  if (!state.isChanged) changes.expectObject(oid)
}

/** Throws ObjectNotFound. */
export async function loadExisting(changes: ObjectChanges, oid: Oid): Promise<ObjectState> {
  const state = await changes.objects.load(oid)
  if (state === undefined) {
    changes.expectNoObject(oid)
    throw objectNotFound(oid)
  }
  return state
}

export function objectNotFound(oid: Oid): AshlarError {
  return new AshlarError('ObjectNotFound', `There is no object ${oid}.`)
}
