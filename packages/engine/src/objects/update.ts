/** Changes attributes of an object (contract 4.1.6 to 4.1.10). */
import { AshlarError } from '../errors.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { isChanged, type ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { UpdateObject } from './commands.ts'

/** Throws ObjectNotFound, and what `changesOf` and `applyChanges` throw. */
export async function updateObject(unit: UnitOfWork, { oid, changesOf }: UpdateObject): Promise<void> {
  const state = await loadExisting(unit, oid)
  const changes = changesOf(state.format, oid)
  await applyChanges(unit, state, changes instanceof Promise ? await changes : changes)
  if (!isChanged(state)) unit.requireObject(oid)
}

/** Throws ObjectNotFound. */
export async function loadExisting(unit: UnitOfWork, oid: Oid): Promise<ObjectState> {
  const state = await unit.objects.load(oid)
  if (state === undefined) {
    unit.requireNoObject(oid)
    throw objectNotFound(oid)
  }
  return state
}

export function objectNotFound(oid: Oid): AshlarError {
  return new AshlarError('ObjectNotFound', `There is no object ${oid}.`)
}
