/** Changes attributes of an object (contract 4.1.6 to 4.1.10). */
import { AshlarError } from '../errors.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { isChanged, type ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { UpdateObject } from './commands.ts'

/** Throws ObjectNotFound, Forbidden, and the errors of `changesOf` and `applyChanges`. */
export async function updateObject(unit: UnitOfWork, { oid, changesOf }: UpdateObject): Promise<void> {
  const state = await loadExisting(unit, oid, 'update')
  await applyChanges(unit, state, await changesOf(unit.commandFormatOf(state), oid))
  if (!isChanged(state)) unit.requireObject(oid)
}

/** `action`: the intended access, for the rights check. Throws ObjectNotFound, Forbidden. */
export async function loadExisting(
  unit: UnitOfWork,
  oid: Oid,
  action: 'read' | 'update' | 'delete',
): Promise<ObjectState> {
  const { guard, objects } = unit
  // A hidden object and a missing one take the same path, and the commit requires nothing of either.
  if (guard !== undefined && objects.loaded(oid) === undefined && !(await guard.isSeen(oid))) throw objectNotFound(oid)
  const state = await objects.load(oid)
  if (state === undefined) {
    unit.requireNoObject(oid)
    throw objectNotFound(oid)
  }
  if (guard !== undefined) await guard.admit(state, action)
  return state
}

export function objectNotFound(oid: Oid): AshlarError {
  return new AshlarError('ObjectNotFound', `There is no object ${oid}.`)
}
