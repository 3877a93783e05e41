/** Deletes an object for good and takes it out of its links (contract 4.1.9, 4.4.6). */
import { deleteObjectLinks } from '../links/delete-object-links.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable } from '../store/store.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { DeleteObject } from './commands.ts'
import { loadExisting } from './update.ts'

/** At once where nothing has to be waited for. Throws ObjectNotFound, Forbidden. */
export function deleteObject(unit: UnitOfWork, { oid }: DeleteObject): Awaitable<void> {
  return mapAwaitable(loadExisting(unit, oid, 'delete'), (state) =>
    mapAwaitable(deleteObjectLinks(unit, state), () => {
      state.isDeleted = true
    }),
  )
}
