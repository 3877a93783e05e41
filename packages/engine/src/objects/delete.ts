/** DELETE /v1/object/{oid}: deletes an object for good and takes it out of its links (interface, 4.5). */
import { cleanUpLinks } from '../links/clean-up.ts'
import type { ObjectChanges } from '../links/object-changes.ts'
import type { Oid } from '../types/oid.ts'
import { loadExisting } from './update.ts'

/** Throws ObjectNotFound. */
export async function deleteObject(changes: ObjectChanges, oid: Oid): Promise<void> {
  const state = await loadExisting(changes, oid)
  await cleanUpLinks(changes, state)
  state.isDeleted = true
}
