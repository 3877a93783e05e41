/** Creates an object (contract 4.1.1 to 4.1.3). */
import { AshlarError } from '../errors.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import { applyChanges } from './apply-changes.ts'
import type { CreateObject } from './commands.ts'

/** `position`: see `ObjectState`. Throws the errors of `beginObject` and `applyChanges`. */
export async function createObject(unit: UnitOfWork, { cls, changes }: CreateObject, position?: number): Promise<Oid> {
  const state = await beginObject(unit, cls, position)
  await applyChanges(unit, state, changes)
  return state.oid
}

/** Creates an object without attributes, to which references are possible. Throws ClassNotReferenceable, Forbidden. */
export async function beginObject(unit: UnitOfWork, cls: SchemaClass, position?: number): Promise<ObjectState> {
  const format = unit.formatOf(creatableClass(unit, cls))
  return unit.objects.create(await unit.allocate(format), format, position)
}

/** Checks the class as the caller sees it. Throws ClassNotReferenceable, Forbidden. */
export function creatableClass(unit: UnitOfWork, cls: SchemaClass): SchemaClass {
  if (!cls.isReferenceable) {
    throw new AshlarError(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable: its objects exist only within other objects.`,
      [{ place: ['class'], message: 'is embeddable' }],
    )
  }
  if (cls.definition.properties?.isAbstract === true) {
    throw new AshlarError(
      'ClassIsAbstract',
      `Class ${cls.name} is abstract and has no objects of its own: create one of a subclass.`,
      [{ place: ['class'], message: 'is abstract' }],
    )
  }
  return unit.guard === undefined ? cls : unit.guard.creatable(cls)
}
