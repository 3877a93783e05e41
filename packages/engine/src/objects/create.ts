/** Creates an object (contract 4.1.1 to 4.1.3). */
import { AshlarError } from '../errors.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { applyChanges } from './apply-changes.ts'
import type { CreateObject } from './commands.ts'

/** Throws ClassNotReferenceable, and what `applyChanges` throws. */
export async function createObject(unit: UnitOfWork, { cls, changes }: CreateObject): Promise<Oid> {
  if (!cls.isReferenceable) {
    throw new AshlarError(
      'ClassNotReferenceable',
      `Class ${cls.name} is embeddable: its objects exist only within other objects.`,
      [{ place: ['class'], message: 'is embeddable' }],
    )
  }
  const created = unit.create(unit.objects.formats.of(cls))
  const state = created instanceof Promise ? await created : created
  await applyChanges(unit, state, changes)
  return state.oid
}
