/** Changes attributes of an object (contract 4.1.6 to 4.1.10). */
import { AshlarError } from '../errors.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { ChangeGuard } from '../write/change-guard.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { isChanged, type ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { UpdateObject } from './commands.ts'

/** At once where nothing has to be waited for. Throws ObjectNotFound, Forbidden, and what `changesOf` and `applyChanges` throw. */
export function updateObject(unit: UnitOfWork, { oid, changesOf }: UpdateObject): Awaitable<void> {
  const slice = openTimeSlice()
  return mapAwaitable(loadExisting(unit, oid, 'update'), (state) => {
    const changes = changesOf(unit.commandFormatOf(state), oid)
    // To read values from a large body, to change those of a large record and to write that may each take as long as several slices.
    const applied = mapAwaitable(slice.yieldIfDue(), () => applyChanges(unit, state, changes))
    return mapAwaitable(applied, () => {
      if (!isChanged(state)) unit.requireObject(oid)
      return slice.yieldIfDue()
    })
  })
}

/** `action`: what the caller is to do with it. Throws ObjectNotFound, Forbidden. */
export function loadExisting(unit: UnitOfWork, oid: Oid, action: 'read' | 'update' | 'delete'): Awaitable<ObjectState> {
  const { guard } = unit
  if (guard !== undefined) return loadSeen(unit, guard, oid, action)
  return mapAwaitable(unit.objects.load(oid), (state) => state ?? missing(unit, oid))
}

async function loadSeen(
  unit: UnitOfWork,
  guard: ChangeGuard,
  oid: Oid,
  action: 'read' | 'update' | 'delete',
): Promise<ObjectState> {
  // One that is hidden and one that is missing go the same way: nothing is required of either.
  if (unit.objects.known(oid) === undefined && !(await guard.isSeen(oid))) throw objectNotFound(oid)
  const state = (await unit.objects.load(oid)) ?? missing(unit, oid)
  await guard.admit(state, action)
  return state
}

function missing(unit: UnitOfWork, oid: Oid): never {
  unit.requireNoObject(oid)
  throw objectNotFound(oid)
}

export function objectNotFound(oid: Oid): AshlarError {
  return new AshlarError('ObjectNotFound', `There is no object ${oid}.`)
}
