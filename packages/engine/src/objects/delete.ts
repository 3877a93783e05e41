/** Deletes an object permanently and removes it from its links (contract 4.1.9, 4.4.6, 10.4). */
import { deleteObjectLinks } from '../links/delete-object-links.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { DeleteObject } from './commands.ts'
import type { DeletionReport } from './deletion-report.ts'
import { deletionRulesOf } from './deletion-rules.ts'
import { Deletions } from './deletions.ts'
import { loadExisting } from './update.ts'

/**
 * If the deletion may have further effects, the object is deleted when all deletions of the statement are known: by
 * `carryOutDeletions`, or when the unit is flushed. Throws ObjectNotFound, Forbidden.
 */
export async function deleteObject(unit: UnitOfWork, { oid }: DeleteObject): Promise<void> {
  const state = await loadExisting(unit, oid, 'delete')
  if (deletionRulesOf(state.format, unit.catalog) !== undefined) {
    unit.deletions ??= new Deletions(unit)
    unit.deletions.add(state)
    return
  }
  await deleteObjectLinks(unit, state)
  state.isDeleted = true
}

/** Reports the effects of `deleteObject`, with the same errors; the unit must not be committed. */
export async function tryDeletion(unit: UnitOfWork, { oid }: DeleteObject): Promise<DeletionReport> {
  const state = await loadExisting(unit, oid, 'delete')
  const deletions = new Deletions(unit)
  deletions.add(state)
  await deletions.carryOut()
  await flushObjects(unit)
  return deletions.report()
}

/** Completes the deletions of one of several operations. Throws DeleteRestricted, LimitExceeded. */
export async function carryOutDeletions(unit: UnitOfWork): Promise<void> {
  await unit.deletions?.carryOut()
}
