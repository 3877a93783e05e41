/** Changes attributes of an object (contract 4.1.6 to 4.1.10). */
import { AshlarError } from '../errors.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { isChanged, type ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { UpdateObject } from './commands.ts'

/** At once where nothing has to be waited for. Throws ObjectNotFound, Forbidden, and what `changesOf` and `applyChanges` throw. */
export function updateObject(unit: UnitOfWork, { oid, changesOf }: UpdateObject): Awaitable<void> {
  const applied = mapAwaitable(loadExisting(unit, oid, 'update'), (state) =>
    mapAwaitable(changesOf(unit.commandFormatOf(state), oid), (changes) =>
      mapAwaitable(applyChanges(unit, state, changes), () => state),
    ),
  )
  return mapAwaitable(applied, (state) => {
    if (!isChanged(state)) unit.requireObject(oid)
  })
}

/** `action`: what the caller is to do with it. Throws ObjectNotFound, Forbidden. */
export function loadExisting(unit: UnitOfWork, oid: Oid, action: 'read' | 'update' | 'delete'): Awaitable<ObjectState> {
  return mapAwaitable(unit.objects.load(oid), (state) => {
    if (state !== undefined) {
      return unit.guard === undefined ? state : mapAwaitable(unit.guard.admit(state, action), () => state)
    }
    unit.requireNoObject(oid)
    throw objectNotFound(oid)
  })
}

export function objectNotFound(oid: Oid): AshlarError {
  return new AshlarError('ObjectNotFound', `There is no object ${oid}.`)
}
