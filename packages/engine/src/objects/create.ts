/** Creates an object (contract 4.1.1 to 4.1.3). */
import { AshlarError } from '../errors.ts'
import type { AttributeChange } from '../records/attribute-change.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { Awaitable } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { CreateObject } from './commands.ts'

/** `position`: see `ObjectState`. Throws what `beginObject` and `applyChanges` throw. */
export function createObject(unit: UnitOfWork, { cls, changes }: CreateObject, position?: number): Awaitable<Oid> {
  const created = beginObject(unit, cls, position)
  if (created instanceof Promise) return withChanges(unit, created, changes)
  const applied = applyChanges(unit, created, changes)
  return applied === undefined ? created.oid : oidAfter(applied, created)
}

/** An object that has no attributes yet, and can be referred to. Throws ClassNotReferenceable, Forbidden. */
export function beginObject(unit: UnitOfWork, cls: SchemaClass, position?: number): Awaitable<ObjectState> {
  return unit.create(unit.formatOf(creatableClass(unit, cls)), position)
}

/** As far as the caller knows of it. Throws ClassNotReferenceable, Forbidden. */
export function creatableClass(unit: UnitOfWork, cls: SchemaClass): SchemaClass {
  if (!cls.isReferenceable) {
    throw new AshlarError(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable: its objects exist only within other objects.`,
      [{ place: ['class'], message: 'is embeddable' }],
    )
  }
  return unit.guard === undefined ? cls : unit.guard.creatable(cls)
}

async function withChanges(
  unit: UnitOfWork,
  created: Promise<ObjectState>,
  changes: readonly AttributeChange[],
): Promise<Oid> {
  const state = await created
  await applyChanges(unit, state, changes)
  return state.oid
}

async function oidAfter(applied: Promise<void>, { oid }: ObjectState): Promise<Oid> {
  await applied
  return oid
}
