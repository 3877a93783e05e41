/** Deletes an object for good and takes it out of its links (contract 4.1.9, 4.4.6). */
import { deleteObjectLinks } from '../links/delete-object-links.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { DeleteObject } from './commands.ts'
import { loadExisting } from './update.ts'

/** Throws ObjectNotFound, Forbidden. */
export async function deleteObject(unit: UnitOfWork, { oid }: DeleteObject): Promise<void> {
  const state = await loadExisting(unit, oid, 'delete')
  await deleteObjectLinks(unit, state)
  state.isDeleted = true
}
