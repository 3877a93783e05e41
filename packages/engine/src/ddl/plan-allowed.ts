/** Plans schema changes for a caller with restricted rights, whose commands must not depend on hidden parts of the catalog. */
import { AshlarError, type ErrorType } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import type { Restriction } from '../write/change-guard.ts'

/** Name conflicts include names hidden from the caller: uniqueness makes them observable in any case. */
const nameConflicts: ReadonlySet<ErrorType> = new Set(['ClassExists', 'IndexExists'])

/**
 * Applies `plan` to the catalog, `next` being the result. For a restricted caller the change is first planned on the visible
 * catalog, so that it fails in the same way for hidden and missing parts, and rights are checked before anything else is read.
 * Throws Forbidden, and the errors of `plan`.
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
  const visibleCatalog = restriction.catalogOf(catalog)
  const planned = next(await plan(visibleCatalog))
  // Each of these steps visits all classes, so this yields in between.
  await slice.yieldIfDue()
  visibleCatalog.checkChange?.(planned)
  await slice.yieldIfDue()
  try {
    return await plan(catalog)
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault' || nameConflicts.has(error.type)) throw error
    throw new AshlarError('Forbidden', 'The change concerns classes that the caller may not define.')
  }
}
