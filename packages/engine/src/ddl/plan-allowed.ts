/** A change of the schema by a caller from whom something may be kept: what it does not know of is unknown to its commands. */
import { AshlarError, type ErrorType } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { Restriction } from '../write/change-guard.ts'

/** Names are taken, also by what the caller does not see: that cannot be kept from whoever asks for one. */
const namesTaken: ReadonlySet<ErrorType> = new Set(['ClassExists', 'IndexExists'])

/**
 * What `plan` makes of the catalog, which is `next`. For a restricted caller it is planned on what that knows first, so that it fails alike for what is hidden and for what is not there, and is
 * allowed before anything else is looked at. Throws Forbidden, and what `plan` throws.
 */
export async function planAllowed<P>(
  restriction: Restriction | undefined,
  catalog: Catalog,
  plan: (catalog: Catalog) => Promise<P>,
  next: (planned: P) => CatalogState,
): Promise<P> {
  if (restriction === undefined) return plan(catalog)
  const slice = openTimeSlice()
  await restriction.prepared(catalog)
  await slice.yieldIfDue()
  const known = restriction.catalogOf(catalog)
  const planned = next(await plan(known))
  // Each of these steps looks at all classes: others have their turns in between.
  await slice.yieldIfDue()
  known.checkChange?.(planned)
  await slice.yieldIfDue()
  try {
    return await plan(catalog)
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault' || namesTaken.has(error.type)) throw error
    throw new AshlarError('Forbidden', 'The change concerns classes that the caller may not define.')
  }
}
