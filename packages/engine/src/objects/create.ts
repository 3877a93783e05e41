/** Creates an object (contract 4.1.1 to 4.1.3). */
import { AshlarError } from '../errors.ts'
import type { AttributeChange } from '../records/attribute-change.ts'
import type { Awaitable } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { CreateObject } from './commands.ts'

/** `position`: see `ObjectState`. Throws ClassNotReferenceable, and what `applyChanges` throws. */
export function createObject(unit: UnitOfWork, { cls, changes }: CreateObject, position?: number): Awaitable<Oid> {
  if (!cls.isReferenceable) {
    throw new AshlarError(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable: its objects exist only within other objects.`,
      [{ place: ['class'], message: 'is embeddable' }],
    )
  }
  const created = unit.create(unit.objects.formats.of(cls), position)
  if (created instanceof Promise) return created.then((state) => withChanges(unit, state, changes))
  return withChanges(unit, created, changes)
}

function withChanges(unit: UnitOfWork, state: ObjectState, changes: readonly AttributeChange[]): Awaitable<Oid> {
  const applied = applyChanges(unit, state, changes)
  return applied === undefined ? state.oid : applied.then(() => state.oid)
}
